"""An exact index against a dict and brute force: ids, ties, bad input, filters, threads, and scores
on several cores.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import EncoderMismatchError, InvalidInputError, MissingDependencyError
from factoid.vectors import Similarity, VectorIndex, matrix, normalized, vector_index
from tests.vectors.cases import clustered, search

pytest.importorskip("faiss")


def built(ids, vectors, kind="Flat"):
    index = VectorIndex(vectors.shape[1], kind=kind)
    index.train(vectors)
    index.add(ids, vectors)
    return index


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_adds_and_removals_against_a_dict(data):
    index, held = VectorIndex(3), {}
    vector = st.tuples(*[st.integers(-4, 4)] * 3)  # exact in float32, with many ties
    for _ in range(data.draw(st.integers(1, 6))):
        new = data.draw(st.dictionaries(st.integers(0, 40), vector, max_size=12))
        gone = data.draw(st.lists(st.integers(0, 45), max_size=8))
        stale = [*gone, *(own for own in new if own in held)]
        index.remove(np.array(stale, np.int64))
        held = {own: vector for own, vector in held.items() if own not in stale}
        index.add(
            np.array(list(new), np.int64), np.array(list(new.values()), np.float32).reshape(-1, 3)
        )
        held |= new
        assert len(index) == len(held)
        assert index.ids.tolist() == sorted(held)
        assert index.vectors(index.ids).tolist() == [list(held[own]) for own in sorted(held)]
        query = np.array([data.draw(vector)], np.float32)
        assert index.scores(query, index.ids)[0].tolist() == [
            float(query[0] @ held[own]) for own in sorted(held)
        ]
        k, allowed = (
            data.draw(st.integers(1, 50)),
            data.draw(st.none() | st.sets(st.integers(0, 45))),
        )
        scores, ids = search(index, query, k, None if allowed is None else list(allowed))
        expected = [
            (-float(query[0] @ held[own]), own) for own in held if allowed is None or own in allowed
        ]
        expected = sorted(expected)[:k] + [(np.inf, -1)] * (k - len(expected))
        assert [*zip((-scores[0]).tolist(), ids[0].tolist(), strict=True)] == expected


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [((1, 15), 0, "of 16 dimensions, got shape .* another encoder"), (16, 0, "of 16 dimensions"),
     ((1, 16), np.nan, "not finite"), ((1, 16), np.inf, "not finite")],
)  # fmt: skip
def test_vectors_of_another_dimension_or_that_are_no_numbers(shape, value, message):
    index, wrong = built(*clustered(9)), np.full(shape, value, np.float32)
    for call in (
        index.normalized_queries,
        index.train,
        lambda vectors: index.add(np.array([1]), vectors),
    ):
        with pytest.raises(EncoderMismatchError, match=message):
            call(wrong)
    assert len(index) == 9


def test_cosine_of_long_short_and_zero_vectors():
    vectors = np.array([[3e38, 3e38], [1e-38, 0], [0, 0], [-2, 0]], np.float32)
    index = VectorIndex(2, similarity="cosine")
    index.add(np.arange(4), vectors)
    scores, ids = search(index, np.array([[1e-30, 0], [0, 0]], np.float32), 4)
    assert ids[0].tolist() == [1, 0, 2, 3]
    np.testing.assert_allclose(scores[0], [1, np.sqrt(0.5), 0, -1], rtol=1e-6)
    assert scores[1].tolist() == [0] * 4
    np.testing.assert_allclose(
        index.vectors(np.array([2, 0])), [[0, 0], [np.sqrt(0.5)] * 2], rtol=1e-6
    )
    assert normalized(vectors, Similarity.INNER_PRODUCT) is vectors


@pytest.mark.parametrize("kind", ["Flat", "HNSW8", "SQfp16"])
def test_vectors_are_given_back_where_they_are_held(kind):
    ids, vectors = clustered(200)
    index = built(ids, vectors, kind)
    size = index.nbytes
    index.remove(ids[:10])
    assert (index.nbytes < size) == (kind != "HNSW8")
    wanted = np.random.default_rng(0).permutation(np.arange(10, 200))
    if index.lossy:
        assert index.vectors(ids[wanted]) is None
        return
    assert index.vectors(ids[wanted]).tolist() == vectors[wanted].tolist()
    with pytest.raises(InvalidInputError, match=f"no vector under the id {ids[0]}"):
        index.vectors(ids[:3])


def test_scores_and_marks_are_in_the_order_of_the_ids_that_are_asked():
    ids, vectors = clustered(200)
    index = built(ids, vectors)
    for places in (np.arange(200), np.random.default_rng(0).permutation(200)[:150]):
        asked, chosen = ids[places], ids[places] % 2 == 0
        for _ in range(2):  # the second time by positions that were kept
            np.testing.assert_allclose(
                index.scores(vectors[:3], asked),
                vectors[:3] @ vectors[places].T,
                rtol=1e-4,
                atol=1e-4,
            )
            assert set(ids[index.marks(asked, chosen)]) == set(asked[chosen])


@pytest.mark.parametrize("kind", ["Flat", "HNSW8", "IVF4,SQ8"])
def test_ids_may_be_far_apart(kind):
    ids, vectors = np.arange(400) * 10**12, clustered(400)[1]
    index = built(ids, vectors, kind)
    index.remove(ids[::2])
    found = search(index, vectors[:4], 3, ids[:4])[1]
    assert np.sort(found, axis=1).tolist() == [[-1, 10**12, 3 * 10**12]] * 4


@pytest.mark.parametrize("kind", ["Flat", "HNSW16", "IVF16,SQ8", "SQ8"])
def test_threads_search_at_once_with_parameters_and_filters_of_their_own(kind):
    ids, vectors = clustered(2000)
    index = built(ids, vectors, kind)
    cases = [(start, width) for start in range(40) for width in (4, 200)]

    def asked(case):
        start, width = case
        allowed = ids[start::7] if start % 2 else None
        found = search(index, vectors[start : start + 3], 5, allowed, nprobe=width, efSearch=width)
        return [each.tolist() for each in found]

    expected = [*map(asked, cases)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(asked, cases * 3)) == expected * 3


def test_without_faiss_there_is_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[cpu\]"') as caught:
        VectorIndex(3)
    assert caught.value.name == "faiss"


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize(
    ("count", "queries", "k"), [(1, 1, 1), (7, 3, 7), (20_000, 40, 10), (9000, 5, 300)]
)
def test_the_largest_inner_products_in_order(monkeypatch, cores, count, queries, k):
    monkeypatch.setattr(matrix, "_LEAST_COMPONENTS", 1)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr(
        vector_index, "_SCORES", 12 * count
    )  # so many queries are compared at a time
    rng = np.random.default_rng(0)
    # Whole numbers: exact, with many ties.
    vectors, asked = (
        rng.integers(-9, 9, (size, 8)).astype(np.float32) for size in (count, queries)
    )
    every = asked @ vectors.T
    order = np.argsort(-every, axis=1, kind="stable")[:, :k]
    scores, ids = built(np.arange(count), vectors).search(asked, k)
    assert ids.tolist() == order.tolist()
    assert np.array_equal(scores, np.take_along_axis(every, order, axis=1))
    held = rng.permutation(count)
    assert np.array_equal(
        matrix.gathered_products(asked, held, vectors.__getitem__), every[:, held]
    )


def test_a_kind_that_cannot_hold_so_few_is_refused():
    index = VectorIndex(4, kind="NSG16")
    with pytest.raises(InvalidInputError, match="'NSG16' cannot hold these vectors"):
        index.add(np.arange(2), np.eye(2, 4, dtype=np.float32))


@pytest.mark.parametrize("kind", ["IVF1,RaBitQfs", "IVF8,RaBitQfs", "IVF8,RaBitQ", "RaBitQ"])
def test_codes_that_are_added_after_a_removal_are_those_of_a_new_index(kind):
    ids, vectors = clustered(3000)
    first, second = (built(ids[:0], vectors, kind) for _ in range(2))
    first.add(ids[:1000], vectors[:1000])
    first.remove(ids[100:950])
    first.add(ids[1000:], vectors[1000:])
    rest = np.r_[:100, 950:3000]
    second.add(ids[rest], vectors[rest])
    for index in (first, second):
        assert len(index) == len(rest)
    results = [search(index, vectors[:20], len(rest), nprobe=8) for index in (first, second)]
    orders = [np.argsort(found, axis=1) for _, found in results]
    scores, found = (
        [
            np.take_along_axis(each[part], order, axis=1)
            for each, order in zip(results, orders, strict=True)
        ]
        for part in (0, 1)
    )
    assert found[0].tolist() == found[1].tolist()
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5, atol=1e-5)
