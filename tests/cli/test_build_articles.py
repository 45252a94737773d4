"""`factoid build-articles` and `factoid articles`."""

from __future__ import annotations

import json
import re
from typing import get_args, get_type_hints

import pytest

from factoid.cli.articles import build_articles
from factoid.entities.articles import ArticleStore
from factoid.entities.importers.detect import IMPORTERS, detect
from factoid.errors import UnreadableFileError
from tests.entities.importers.dumps import dump, page

LINES = [
    {"title": "Sea", "text": "Salt water. " * 80, "aliases": ["Ocean"], "redirects": ["Main"]},
    {"title": "Lake", "text": "Sweet water.", "aliases": ["Ocean"]},
    {"title": "Lake", "text": "Another."},
    {"title": "Void", "text": " "},
]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    (tmp_path / "redirects").write_text("Big water\tSea\nAway\tNowhere\nA\tB\nB\tA\n")
    return path


def test_builds_reports_and_looks_up(tmp_path, lines, run, report, fails):
    store = tmp_path / "store"
    code, out, err = run("build-articles", store, lines, "--redirects", tmp_path / "redirects", "--words", 5)
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert re.match(rf"{store}: 2 articles, 6 names, .* kB, in ", first)
    assert rest == [
        "2 redirects, 2 aliases, 0 links",
        "1 article with a title that another article had before; the first was kept: Lake",
        "1 article left out that had no text: Void",
        "3 redirects left out that led to no article: Away → Nowhere; A → B; B → A",
    ]
    out = run("articles", store)[1]
    assert "articles                           2\n" in out
    assert "built from ArticleJsonl: " in out
    names = report("articles", store)["names"]
    assert (names["title"], names["redirect"], names["alias"], names["base"]) == (2, 2, 2, 0)
    sea = "Sea\n\nSalt water. Salt\n\n'main' names:\n  Sea (redirect)\n"
    assert run("articles", store, "main", "--words", 3) == (0, sea, "")
    assert run("articles", store, "ocean")[1] == "'ocean' names:\n  Sea (alias)\n  Lake (alias)\n"
    found = report("articles", store, "big water")
    assert (found["article"]["text"], found["names"][0]["kind"]) == ("Salt water. Salt water. Salt", "redirect")
    assert report("articles", store, "ocean")["article"] is None
    assert "does not know the name 'river'" in fails("articles", store, "river")
    assert "'away' redirects to 'Nowhere', which is not in" in fails("articles", store, "away")
    assert "does not know the name 'a'" in fails("articles", store, "a")  # redirects in a circle
    assert "there is no article store" in fails("articles", store.with_name("none"))
    assert "--words must be at least 1, got 0" in fails("articles", store, "main", "--words", 0)
    built = report("build-articles", store, lines, "--duplicates", "last")
    assert (built["articles"], built["duplicate_examples"], built["empty"]) == (2, ["Lake"], 1)


def test_every_format_can_be_named():
    hints = get_type_hints(build_articles, include_extras=True)
    assert set(get_args(get_args(hints["source_format"])[0])) == {"auto", *IMPORTERS}


def test_errors(tmp_path, lines, fails):
    build = ("build-articles", tmp_path / "store")
    assert "No such file or directory" in fails(*build, tmp_path / "none")
    assert "Choose" in fails(*build, lines, "--duplicates", "error")
    assert "--restart" in fails(*build, lines, "--words", "9")
    assert "words must be at least 1" in fails(*build, lines, "--words", "0")
    assert not (tmp_path / "store").exists()
    assert "is a folder: name a file in it" in fails("build-articles", "", lines)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a", '{"wikipedia_title": "A", "text": []}', "kilt"),
        ("a", '\n{"id": 1, "url": "", "title": "A", "text": ""}', "wikiextractor"),
        ("a", '{"title": "A", "text": ""}', "jsonl"),
        ("a.tsv", "A\tB", "csv"),
        ("a", '<mediawiki xmlns="x">', "dump"),
        ("a.parquet", "", "parquet"),
    ],
)
def test_formats_are_told_by_name_and_first_line(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content)
    assert detect(tmp_path / name) == detect(tmp_path) == expected  # of a folder, that of the first file


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is empty"),
        ("title,text\n", "or .tsv, in UTF-8; its first line is b'title,text'"),
        ('{"title": "\xe9"}', "not UTF-8"),
        ("{}", "its first line has no fields"),
        ('{"A": "x"}', "its first line has 'A'; expected 'title' and 'text'"),
    ],
)
def test_formats_that_cannot_be_told(tmp_path, content, problem):
    (tmp_path / "z").write_bytes(content.encode("latin-1"))
    with pytest.raises(UnreadableFileError, match=f"z .*{re.escape(problem)}"):
        detect(tmp_path / "z")


@pytest.mark.parametrize("fields", [("title", "content"), ("name", "description", "id"), ("text",)])
def test_other_fields_are_no_titles(tmp_path, fields, fails, run):
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps({field: f"{field} {n}" for field in fields}) + "\n" for n in range(3)))
    message = fails("build-articles", tmp_path / "store", own)
    assert all(repr(field) in message for field in fields)
    assert "--title-key and --text-key" in message
    if len(fields) > 1:
        keys = ("--title-key", fields[0], "--text-key", fields[1])
        assert run("build-articles", tmp_path / "store", own, *keys)[0] == 0
        with ArticleStore(tmp_path / "store") as store:
            assert store.get(f"{fields[0]} 1").text == f"{fields[1]} 1"


def test_what_stays_after_bad_lines(tmp_path, lines, fails, run):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nothing\n")
    build = ("build-articles", tmp_path / "store")
    message = fails(*build, bad, "--format", "jsonl")
    assert "bad.jsonl:1: not JSON: " in message
    assert not (tmp_path / "store.building").exists()
    message = fails(*build, lines, "--redirects", bad)
    assert "bad.jsonl:1: expected a name, a tab and a target" in message
    assert "--restart" in fails(*build, lines)
    assert run(*build, lines, "--restart")[0] == 0
    assert not (tmp_path / "store.building").exists()


def test_a_dump_that_is_cut_off(tmp_path, fails, run):
    pytest.importorskip("mwparserfromhell")
    pages = [page("A", "One."), page("B", "{{Begriffsklärung}}\n* two"), page("C", "Three.")]
    (tmp_path / "dump.xml").write_bytes(dump(*pages)[:-60])
    message = fails("build-articles", tmp_path / "store", tmp_path / "dump.xml")
    assert "--allow-truncated" in message
    code, out, err = run("build-articles", tmp_path / "store", tmp_path / "dump.xml", "--allow-truncated")
    assert code == 0
    assert "was read only as far as it is whole" in err
    assert "disambiguation pages: 1" in out
    assert "rests of files that are cut off or damaged: 1" in out
