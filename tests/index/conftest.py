"""Indexes that several tests search."""

from __future__ import annotations

import numpy as np
import pytest

from tests.index.cases import clustered


@pytest.fixture(scope="session")
def make_index():
    """Build an index of a kind that had all vectors in two steps, and lost some of both."""
    pytest.importorskip("faiss")
    from factoid.index import VectorIndex

    ids, vectors = clustered()
    gone = np.random.default_rng(1).choice(ids, 800, replace=False)
    keep = ~np.isin(ids, gone)

    def make(kind, similarity="inner_product", shards=1):
        index = VectorIndex(vectors.shape[1], kind=kind, similarity=similarity, shards=shards)
        index.train(vectors)
        index.add(ids[:2500], vectors[:2500])
        index.add(ids[2500:], vectors[2500:])
        index.remove(gone)
        return index, ids[keep], vectors[keep]

    return make
