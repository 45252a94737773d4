"""The output of a document-intelligence pipeline and the services' samples, which lie beside a checkout."""

from __future__ import annotations

import json

import pytest

from tests.conftest import DATA

SHARED = DATA.parent


def printed_paper() -> str:
    """Return the Markdown of the Dense X paper as the service printed it, or skip."""
    path = SHARED / "papers" / "document-intelligence-output.txt"
    if not path.exists():
        pytest.skip(f"needs {path}, which is not on this machine")
    text = path.read_text(encoding="utf-8")
    return text[: text.index("Metadata 1:")]


def samples() -> dict[str, dict]:
    """Return the services' sample results by file name, or skip."""
    folder = DATA / "azure-docintel"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}, which is not on this machine")
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.json"))}
