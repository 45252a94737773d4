"""The programs in docs/late-interaction.md print what the page says, and its table names what there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from factoid import AnyGranularityRanker
from tests.late_interaction.tiny_colbert import write_colbert
from tests.test_pages import PROGRAM, read, run

PAGE = read("docs/late-interaction.md")


def test_programs_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("sentence_transformers", "langchain_classic", "llama_index.core"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    write_colbert(Path("colbertv2.0"))
    names: dict[str, Any] = {}
    programs = PROGRAM.findall(PAGE)
    assert len(programs) == 6
    for program, printed in programs:
        assert run(program, names) == printed, program


def test_every_option_is_explained() -> None:
    options = {
        *inspect.signature(AnyGranularityRanker).parameters,
        *inspect.signature(AnyGranularityRanker.rank).parameters,
    }
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == options - {"self", "model", "query", "passages"}
