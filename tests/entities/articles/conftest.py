from __future__ import annotations

import pytest

from factoid.entities.articles import ArticleStore, build_articles
from tests.entities.articles.records import Listed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a"


@pytest.fixture
def build(path):
    """Build a store of some records in the test's folder, and open it."""
    stores = []

    def make(records, **options):
        build_articles(path, Listed(records), **options)
        stores.append(ArticleStore(path))
        return stores[-1]

    yield make
    for store in stores:
        store.close()
