"""`factoid build-articles` and `factoid articles`."""

from __future__ import annotations

import json

import pytest

from factoid.entities.articles import Article, ArticleStore
from factoid.entities.importers.detect import detect
from factoid.errors import UnreadableFileError

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
    assert rest == [
        "2 redirects, 2 aliases, 0 links",
        "1 article with a title that another article had before; the first was kept: Lake",
        "1 article left out that had no text: Void",
        "1 redirect left out that led to no article: Away → Nowhere",
        "2 redirects left out that led round in a circle: A → B; B → A",
    ]
    with ArticleStore(tmp_path / "store") as store:
        assert store.get("big water").text == "Salt water. Salt water. Salt"


def test_report_as_json(tmp_path, lines, run):
    code, out, _ = run("build-articles", tmp_path / "store", lines, "--json", "--duplicates", "last", "--quiet")
    report = json.loads(out)
    assert code == 0
    assert (report["articles"], report["duplicate_examples"], report["empty"]) == (2, ["Lake"], 1)


def test_errors(tmp_path, lines, fails):
    store = tmp_path / "store"
    assert "No such file or directory" in fails("build-articles", store, tmp_path / "none")
    assert "Choose" in fails("build-articles", store, lines, "--duplicates", "error")
    assert "--restart" in fails("build-articles", store, lines, "--words", "9")
    assert "own.jsonl:1: expected a field 'wikipedia_title'" in fails(
        "build-articles", store, lines, "--format", "kilt", "--restart"
    )
    assert "--workers must be at least 1" in fails("build-articles", store, lines, "--workers", "0")
    assert not store.exists()


def test_stats(built, run):
    code, out, err = run("articles", built)
    assert (code, err) == (0, "")
    assert "articles                       2\n" in out
    assert "built from ArticleJsonl: " in out
    stats = json.loads(run("articles", built, "--json")[1])
    assert stats["names"] == {"title": 2, "redirect": 2, "alias": 2, "anchor": 0, "base": 0}


def test_look_up(built, run, fails):
    code, out, err = run("articles", built, "main", "--words", 3)
    assert (code, err) == (0, "")
    assert out == "Sea\n\nSalt water. Salt\n\n'main' names:\n  Sea (a redirect)\n"
    assert run("articles", built, "ocean")[1] == "'ocean' names:\n  Sea (an alias)\n  Lake (an alias)\n"
    found = json.loads(run("articles", built, "lake", "--json")[1])
    assert (found["article"]["text"], found["names"][0]["kind"]) == ("Sweet water.", "title")
    assert json.loads(run("articles", built, "ocean", "--json")[1])["article"] is None
    assert "knows nothing of the name 'river'" in fails("articles", built, "river")
    assert "there is no article store" in fails("articles", built.with_name("none"))


def test_formats_are_told_by_name_and_first_line(tmp_path):
    for name, content, expected in [
        ("a", '{"wikipedia_title": "A", "text": []}', "kilt"),
        ("b", '\n{"id": 1, "url": "", "title": "A", "text": ""}', "wikiextractor"),
        ("c", '{"title": "A", "text": ""}', "jsonl"),
        ("d", '{"A": "text"}', "titles"),
        ("e", '{"name": "A", "target": "B"}', "redirects"),
        ("f.tsv", "A\tB", "redirects"),
        ("g", '<mediawiki xmlns="x">', "dump"),
        ("h.parquet", "", "parquet"),
        ("i", "PAR1", "parquet"),
    ]:
        path = tmp_path / name
        path.write_text(content)
        assert detect(path) == expected
    assert detect(tmp_path) == "kilt"  # that of the first file
    for content in ("", "words", "[1]", "{}", '{"A": 1}'):
        (tmp_path / "z").write_text(content)
        with pytest.raises(UnreadableFileError, match="z is of no known format"):
            detect(tmp_path / "z")


def test_records_stay_those_of_the_files(built):
    with ArticleStore(built) as store:
        assert store.get("Lake") == Article("Lake", "Sweet water.")
