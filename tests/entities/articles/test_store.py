"""Article stores: looking names up, several readers, redirects, and files that are none or
damaged.
"""

from __future__ import annotations

import sqlite3
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.entities import Article, ArticleStore, Redirect, build_articles
from factoid.entities.articles.article import Name
from factoid.entities.articles.names import NameKind, name_key
from factoid.errors import StoreError, StoreFormatError, UnreadableFileError
from tests.entities.articles.records import seeded

RECORDS = [
    Article("Café de Flore", "A café in Paris.", ("Flore",)),
    Article("Łódź", "A city."),
    Article("Rock 'n' Roll", "Music."),
    Article("ירושלים", "A city."),
    Article("東京", "A city.", ("Tōkyō", "Edo")),
    Article("Mercury (planet)", "A planet."),
    Article("Mercury (element)", "A metal."),
    Article("Venus", "A planet.", ("Evening star",)),
    Article("Hesperus", "A daughter.", ("Evening star",)),
    Redirect("Evening Star", "Hesperus"),
    Redirect("Quicksilver", "Mercury (element)"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "a b%20?c.sqlite"
    build_articles(path, RECORDS)
    with ArticleStore(path) as store:
        yield store


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Café de Flore", "Café de Flore"),
        ("Cafe\u0301_de__Flore ", "Café de Flore"),
        ("\u200fירושלים\u200e", "ירושלים"),
        ("TŌKYŌ", "東京"),
        ("Mercury", None),
        ("mercury (Planet)", "Mercury (planet)"),
        ("quicksilver", "Mercury (element)"),
        ("flore", "Café de Flore"),
        ("Evening Star", "Hesperus"),
        ("Evening star", None),
        ("evening STAR", "Hesperus"),  # a redirect goes before aliases
        ("", None),
        ("\u200e", None),
        ("\0", None),
    ],
)
def test_look_up(store, name, title):
    article = store.get(name)
    assert (article and article.title) == title


def test_names_of_many_keys(store):
    keys = [name_key(title) for title in store.titles()]
    names = store.names([*keys, *(f"none {n}" for n in range(1000)), "mercury"])
    assert set(names) == {*keys, "mercury"}
    assert {(name.form, name.kind) for name in names["mercury"]} == {("Mercury", NameKind.BASE)}
    assert {name.title for name in names["mercury"]} == {"Mercury (planet)", "Mercury (element)"}
    assert names["łódź"] == [Name("Łódź", NameKind.TITLE, 0, 2, "Łódź")]


def test_counts(store):
    assert list(store.titles()) == [
        record.title for record in RECORDS if isinstance(record, Article)
    ]
    stats = store.stats()
    assert stats["articles"] == len(store) == 9
    counts = {
        "title": 9,
        "redirect": 2,
        "alias": 5,
        "unaccented": 3,
        "squeezed": 1,
        "anchor": 0,
        "base": 2,
    }
    assert stats["names"] == {**counts, "part": 1, "capital_part": 1}


def test_closed(build):
    store = build(RECORDS)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.get("Venus")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A store, and the texts by the titles of what it was built from."""
    path, records = tmp_path_factory.mktemp("large") / "a", seeded(9, 500)
    build_articles(path, records)
    articles = [record for record in records if isinstance(record, Article) and record.text]
    return path, {article.title: article.text for article in reversed(articles)}


def followed(redirects, titles):
    """Follow redirects one by one: an article goes before a redirect, and the first of a name
    before others.
    """
    first = {}
    for name, target in redirects:
        first.setdefault(name, target)
    resolved = []
    for name, target in redirects:
        seen = set()
        at = target
        while at not in titles and at in first and at not in seen:
            seen.add(at)
            at = first[at]
        resolved.append((name, None if at in seen else at))
    return resolved


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ABCDEFGHIJ"), st.sampled_from("ABCDEFGHIJ")), max_size=25),
    st.sets(st.sampled_from("ABCJ")),
)
def test_redirects_as_followed_one_by_one(tmp_path_factory, redirects, titles):
    path = tmp_path_factory.mktemp("redirects") / "a"
    records = [Redirect(*pair) for pair in redirects] + [
        Article(title, "x") for title in [*sorted(titles), "End"]
    ]
    report = build_articles(path, records)
    resolved = followed(redirects, titles)
    inside = sum(title in titles for _, title in resolved)
    assert (report.redirects, report.dangling) == (inside, len(resolved) - inside)
    with ArticleStore(path) as store:
        for name, title in resolved:
            known = {entry.title for entry in store.names([name.lower()]).get(name.lower(), [])}
            assert title not in titles or title in known


@pytest.mark.parametrize("content", [b"", b"x" * 5000, b"SQLite format 3\0" + bytes(5000), None])
def test_another_file(path, content):
    with pytest.raises(UnreadableFileError, match="there is no article store"):
        ArticleStore(path)
    if content is None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE article (id)")
    else:
        path.write_bytes(content)
    with pytest.raises(StoreFormatError, match="not an article store"):
        ArticleStore(path)


@pytest.mark.parametrize("body", [b"", b"no zlib", zlib.compress(b"\xff\xfe"), 7])
def test_a_damaged_body(build, path, body):
    store = build([Article("Venus", "A planet."), Article("Łódź", "A city.")])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE body SET text = ? WHERE id = 2", [body])
    store.reload()
    with pytest.raises(StoreFormatError, match=r"the article 'Łódź' of .* is damaged"):
        store.get("Łódź")
    assert store.get("Venus").text


def test_a_file_that_is_replaced_is_read_until_it_is_closed(build, path):
    store = build([Article("Old", "old"), Article("Older", "older")])
    size = store.stats()["bytes"]
    build([Article("New", "new" * 5000)])
    with ThreadPoolExecutor(8) as threads:
        assert [article.text for article in threads.map(store.get, ["Old"] * 40)] == ["old"] * 40
    assert (store.get("New"), store.stats()["bytes"]) == (None, size)
    path.unlink()
    assert store.get("Older").text == "older"
