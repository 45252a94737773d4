from __future__ import annotations

import pytest

from factoid.entities import ArticleStore, build_articles


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a"


@pytest.fixture
def build(path):
    """Build a store of some records in the test's folder, and open it."""
    stores = []

    def make(records, **options):
        build_articles(path, records, **options)
        stores.append(ArticleStore(path))
        return stores[-1]

    yield make
    for store in stores:
        store.close()
