"""Looking names and articles up in an article store."""

from __future__ import annotations

import pickle

import pytest

from factoid.entities.articles import Article, ArticleStore, Name, NameKind, Redirect, build_articles, name_key
from factoid.errors import InvalidInputError, StoreError
from tests.entities.articles.records import Listed

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
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "a b%20?c.sqlite"
    build_articles(path, Listed(RECORDS))
    return path


@pytest.fixture
def store(path):
    with ArticleStore(path) as store:
        yield store


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Café de Flore", "Café de Flore"),
        ("Cafe\u0301_de__Flore ", "Café de Flore"),
        ("CAFÉ DE FLORE", "Café de Flore"),
        ("cafe de flore", "Café de Flore"),
        ("łódź", "Łódź"),
        ("Rock ’n’ Roll", "Rock 'n' Roll"),
        ("\u200fירושלים\u200e", "ירושלים"),
        ("東京", "東京"),
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
        ("nothing", None),
        ("x" * 100_000, None),
        ("'; DROP TABLE name", None),
        ("\0", None),
    ],
)
def test_look_up(store, name, title):
    article = store.get(name)
    assert (article and article.title) == title
    assert (name in store) == (title is not None)
    assert title is None or store.resolve(name).title == title


def test_names_of_many_keys(store):
    keys = [name_key(record.title) for record in RECORDS if isinstance(record, Article)]
    found = store.names([*keys, *(f"none {n}" for n in range(1000)), "mercury"])
    assert set(found) == {*keys, "mercury"}
    assert {(name.title, name.form, name.kind) for name in found["mercury"]} == {
        ("Mercury (planet)", "Mercury", NameKind.BASE),
        ("Mercury (element)", "Mercury", NameKind.BASE),
    }
    assert found["łódź"] == [Name("Łódź", NameKind.TITLE, 0, 2, "Łódź")]


def test_what_is_no_name(store):
    assert 3 not in store
    assert None not in store


def test_counts(store, path):
    assert len(store) == 9
    assert list(store.titles()) == [record.title for record in RECORDS if isinstance(record, Article)]
    stats = store.stats()
    assert stats.articles == 9
    assert stats.names == {"title": 9, "redirect": 2, "alias": 5, "unaccented": 3, "anchor": 0, "base": 2}
    assert (stats.sources, stats.format, stats.bytes) == (("Listed",), 2, path.stat().st_size)


def test_an_article_that_is_not_there(store):
    with pytest.raises(InvalidInputError, match="has no article 99"):
        store.article(99)


def test_closed(path):
    store = ArticleStore(path)
    titles = store.titles()
    next(titles)
    store.close()
    store.close()
    for ask in (lambda: store.get("Venus"), lambda: store.names(["venus"]), lambda: "Venus" in store):
        with pytest.raises(StoreError, match="is closed"):
            ask()


def test_pickled(store):
    with pickle.loads(pickle.dumps(store)) as other:
        assert other.get("Venus") == store.get("Venus")
