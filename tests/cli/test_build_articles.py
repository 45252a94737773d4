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
    return path


@pytest.fixture
def built(tmp_path, lines, run):
    (tmp_path / "more.tsv").write_text("Big water\tSea\nAway\tNowhere\n")
    assert run("build-articles", tmp_path / "store", lines, tmp_path / "more.tsv")[0] == 0
    return tmp_path / "store"


def test_builds_and_reports(tmp_path, lines, run, report):
    (tmp_path / "redirects").write_text("Big water\tSea\nAway\tNowhere\nA\tB\nB\tA\n")
    options = ("--redirects", tmp_path / "redirects", "--words", 5)
    code, out, err = run("build-articles", tmp_path / "store", lines, *options)
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert re.match(rf"{tmp_path / 'store'}: 2 articles, 6 names, .* kB, in ", first)
    assert rest == [
        "2 redirects, 2 aliases, 0 links",
        "1 article with a title that another article had before; the first was kept: Lake",
        "1 article left out that had no text: Void",
        "1 redirect left out that led to no article: Away → Nowhere",
        "2 redirects left out that led round in a circle: A → B; B → A",
    ]
    with ArticleStore(tmp_path / "store") as store:
        assert store.get("big water").text == "Salt water. Salt water. Salt"
    built = report("build-articles", tmp_path / "store", lines, "--duplicates", "last")
    assert (built["articles"], built["duplicate_examples"], built["empty"]) == (2, ["Lake"], 1)


def test_every_format_can_be_named():
    hints = get_type_hints(build_articles, include_extras=True)
    assert set(get_args(get_args(hints["source_format"])[0])) == {"auto", *IMPORTERS}


def test_errors(tmp_path, lines, fails):
    store = tmp_path / "store"
    assert "No such file or directory" in fails("build-articles", store, tmp_path / "none")
    assert "Choose" in fails("build-articles", store, lines, "--duplicates", "error")
    assert "--restart" in fails("build-articles", store, lines, "--words", "9")
    kilt = ("--format", "kilt", "--restart")
    assert "own.jsonl:1: expected a field 'wikipedia_title'" in fails("build-articles", store, lines, *kilt)
    assert "words must be at least 1" in fails("build-articles", store, lines, "--words", "0")
    assert not store.exists()
    assert "is a folder: name a file in it" in fails("build-articles", "", lines)


def test_stats(built, run, report):
    code, out, err = run("articles", built)
    assert (code, err) == (0, "")
    assert "articles                           2\n" in out
    assert "built from ArticleJsonl: " in out
    names = report("articles", built)["names"]
    assert (names["title"], names["redirect"], names["alias"], names["base"]) == (2, 2, 2, 0)


def test_look_up(built, run, report, fails):
    sea = "Sea\n\nSalt water. Salt\n\n'main' names:\n  Sea (redirect)\n"
    assert run("articles", built, "main", "--words", 3) == (0, sea, "")
    assert run("articles", built, "ocean")[1] == "'ocean' names:\n  Sea (alias)\n  Lake (alias)\n"
    found = report("articles", built, "lake")
    assert (found["article"]["text"], found["names"][0]["kind"]) == ("Sweet water.", "title")
    assert report("articles", built, "ocean")["article"] is None
    assert "knows nothing of the name 'river'" in fails("articles", built, "river")
    assert "'away' redirects to 'Nowhere', which is not in" in fails("articles", built, "away")
    assert "there is no article store" in fails("articles", built.with_name("none"))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a", '{"wikipedia_title": "A", "text": []}', "kilt"),
        ("a", '\n{"id": 1, "url": "", "title": "A", "text": ""}', "wikiextractor"),
        ("a", '{"title": "A", "text": ""}', "jsonl"),
        ("a", '{"A": "text"}', "titles"),
        ("a", '{"A": "x"}\n{"B": "x"}\n{"A": "x"}\n', "titles"),
        ("a", '{"name": "A", "target": "B"}', "redirects"),
        ("a.tsv", "A\tB", "redirects"),
        ("a", '<mediawiki xmlns="x">', "dump"),
        ("a.parquet", "", "parquet"),
        ("a", "PAR1", "parquet"),
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
        ('[{"title": "A"}]', "expected one JSON object per line, got [{"),
        ('{"title": "\xe9"}', "not UTF-8"),
        ("{}", "its first line has no fields"),
        ('{"A": "x"}\n{"A": "y"}\n', "its first line has 'A'"),
        ('{"A": 1}', "its first line has 'A'; expected 'title' and 'text'"),
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
    assert list(tmp_path.iterdir()) == [own]
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
    assert "stays in" not in message
    assert sorted(tmp_path.iterdir()) == [bad, lines, tmp_path / "store.lock"]
    message = fails(*build, lines, "--redirects", bad)
    assert "bad.jsonl:1: expected a name, a tab and a target" in message
    assert f"stays in {tmp_path / 'store.building'}" in message
    assert "--restart" in message
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
