"""What a build makes of records, against independent counts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import date

import pytest

from factoid.entities.articles import Article, ArticleStore, NameKind, Redirect, build_articles, name_key
from factoid.errors import InvalidInputError, StoreFormatError
from tests.entities.articles.records import Listed, leftovers, seeded


def names_of(store, key):
    """Return the names of a key as their kinds, forms, titles and counts."""
    return [(name.kind, name.form, name.title, name.count) for name in store.names([key]).get(key, [])]


def test_texts_metadata_and_sources_come_back(path):
    first = Listed([Article("A", " one\n\ntwo\tthree  four ", metadata={"ü": [1, None, {"b": "c"}]})], "one")
    first.left_out = {"disambiguation pages": 2}
    report = build_articles(path, [first, Listed([], "two"), Listed([Article("B", "y")], "three")], words=3)
    with ArticleStore(path) as store:
        assert (store.get("A").text, store.get("A").metadata) == (" one\n\ntwo\tthree", {"ü": [1, None, {"b": "c"}]})
        assert store.get("B").metadata == {}
        assert (store.stats().words, store.stats().sources) == (3, ("one", "two", "three"))
        assert report.bytes == path.stat().st_size == store.stats().bytes
    assert (report.articles, report.left_out) == (2, {"disambiguation pages": 2})


def test_articles_without_text_are_counted(path):
    voids = [Article(f"Void {n}", " \n", ("Alias",)) for n in range(12)]
    report = build_articles(path, Listed([Article("A", "x"), *voids, Redirect("R", "Void 1")]))
    assert (report.articles, report.empty, len(report.empty_examples)) == (1, 12, 10)
    assert (report.empty_examples[0], report.dangling, report.dangling_examples) == ("Void 0", 1, ("R → Void 1",))
    with ArticleStore(path) as store:
        assert (store.get("Void 1"), store.names(["alias"])) == (None, {})


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
        ("last", "five", {}, ["third"]),
        ("join", "one two\n\nthree four", {"a": 1, "b": 1, "c": 2}, ["first", "second", "third"]),
    ],
)
def test_duplicates(path, how, text, metadata, aliases):
    report = build_articles(path, Listed(DUPLICATES), duplicates=how, words=4)
    assert (report.articles, report.duplicates, report.duplicate_examples) == (2, 2, ("A",))
    with ArticleStore(path) as store:
        assert (store.get("A").text, store.get("A").metadata) == (text, metadata)
        assert sorted(store.names(["first", "second", "third"])) == aliases
        assert names_of(store, "x") == [(NameKind.ANCHOR, "x", "B", 2)]
        assert sorted(store.titles()) == ["A", "B"]


def test_duplicates_as_an_error_then_otherwise_without_reading_again(path):
    with pytest.raises(InvalidInputError, match=r"2 articles have a title.*'A'\. Choose"):
        build_articles(path, Listed(DUPLICATES), duplicates="error")
    assert not path.exists()
    unread = Listed(DUPLICATES)
    unread.read = None
    assert build_articles(path, unread, duplicates="join").articles == 2
    assert leftovers(path) == []


def test_titles_that_differ_in_case_are_two(build):
    store = build([Article("AIDS", "disease"), Article("Aids", "film"), Redirect("aIDs", "AIDS")])
    titles = [store.resolve(name).title for name in ("AIDS", "Aids", "aids", "aIDs")]
    assert titles == ["AIDS", "Aids", "Aids", "AIDS"]
    assert store.get("aidS") is None  # nothing tells which


def test_counts_of_links_are_those_of_a_counter(path, monkeypatch):
    monkeypatch.setattr("factoid.entities.articles.staging._MOST_RECORDS", 40)  # many batches
    records = seeded(3, 300)
    report = build_articles(path, Listed(records))
    articles = [record for record in records if isinstance(record, Article) and record.text]
    titles = {article.title for article in articles}
    links = [link for article in articles for link in article.links]
    expected = Counter((name_key(form), target) for form, target in links if target in titles)
    assert report.links == len(links)
    counts = Counter()
    with ArticleStore(path) as store:
        for key, names in store.names(sorted({key for key, _ in expected})).items():
            for name in names:
                counts[key, name.title] += name.count
    assert +counts == expected


def test_links_through_redirects_count_for_the_article(build):
    links = ("the goal", "Way"), ("The Goal", "Goal"), ("Goal", "Way"), ("gone", "Nothing")
    store = build([Article("Goal", "x", links=links), Redirect("Way", "Other way"), Redirect("Other_way", "Goal")])
    assert names_of(store, "the goal") == [(NameKind.ANCHOR, "The Goal", "Goal", 2)]
    assert names_of(store, "goal") == [(NameKind.TITLE, "Goal", "Goal", 1)]
    assert names_of(store, "gone") == []
    assert store.get("the goal") is None  # the text of a link is no name that is followed


def test_of_one_article_the_most_telling_name_comes_first_and_other_spellings_stay(build):
    title = "Mercury (planet)"
    store = build(
        [Article(title, "x", ("Mercury", "mercury planet"), (("mercury", title),)), Redirect("MERCURY", title)]
    )
    assert names_of(store, "mercury") == [
        (NameKind.REDIRECT, "MERCURY", title, 1),
        (NameKind.ALIAS, "Mercury", title, 0),
    ]
    assert names_of(store, "mercury planet") == [(NameKind.ALIAS, "mercury planet", title, 0)]


def test_names_come_most_telling_first(build):
    store = build(
        [
            Article("Java (island)", "x", ("Jawa",), (("java", "Java (island)"),) * 2),
            Article("Java", "x"),
            Article("Java (language)", "x", links=(("java", "Java (language)"),) * 3),
            Article("Jawa", "x"),
            Article("Coffee", "x", ("java",)),
        ]
    )
    assert names_of(store, "java") == [
        (NameKind.TITLE, "Java", "Java", 0),
        (NameKind.ALIAS, "java", "Coffee", 0),
        (NameKind.ANCHOR, "java", "Java (language)", 3),
        (NameKind.ANCHOR, "java", "Java (island)", 2),
    ]
    assert [kind for kind, *_ in names_of(store, "jawa")] == [NameKind.TITLE, NameKind.ALIAS]


@pytest.mark.parametrize(
    ("sources", "options", "said"),
    [
        (Listed([]), {}, "there is no article to store in Listed"),
        (Listed([Article("A", "")]), {}, "there is no article to store in Listed: 1 without text"),
        (Listed([Article("A", "x"), Article(" \u200e", "y")]), {}, "record 2 of Listed: an article needs a title"),
        (
            Listed([Article("A", "x", metadata={"page": 1, "day": date(2020, 1, 2)}, document_id="7")]),
            {},
            r"record 1 of Listed: the metadata of 'A' \(id '7'\) must hold .*: Object of type date",
        ),
        (Listed([Article("A", "x")]), {"words": 0}, "words must be"),
        (Listed([Article("A", "x")]), {"duplicates": "none"}, "duplicates must be one of"),
        ([], {}, "expected a source of articles"),
        ([3], {}, "expected a source of articles"),
    ],
)
def test_what_cannot_be_built(path, sources, options, said):
    with pytest.raises(InvalidInputError, match=said):
        build_articles(path, sources, **options)
    assert not path.exists()


def test_another_programs_file_is_not_replaced(path, tmp_path):
    path.write_bytes(b"SQLite format 3\0 of somebody" + bytes(200))
    before = path.read_bytes()
    with pytest.raises(StoreFormatError, match="not replaced"):
        build_articles(path, Listed([Article("A", "x")]))
    assert path.read_bytes() == before
    with pytest.raises(StoreFormatError, match="is a folder"):
        build_articles(tmp_path, Listed([Article("A", "x")]))
    building = tmp_path / "b.building"
    building.write_text("my notes on a building")
    for resume in (True, False):
        with pytest.raises(StoreFormatError, match=r"b\.building is"):
            build_articles(tmp_path / "b", Listed([Article("A", "x")]), resume=resume)
    assert building.read_text() == "my notes on a building"


def test_one_warning_of_what_was_not_kept(path, caplog):
    records = [Article("A", "x"), Article("A", "y"), Article("B", " "), Redirect("C", "D")]
    build_articles(path, Listed(records), warn=False)
    build_articles(path, Listed(records[:1]))
    assert caplog.messages == []
    build_articles(path, Listed(records))
    [warning] = caplog.messages
    for part in ("the first was kept: A", "1 article left out that had no text: B", "led to no article: C → D"):
        assert part in warning


def test_a_store_of_another_version_is_replaced(build, path):
    build([Article("A", "x")]).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(StoreFormatError, match=r"of format 9, .* build it again"):
        ArticleStore(path)
    assert list(build([Article("B", "y")]).titles()) == ["B"]
    assert leftovers(path) == []
