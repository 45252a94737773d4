"""One FAISS index against brute force, and its files against damage."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import EncoderMismatchError, MissingDependencyError
from factoid.index import VectorIndex

pytest.importorskip("faiss")


def brute_force(queries, ids, vectors, k, allowed=None):
    """Inner products in double precision, best first."""
    keep = np.ones(len(ids), bool) if allowed is None else np.isin(ids, allowed)
    scores = queries.astype(np.float64) @ vectors[keep].astype(np.float64).T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), ids[keep][order]


def built(ids, vectors):
    index = VectorIndex(vectors.shape[1])
    index.add(ids, vectors)
    return index


@pytest.fixture
def small():
    """Vectors that are neither of unit length nor positive, under ids that are not positions."""
    rng = np.random.default_rng(7)
    return np.arange(200, dtype=np.int64) * 3 + 5, rng.normal(0, 4, (200, 16)).astype(np.float32)


@pytest.mark.parametrize("k", [1, 7, 200])
@pytest.mark.parametrize("filtered", [False, True])
def test_search_is_exact(small, k, filtered):
    ids, vectors = small
    allowed = ids[::7] if filtered else None
    queries = -vectors[:5] * 2
    scores, found = built(ids, vectors).search(queries, k, allowed=allowed)
    expected_scores, expected = brute_force(queries, ids, vectors, k, allowed)
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-5, atol=1e-4)
    assert k == 200 or found.tolist() == expected.tolist()
    rows = {own: row for row, own in enumerate(ids.tolist())}
    for query, own, score in zip(queries, found.tolist(), scores, strict=True):
        np.testing.assert_allclose(vectors[[rows[each] for each in own]] @ query, score, rtol=1e-5, atol=1e-4)
    assert found.shape == (5, min(k, 29 if filtered else 200))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_adds_and_removals_against_a_dict(data):
    index, held = VectorIndex(3), {}
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
        assert scores[0].tolist() == expected
        assert len(set(ids[0].tolist())) == len(expected)
        for own, score in zip(ids[0].tolist(), scores[0].tolist(), strict=True):
            assert float(np.dot(query[0], held[own])) == score


def test_an_empty_index_and_nothing_allowed(small):
    ids, vectors = small
    for index, allowed in ((VectorIndex(16), None), (built(ids, vectors), ids[:0])):
        scores, found = index.search(vectors[:2], 5, allowed=allowed)
        assert scores.shape == found.shape == (2, 0)
    index = VectorIndex(16)
    index.add(ids[:0], vectors[:0])
    index.remove(ids)
    assert len(index) == 0


def test_vectors_of_another_dimension_and_queries_that_are_no_numbers(small):
    index = built(*small)
    for wrong in (np.zeros((1, 15), np.float32), np.zeros(16, np.float32)):
        with pytest.raises(EncoderMismatchError, match="expected vectors of 16 dimensions, got shape"):
            index.search(wrong, 1)
        with pytest.raises(EncoderMismatchError, match="was another encoder used"):
            index.add(np.array([1]), wrong)
    for value in (np.nan, np.inf):
        with pytest.raises(EncoderMismatchError, match="not finite"):
            index.search(np.full((1, 16), value, np.float32), 1)


def test_save_and_load_give_the_same_index(small, tmp_path):
    index = built(*small)
    index.save(tmp_path / "passage.faiss", generation=42)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["passage.faiss", "passage.json"]
    manifest = json.loads((tmp_path / "passage.json").read_text())
    assert (manifest["format"], manifest["generation"], manifest["dim"], manifest["count"]) == (1, 42, 16, 200)
    loaded = VectorIndex.load(tmp_path / "passage.faiss", generation=42)
    assert loaded is not None
    assert (loaded.dim, len(loaded)) == (16, 200)
    for one, two in zip(index.search(small[1], 9), loaded.search(small[1], 9), strict=True):
        assert one.tolist() == two.tolist()
    loaded.remove(small[0][:100])
    assert len(loaded) == 100


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def rewrite(**changes):
    def damage(folder):
        path = folder / "passage.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "passage.faiss").unlink(),
        lambda folder: (folder / "passage.json").unlink(),
        lambda folder: (folder / "passage.faiss").write_bytes(b""),
        lambda folder: (folder / "passage.faiss").write_bytes((folder / "passage.faiss").read_bytes()[:-100]),
        lambda folder: flip(folder / "passage.faiss"),
        lambda folder: (folder / "passage.json").write_text(""),
        lambda folder: (folder / "passage.json").write_text("[]"),
        lambda folder: (folder / "passage.json").write_text("null"),
        lambda folder: (folder / "passage.json").write_text("{}"),
        lambda folder: (folder / "passage.json").write_bytes(b"\xff\xfe"),
        rewrite(generation=41),
        rewrite(format=2),
        rewrite(sha256="0" * 64),
        rewrite(dim="x"),
        rewrite(dim=None),
        rewrite(dim=17),
    ],
)
def test_a_cache_that_cannot_be_trusted_counts_as_missing(small, tmp_path, damage):
    built(*small).save(tmp_path / "passage.faiss", generation=42)
    damage(tmp_path)
    assert VectorIndex.load(tmp_path / "passage.faiss", generation=42) is None


def test_a_file_that_is_no_index_counts_as_missing_even_with_a_manifest(tmp_path):
    from hashlib import sha256

    (tmp_path / "passage.faiss").write_bytes(b"not faiss")
    manifest = {"format": 1, "generation": 1, "dim": 2, "count": 0, "sha256": sha256(b"not faiss").hexdigest()}
    (tmp_path / "passage.json").write_text(json.dumps(manifest))
    assert VectorIndex.load(tmp_path / "passage.faiss", generation=1) is None


def test_without_faiss_there_is_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "factoid\[cpu\]"') as caught:
        VectorIndex(3)
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert caught.value.name == "faiss"
