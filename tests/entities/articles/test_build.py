"""What a build makes of records, against independent counts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import date

import pytest

from factoid.entities import Article, ArticleStore, Redirect, build_articles
from factoid.entities.articles import build as build_module
from factoid.entities.articles.names import NameKind, name_key
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from tests.entities.articles.records import leftovers, seeded


def names_of(store, key):
    """Return the names of a key as their kinds, forms, titles and counts."""
    return [
        (name.kind, name.form, name.title, name.count) for name in store.names([key]).get(key, [])
    ]


def test_texts_metadata_and_what_was_left_out_come_back(path):
    class Source:
        left_out = {"disambiguation pages": 2}  # noqa: RUF012

        def __iter__(self):
            yield Article(
                "A",
                " one\n\ntwo\tthree  four ",
                ("B",),
                metadata={"ü": [1, None, {"b": "c"}]},
                document_id="7",
            )

    report = build_articles(path, Source(), [], [Article("C", "y")], words=3)
    with ArticleStore(path) as store:
        expected = Article(
            "A",
            " one\n\ntwo\tthree",
            ("B",),
            metadata={"ü": [1, None, {"b": "c"}]},
            document_id="7",
        )
        assert store.get("b") == expected
        assert store.get("C") == Article("C", "y")
        assert (store.stats()["words"], store.stats()["bytes"]) == (3, path.stat().st_size)
    assert (report.articles, report.left_out) == (2, {"disambiguation pages": 2})


DUPLICATES = [
    Article("A", "one two", ("First",), (("x", "B"),), {"a": 1, "b": 1}),
    Article("B", "other"),
    Article("A", "three four", ("Second",), (("x", "B"),), {"b": 2, "c": 2}),
    Article("A", "five", ("Third",)),
]


@pytest.mark.parametrize(
    ("how", "text", "metadata", "aliases"),
    [
        ("first", "one two", {"a": 1, "b": 1}, ["first"]),
        ("join", "one two\n\nthree four", {"a": 1, "b": 1, "c": 2}, ["first", "second", "third"]),
    ],
)
def test_duplicates_and_articles_without_text(path, caplog, how, text, metadata, aliases):
    void = [Article("Void", " \n", ("Alias",)), Redirect("R", "Void")]
    report = build_articles(path, DUPLICATES, void, duplicates=how, words=4)
    assert (report.articles, report.duplicates, report.empty, report.dangling) == (2, 2, 1, 1)
    assert "{'duplicates': 2, 'empty': 1, 'dangling': 1}" in caplog.text
    with ArticleStore(path) as store:
        assert (store.get("A").text, store.get("A").metadata) == (text, metadata)
        assert sorted(store.names(["first", "second", "third", "alias"])) == aliases
        assert names_of(store, "x") == [(NameKind.ANCHOR, "x", "B", 2)]
        assert sorted(store.titles()) == ["A", "B"]


def test_titles_that_differ_in_case_are_two(build):
    store = build([Article("AIDS", "disease"), Article("Aids", "film"), Redirect("aIDs", "AIDS")])
    titles = [store.resolve(name).title for name in ("AIDS", "Aids", "aids", "aIDs")]
    assert titles == ["AIDS", "Aids", "Aids", "AIDS"]
    assert store.get("aidS") is None  # nothing tells which


def test_counts_of_links_are_those_of_a_counter(path, monkeypatch):
    monkeypatch.setattr("factoid.entities.articles.build._MOST_RECORDS", 40)  # many batches
    records = seeded(3, 300)
    build_articles(path, records)
    articles = [record for record in records if isinstance(record, Article) and record.text]
    titles = {article.title for article in articles}
    links = [link for article in articles for link in article.links]
    expected = Counter((name_key(form), target) for form, target in links if target in titles)
    counts = Counter()
    with ArticleStore(path) as store:
        assert store.stats()["links"] == len(links)
        for key, names in store.names(sorted({key for key, _ in expected})).items():
            for name in names:
                counts[key, name.title] += name.count
    assert +counts == expected


def test_links_through_redirects_count_for_the_article(build):
    links = ("the goal", "Way"), ("The Goal", "Goal"), ("Goal", "Way"), ("gone", "Nothing")
    store = build(
        [
            Article("Goal", "x", links=links),
            Redirect("Way", "Other way"),
            Redirect("Other_way", "Goal"),
        ]
    )
    assert names_of(store, "the goal") == [(NameKind.ANCHOR, "The Goal", "Goal", 2)]
    assert names_of(store, "goal") == [(NameKind.TITLE, "Goal", "Goal", 1)]
    assert names_of(store, "gone") == []
    assert store.get("the goal") is None  # the text of a link is no name that is followed


def test_of_one_article_the_most_telling_name_comes_first_and_other_spellings_stay(build):
    title = "Mercury (planet)"
    store = build(
        [
            Article(title, "x", ("Mercury", "mercury planet"), (("mercury", title),)),
            Redirect("MERCURY", title),
        ]
    )
    assert names_of(store, "mercury") == [
        (NameKind.REDIRECT, "MERCURY", title, 1),
        (NameKind.ALIAS, "Mercury", title, 0),
    ]
    assert names_of(store, "mercury planet") == [(NameKind.ALIAS, "mercury planet", title, 0)]


@pytest.mark.parametrize(
    ("records", "options", "said"),
    [
        ([], {}, "there is no article to store"),
        ([Article("A", "")], {}, "there is no article to store: 1 had no text"),
        ([Article("A", "x"), Article(" \u200e", "y")], {}, "record 2: an article needs a title"),
        (
            [Article("A", "x", metadata={"day": date(2020, 1, 2)}, document_id="7")],
            {},
            r"'A' \(id '7'\) must hold .* date",
        ),
        ([{"title": "A"}], {}, "record 1: expected an Article or a Redirect"),
        ([Article("A", "x")], {"words": 0}, "words must be"),
        ([Article("A", "x")], {"duplicates": "none"}, "duplicates must be one of"),
    ],
)
def test_what_cannot_be_built(path, records, options, said):
    with pytest.raises(InvalidInputError, match=said):
        build_articles(path, records, **options)
    assert not path.exists()
    assert leftovers(path) == []


def test_another_programs_file_is_not_replaced(path, tmp_path):
    path.write_bytes(b"SQLite format 3\0 of somebody" + bytes(200))
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match="not replaced"):
        build_articles(path, [Article("A", "x")])
    assert path.read_bytes() == before
    with pytest.raises(StoreFormatError, match="is a folder"):
        build_articles(tmp_path, [Article("A", "x")])
    with pytest.raises(StoreError, match="cannot be built: "):
        build_articles(path / "a", [Article("A", "x")])


def test_a_full_disk(path, monkeypatch):
    """SQLite takes a limit on the pages of a file as a full disk."""
    with monkeypatch.context() as patch:
        patch.setattr(build_module, "TABLES", f"{build_module.TABLES}; PRAGMA max_page_count = 20;")
        with pytest.raises(
            StoreError, match=r"cannot be built: .*full.* Free some space and run again"
        ):
            build_articles(path, seeded(5, 400))
    assert not path.exists()
    assert leftovers(path) == []


def test_a_store_of_another_version_is_replaced(build, path):
    build([Article("A", "x")]).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(StoreFormatError, match="not an article store of format 1"):
        ArticleStore(path)
    assert list(build([Article("B", "y")]).titles()) == ["B"]
    assert leftovers(path) == []


def test_a_large_store_has_no_parts(build, monkeypatch):
    monkeypatch.setattr(build_module, "MOST_IN_PARTS", 1)
    store = build([Article("Calvin Coolidge", "x"), Article("Tern 40", "y")])
    assert list(store.names(["coolidge", "calvin coolidge"])) == ["calvin coolidge"]
