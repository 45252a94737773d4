"""The programs in docs/document-tables.md print what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from factoid.testing import HashEncoder
from tests.test_examples import load
from tests.test_pages import PROGRAM, read, run

PAGE = read("docs/document-tables.md")


def test_programs_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("faiss", "langchain_core", "llama_index.core"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    programs = PROGRAM.findall(PAGE)
    assert len(programs) == 4
    for program, printed in programs:
        assert run(program, names) == printed, program


def test_the_example_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pdfplumber")
    monkeypatch.chdir(tmp_path)
    load("document_processing").main(encoder=HashEncoder())
    shown = re.search(r"```console\n\$ python examples/document_processing\.py\n(.*?)```", PAGE, re.DOTALL)
    assert shown
    assert capsys.readouterr().out == shown[1]
