"""What the two printouts in `../shared/papers` hold: the Markdown of a whole paper, and its first page with words."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"
PAPERS = SHARED / "papers"
SAMPLES = SHARED / "data" / "azure-docintel"

NEEDS_PAPERS = pytest.mark.skipif(not PAPERS.is_dir(), reason="the printouts lie in ../shared/papers")
NEEDS_SAMPLES = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples lie in ../shared/data/azure-docintel")


@cache
def body() -> str:
    """The Markdown of the first printout, up to the metadata."""
    text = (PAPERS / "document-intelligence-output.txt").read_text(encoding="utf-8")
    return text.partition("Page Content 1: ")[2].partition("Metadata 1:")[0]


@cache
def first_pages() -> dict[str, Any]:
    """The second printout as a result: its page, and the lines of its longer listing as content."""
    text = (PAPERS / "document-intelligence-page-structure.txt").read_text(encoding="utf-8")
    page = ast.literal_eval(text.partition("First page structure: ")[2].partition("\n")[0])
    listing = text[text.rindex("line 0: ") :]
    lines = re.findall(r"^line \d+: ?(.*)$", listing, re.MULTILINE)
    return {"content": "\n".join(lines), "contentFormat": "markdown", "pages": [page]}


def samples() -> list[Path]:
    return sorted(SAMPLES.rglob("*.json")) if SAMPLES.is_dir() else []
