"""Indexes that several tests search, built once."""

from __future__ import annotations

import numpy as np
import pytest

from tests.index.cases import clustered

GONE = 800


@pytest.fixture(autouse=True)
def needs_rabitq(request):
    """Older versions of FAISS that are supported have no RaBitQ."""
    if "[" in request.node.name and "RaBitQ" in request.node.name:
        faiss = pytest.importorskip("faiss")
        if not hasattr(faiss, "IndexRaBitQ"):
            pytest.skip(f"FAISS {faiss.__version__} has no RaBitQ")


@pytest.fixture(scope="session")
def make_index():
    """Build an index of a kind that had all vectors in two steps, and lost some of both."""
    VectorIndex = pytest.importorskip("factoid.index").VectorIndex
    pytest.importorskip("faiss")
    ids, vectors = clustered()
    gone = np.random.default_rng(1).choice(ids, GONE, replace=False)
    keep = ~np.isin(ids, gone)

    def make(kind, similarity="inner_product", shards=1):
        index = VectorIndex(vectors.shape[1], kind=kind, similarity=similarity, shards=shards)
        index.train(vectors)
        index.add(ids[:2500], vectors[:2500])
        index.add(ids[2500:], vectors[2500:])
        index.remove(gone)
        return index, ids[keep], vectors[keep]

    return make
