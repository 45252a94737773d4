"""The output of a document-intelligence pipeline and the services' samples, which lie beside a
checkout.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from typing import Any

import pytest

from tests.conftest import DATA

SHARED = DATA.parent


def printout(name: str) -> str:
    """Return one of the two printouts in `../shared/papers`, or skip."""
    path = SHARED / "papers" / name
    if not path.exists():
        pytest.skip(f"needs {path}, which is not on this machine")
    return path.read_text(encoding="utf-8")


@cache
def printed_paper() -> str:
    """Return the Markdown of the Dense X paper as the service printed it, up to the metadata, or
    skip.
    """
    return (
        printout("document-intelligence-output.txt")
        .partition("Page Content 1: ")[2]
        .partition("Metadata 1:")[0]
    )


@cache
def first_pages() -> dict[str, Any]:
    """Return the second printout as a result, or skip: its page, and the lines of its longer
    listing as content.
    """
    text = printout("document-intelligence-page-structure.txt")
    page = ast.literal_eval(text.partition("First page structure: ")[2].partition("\n")[0])
    listing = text[text.rindex("line 0: ") :]
    lines = re.findall(r"^line \d+: ?(.*)$", listing, re.MULTILINE)
    return {"content": "\n".join(lines), "contentFormat": "markdown", "pages": [page]}


def samples() -> dict[str, dict]:
    """Return the services' sample results by file name, or skip."""
    folder = DATA / "azure-docintel"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}, which is not on this machine")
    return {
        path.name: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.json"))
    }
