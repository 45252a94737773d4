"""One exact index against brute force: ids, ties, bad input, threads, and scans by matrix products and on several cores."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import EncoderMismatchError, InvalidInputError, MissingDependencyError
from factoid.index import Similarity, VectorIndex, prepare, scan
from tests.index.cases import clustered

pytest.importorskip("faiss")


def built(ids, vectors):
    index = VectorIndex(vectors.shape[1])
    index.add(ids, vectors)
    return index


@pytest.fixture
def small():
    """Vectors that are neither of unit length nor positive, under ids that are not positions."""
    rng = np.random.default_rng(7)
    return np.arange(200, dtype=np.int64) * 3 + 5, rng.normal(0, 4, (200, 16)).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_adds_and_removals_against_a_dict(data):
    index, held = VectorIndex(3, shards=data.draw(st.sampled_from([1, 3]))), {}
    whole = st.integers(-4, 4)  # exact in float32, with many ties
    for _ in range(data.draw(st.integers(1, 6))):
        new = data.draw(st.dictionaries(st.integers(0, 40), st.tuples(whole, whole, whole), max_size=12))
        gone = data.draw(st.lists(st.integers(0, 45), max_size=8))
        stale = [*gone, *(own for own in new if own in held)]
        index.remove(np.array(stale, np.int64))
        for own in stale:
            held.pop(own, None)
        index.add(np.array(list(new), np.int64), np.array(list(new.values()), np.float32).reshape(-1, 3))
        held |= new
        assert len(index) == len(held)
        query = np.array([data.draw(st.tuples(whole, whole, whole))], np.float32)
        k = data.draw(st.integers(1, 50))
        scores, ids = index.search(query, k)
        expected = sorted((float(np.dot(query[0], vector)) for vector in held.values()), reverse=True)[:k]
        found = ids[0][: len(expected)].tolist()
        assert scores[0].tolist() == expected + [-np.inf] * (k - len(expected))
        assert ids[0].tolist() == found + [-1] * (k - len(expected))
        assert len(set(found)) == len(expected)
        for own, score in zip(found, scores[0].tolist(), strict=False):
            assert float(np.dot(query[0], held[own])) == score
        assert index.ids.tolist() == sorted(held)
        given = index.vectors(index.ids)
        assert given.tolist() == [list(held[own]) for own in sorted(held)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((1, 15)), r"expected vectors of 16 dimensions, got shape .* was another encoder used"),
        (np.zeros(16), "expected vectors of 16 dimensions, got shape"),
        (np.full((1, 16), np.nan), "not finite"),
        (np.full((1, 16), np.inf), "not finite"),
    ],
)
def test_vectors_of_another_dimension_and_queries_that_are_no_numbers(small, wrong, message):
    index, wrong = built(*small), wrong.astype(np.float32)
    for call in (lambda: index.prepare(wrong), lambda: index.add(np.array([1]), wrong), lambda: index.train(wrong)):
        with pytest.raises(EncoderMismatchError, match=message):
            call()
    assert len(index) == 200


@pytest.mark.parametrize("shards", [1, 4])
def test_equal_scores_come_in_the_order_of_their_ids(shards):
    index = VectorIndex(2, shards=shards)
    index.add(np.array([9, 3, 7, 1]), np.ones((4, 2), np.float32))
    index.add(np.array([5]), np.full((1, 2), 2, np.float32))
    scores, ids = index.search(np.array([[1, 1], [0, 0]], np.float32), 5)
    assert ids.tolist() == [[5, 1, 3, 7, 9], [1, 3, 5, 7, 9]]
    assert scores.tolist() == [[4, 2, 2, 2, 2], [0] * 5]


def test_cosine_of_long_short_and_zero_vectors():
    vectors = np.array([[3e38, 3e38], [1e-38, 0], [0, 0], [-2, 0]], np.float32)
    index = VectorIndex(2, similarity="cosine")
    index.add(np.arange(4), vectors)
    scores, ids = index.search(index.prepare(np.array([[1e-30, 0], [0, 0]], np.float32)), 4)
    assert ids[0].tolist() == [1, 0, 2, 3]
    np.testing.assert_allclose(scores[0], [1, np.sqrt(0.5), 0, -1], rtol=1e-6)
    assert scores[1].tolist() == [0] * 4
    np.testing.assert_allclose(index.vectors(np.array([2, 0])), [[0, 0], [np.sqrt(0.5)] * 2], rtol=1e-6)
    assert prepare(vectors, Similarity.INNER_PRODUCT) is vectors


@pytest.mark.parametrize(("kind", "shards"), [("Flat", 1), ("Flat", 3), ("HNSW8", 1), ("SQfp16", 1)])
def test_vectors_are_given_back_where_they_are_held(small, kind, shards):
    ids, vectors = small
    index = VectorIndex(16, kind=kind, shards=shards)
    index.add(ids, vectors)
    index.remove(ids[:10])
    wanted = np.random.default_rng(0).permutation(np.arange(10, 200))
    if index.lossy:
        assert index.vectors(ids[wanted]) is None
        return
    assert index.vectors(ids[wanted]).tolist() == vectors[wanted].tolist()
    assert index.vectors(ids[:0]).shape == (0, 16)
    with pytest.raises(InvalidInputError, match="no vector under the id 5"):
        index.vectors(ids[:3])


@pytest.mark.parametrize("kind", ["Flat", "HNSW16", "IVF16,SQ8", "PQ8x4fs"])
def test_threads_search_at_once_with_parameters_and_filters_of_their_own(kind):
    ids, vectors = clustered(2000)
    index = VectorIndex(16, kind=kind, shards=2)
    index.train(vectors)
    index.add(ids, vectors)
    settings = {"graph": [{"efSearch": 4}, {"efSearch": 200}], "lists": [{"nprobe": 1}, {"nprobe": 16}]}
    cases = [
        (vectors[start : start + 3], np.sort(ids[start::7]) if start % 2 else None, parameters)
        for start in range(40)
        for parameters in settings.get(index.ability.family, [None])
    ]

    def search(case):
        queries, allowed, parameters = case
        return [each.tolist() for each in index.search(queries, 5, allowed=allowed, parameters=parameters)]

    expected = [search(case) for case in cases]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(search, cases * 3)) == expected * 3


def test_without_faiss_there_is_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[cpu\]"') as caught:
        VectorIndex(3)
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert caught.value.name == "faiss"


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
