"""The tables in docs/documents.md name what there is, and the example prints what docs/document-tables.md says."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from factoid.documents import CleaningOptions, LayoutDocument
from factoid.testing import HashEncoder
from tests.test_examples import load
from tests.test_pages import read

PAGE = read("docs/documents.md")


def test_the_example_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pdfplumber")
    monkeypatch.chdir(tmp_path)
    load("document_processing").main(encoder=HashEncoder())
    page = read("docs/document-tables.md")
    shown = re.search(r"```console\n\$ python examples/document_processing\.py\n(.*?)```", page, re.DOTALL)
    assert shown
    assert capsys.readouterr().out == shown[1]


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
