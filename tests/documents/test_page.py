"""The programs in docs/documents.md print what the page says, and its tables name what there is."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from factoid.documents import CleaningOptions, LayoutDocument
from tests.test_pages import PROGRAM, read, run

PAGE = read("docs/documents.md")


def test_programs_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    programs = PROGRAM.findall(PAGE)
    assert programs
    for program, printed in programs:
        assert run(program, names) == printed, program
    names["store"].close()


def test_every_rule_is_explained() -> None:
    rules = PAGE.partition("## The rules")[2]
    assert re.findall(r"^\| `(\w+)` \|", rules, re.MULTILINE) == [
        field.name for field in dataclasses.fields(CleaningOptions)
    ]


def test_what_comes_out_is_explained() -> None:
    names = {field.name for field in dataclasses.fields(LayoutDocument)} - {"traced", "layout"}
    names |= {"text", "references", "sources", "locate", "boxes", "documents"}
    table = PAGE.partition("## What comes out")[2].partition("Metadata of these")[0]
    assert {
        name for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)", row)
    } == names
