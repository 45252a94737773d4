"""The programs in docs/store.md print what the page says, and its tables name what there is."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.store.report import fill
from factoid import UnitStore
from factoid.cli import store
from factoid.filters import Operator
from factoid.index import check_kind
from factoid.store.search import SearchOptions

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "store.md").read_text(encoding="utf-8")
BENCHMARKS = DOCS / "store-benchmarks.md"


def test_the_programs_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    programs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(programs) == PAGE.count("```python") == 8
    for program, printed in programs:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(program, "store.md", "exec"), names)
        assert output.getvalue() == printed
    fsspec.filesystem("memory").store.clear()


@pytest.mark.parametrize("table", ["store", "store-1m", "kinds", "gpu"])
def test_the_benchmarks_find_their_place(tmp_path: Path, table: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(BENCHMARKS.read_text(encoding="utf-8"), encoding="utf-8")
    for text in ("| first |", "| second |"):
        fill(page, table, text)
    written = page.read_text(encoding="utf-8")
    assert f"<!-- table: {table} -->\n\n| second |\n\n<!-- end -->" in written
    assert "| first |" not in written


def test_every_option_of_a_search_is_explained() -> None:
    rows = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))))
    assert {field.name for field in fields(SearchOptions)} <= rows


def test_every_operator_is_explained() -> None:
    assert {operator.name for operator in Operator} <= set(re.findall(r"`([A-Z_]+)`", PAGE))


def test_every_kind_and_method_named_is_there() -> None:
    pytest.importorskip("faiss")
    kinds = re.findall(r"`([A-Z][\w,]*\d[\w,]*)`", PAGE.partition("## Kinds of index")[2].partition('`"auto"`')[0])
    assert len(kinds) >= 9
    for kind in kinds:
        assert check_kind(kind, 384).name == kind
    for name in re.findall(r"`(\w+)\((?!path)", PAGE.partition("## Keeping a store")[2]):
        assert hasattr(UnitStore, name), name
    settings = inspect.signature(UnitStore).parameters
    assert all(f"`{name}" in PAGE or f"{name}=" in PAGE for name in settings if name not in ("path", "granularities"))
    verbs = typer.main.get_command(store.app).commands
    assert all(verb in PAGE for verb in verbs)
