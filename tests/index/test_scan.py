"""Exact scans against brute force: batches by matrix products, single queries on several cores."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("faiss")

from factoid.index import VectorIndex, scan


@pytest.mark.parametrize("search", [scan.scan, scan.shared_scan])
@pytest.mark.parametrize(
    ("count", "queries", "k"), [(1, 1, 1), (7, 3, 7), (20_000, 40, 10), (9000, 5, 300), (30_000, 300, 3)]
)
def test_the_largest_inner_products_in_order(search, count, queries, k):
    rng = np.random.default_rng(count)
    vectors = rng.integers(-9, 9, (count, 8)).astype(np.float32)  # whole numbers: exact, with many ties
    asked = rng.integers(-9, 9, (queries, 8)).astype(np.float32)
    scores, positions = search(vectors, asked, k)
    everything = asked @ vectors.T
    assert np.array_equal(scores, -np.sort(-everything, axis=1)[:, :k])
    assert np.array_equal(np.take_along_axis(everything, positions, axis=1), scores)
    assert all(len(set(row)) == k for row in positions.tolist())


def test_an_index_searches_alike_whatever_the_batch(monkeypatch):
    monkeypatch.setattr("factoid.index.part.LEAST_COMPONENTS", 1)
    rng = np.random.default_rng(5)
    index = VectorIndex(16)
    index.add(np.arange(3000) * 2, rng.standard_normal((3000, 16), dtype=np.float32))
    queries = rng.standard_normal((30, 16), dtype=np.float32)
    together = index.search(queries, 9)[1]
    assert np.array_equal(together, np.vstack([index.search(query[None], 9)[1] for query in queries]))
