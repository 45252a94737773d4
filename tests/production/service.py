"""The modules of examples/production, imported as they are in the service's folder, and documents
for them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from factoid import Document, UnitStore
from factoid.testing import HashEncoder

for package in ("faiss", "fastapi", "httpx"):
    pytest.importorskip(package)

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "production"
sys.path.append(str(FOLDER))  # as in a container, where it is the working folder

import app  # noqa: E402
import backup  # noqa: E402
import reencode  # noqa: E402
import stores  # noqa: E402
import tenants  # noqa: E402

__all__ = [
    "FOLDER",
    "TOKENS",
    "app",
    "backup",
    "document",
    "filled",
    "opened",
    "reencode",
    "stores",
    "tenants",
]

TOKENS = {"token-a": "acme", "token-b": "bolt"}


def document(number, tenant="acme", word="town"):
    text = f"The {word} {number} lies on hill {number}. It has {number} gates."
    return tenants.owned(tenant, Document(text, id=f"{word}{number}"))


def opened(path, **options):
    return UnitStore(path, **({"encoder": HashEncoder()} | options))


def filled(path, count=6, **options):
    """Make a store of some documents, with its indexes, and return its path."""
    with opened(path) as store:
        store.add_documents([document(number, **options) for number in range(count)])
        store.refresh()
    return path
