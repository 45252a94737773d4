"""What cannot be built is told by what was given."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date

import pytest

from factoid.entities.articles import Article, ArticleStore, build_articles
from factoid.errors import InvalidInputError, StoreFormatError
from tests.entities.articles.records import Listed, leftovers


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a"


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([Article("A", " ")], "no article to store in the documents: 1 without text"),
        (
            [Article("A", "x", metadata={"page": 1, "day": date(2020, 1, 2)}, document_id="7")],
            r"record 1 of the documents: the metadata of 'A' \(id '7'\) must hold .* 'day' is datetime.date\(2020, 1, 2\)",
        ),
    ],
)
def test_errors_of_sources_without_a_name(path, records, said):
    source = Listed(records)
    source.name = ""
    with pytest.raises(InvalidInputError, match=said):
        build_articles(path, source)
    assert leftovers(path) == []


def test_a_store_of_another_version_is_replaced(path):
    build_articles(path, Listed([Article("A", "x")]))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(StoreFormatError, match=r"of format 1, .* build it again"):
        ArticleStore(path)
    build_articles(path, Listed([Article("B", "y")]))
    with ArticleStore(path) as store:
        assert list(store.titles()) == ["B"]
