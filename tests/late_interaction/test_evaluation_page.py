"""The programs in docs/late-interaction-evaluation.md print what the page says, and what it names is there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.late_interaction.citations import WAYS
from tests.late_interaction.tiny_colbert import write_colbert
from tests.test_pages import PROGRAM, read, run

PAGE = read("docs/late-interaction-evaluation.md")


def test_programs_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    monkeypatch.chdir(tmp_path)
    write_colbert(Path("colbertv2.0"))
    names: dict[str, Any] = {}
    programs = PROGRAM.findall(PAGE)
    assert len(programs) == 4
    for program, printed in programs:
        assert run(program, names) == printed, program


def test_every_function_and_row_named_is_there() -> None:
    named = re.findall(r"`(\w+)` of `(factoid\.[\w.]+)`", PAGE)
    assert len(named) >= 5
    for name, module in named:
        assert hasattr(import_module(module), name)
    for way in WAYS:
        assert PAGE.count(f"| {way} |") + PAGE.count(f"| **{way}** |") >= 2
