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


def test_builds_and_reports(tmp_path, lines, run):
    (tmp_path / "redirects").write_text("Big water\tSea\nAway\tNowhere\nA\tB\nB\tA\n")
    code, out, err = run(
        "build-articles", tmp_path / "store", lines, "--redirects", tmp_path / "redirects", "--words", 5
    )
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert first.startswith(f"{tmp_path / 'store'}: 2 articles, 6 names, ")
    assert " kB, in " in first
    assert rest == [
        "2 redirects, 2 aliases, 0 links",
        "1 article with a title that another article had before; the first was kept: Lake",
        "1 article left out that had no text: Void",
        "1 redirect left out that led to no article: Away → Nowhere",
        "2 redirects left out that led round in a circle: A → B; B → A",
    ]
    with ArticleStore(tmp_path / "store") as store:
        assert store.get("big water").text == "Salt water. Salt water. Salt"
    report = json.loads(run("build-articles", tmp_path / "store", lines, "--json", "--duplicates", "last")[1])
    assert (report["articles"], report["duplicate_examples"], report["empty"]) == (2, ["Lake"], 1)


def test_every_format_can_be_named():
    hints = get_type_hints(build_articles, include_extras=True)
    assert set(get_args(get_args(hints["source_format"])[0])) == {"auto", *IMPORTERS}


def test_errors(tmp_path, lines, fails):
    store = tmp_path / "store"
    assert "No such file or directory" in fails("build-articles", store, tmp_path / "none")
    assert "Choose" in fails("build-articles", store, lines, "--duplicates", "error")
    assert "--restart" in fails("build-articles", store, lines, "--words", "9")
    assert "own.jsonl:1: expected a field 'wikipedia_title'" in fails(
        "build-articles", store, lines, "--format", "kilt", "--restart"
    )
    assert "words must be at least 1" in fails("build-articles", store, lines, "--words", "0")
    assert not store.exists()
    assert "is a folder: name a file in it" in fails("build-articles", "", lines)


def test_stats(built, run):
    code, out, err = run("articles", built)
    assert (code, err) == (0, "")
    assert "articles                           2\n" in out
    assert "built from ArticleJsonl: " in out
    names = json.loads(run("articles", built, "--json")[1])["names"]
    assert (names["title"], names["redirect"], names["alias"], names["base"]) == (2, 2, 2, 0)


def test_look_up(built, run, fails):
    code, out, err = run("articles", built, "main", "--words", 3)
    assert (code, err) == (0, "")
    assert out == "Sea\n\nSalt water. Salt\n\n'main' names:\n  Sea (redirect)\n"
    assert run("articles", built, "ocean")[1] == "'ocean' names:\n  Sea (alias)\n  Lake (alias)\n"
    found = json.loads(run("articles", built, "lake", "--json")[1])
    assert (found["article"]["text"], found["names"][0]["kind"]) == ("Sweet water.", "title")
    assert json.loads(run("articles", built, "ocean", "--json")[1])["article"] is None
    assert "knows nothing of the name 'river'" in fails("articles", built, "river")
    assert "'away' redirects to 'Nowhere', which is not in" in fails("articles", built, "away")
    assert "there is no article store" in fails("articles", built.with_name("none"))


def test_formats_are_told_by_name_and_first_line(tmp_path):
    for name, content, expected in [
        ("a", '{"wikipedia_title": "A", "text": []}', "kilt"),
        ("b", '\n{"id": 1, "url": "", "title": "A", "text": ""}', "wikiextractor"),
        ("c", '{"title": "A", "text": ""}', "jsonl"),
        ("f.tsv", "A\tB", "redirects"),
        ("g", '<mediawiki xmlns="x">', "dump"),
        ("h.parquet", "", "parquet"),
    ]:
        path = tmp_path / name
        path.write_text(content)
        assert detect(path) == expected
    assert detect(tmp_path) == "kilt"  # that of the first file
    for content, said in [
        ("", "is empty"),
        ("title,text\n", "or .tsv, in UTF-8; its first line is b'title,text'"),
        ('[{"title": "A"}]', "expected one JSON object per line, got [{"),
        ('{"title": "\xe9"}', "not UTF-8"),
        ("{}", "its first line has no fields"),
        ('{"A": "x"}', "its first line has 'A'; expected 'title' and 'text'"),
    ]:
        (tmp_path / "z").write_bytes(content.encode("latin-1"))
        with pytest.raises(UnreadableFileError, match=f"z .*{re.escape(said)}"):
            detect(tmp_path / "z")


@pytest.mark.parametrize("fields", [("title", "content"), ("name", "description", "id"), ("text",), ("A", "B")])
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
    message = fails("build-articles", tmp_path / "store", bad, "--format", "jsonl")
    assert "bad.jsonl:1: not JSON: " in message
    assert sorted(tmp_path.iterdir()) == [bad, lines, tmp_path / "store.lock"]
    message = fails("build-articles", tmp_path / "store", lines, "--redirects", bad)
    assert "bad.jsonl:1: expected a name, a tab and a target" in message
    assert "--restart" in fails("build-articles", tmp_path / "store", lines)
    assert run("build-articles", tmp_path / "store", lines, "--restart")[0] == 0
    assert not (tmp_path / "store.building").exists()


def test_a_dump_that_is_cut_off(tmp_path, fails, run):
    pytest.importorskip("mwparserfromhell")
    pages = [page("A", "One."), page("B", "{{Begriffsklärung}}\n* two"), page("C", "Three.")]
    (tmp_path / "dump.xml").write_bytes(dump(*pages)[:-60])
    message = fails("build-articles", tmp_path / "store", tmp_path / "dump.xml")
    assert "--allow-truncated" in message
    assert "after the page 'B'" in message or "after the page 'A'" in message
    code, out, err = run("build-articles", tmp_path / "store", tmp_path / "dump.xml", "--allow-truncated")
    assert code == 0
    assert "was read only as far as it is whole" in err
    assert "disambiguation pages: 1" in out
    assert "rests of files that are cut off or damaged: 1" in out
