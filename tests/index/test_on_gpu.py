"""Searching on the GPUs that are really there, against the CPU. `test_gpu.py` tests the logic where there are none."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from factoid.index import VectorIndex, load, save
from factoid.index.gpu import count_gpus, to_gpu
from tests.index.cases import clustered

pytest.importorskip("faiss")

pytestmark = pytest.mark.skipif(not count_gpus(), reason="needs a GPU and faiss-gpu")

DIM = 32
COUNT = 12_000  # product quantisers of 8 bits want 9,984
KINDS = [
    *("Flat", "RR,Flat", "IVF32,Flat", "IVF32_HNSW8,Flat", "IVF32,SQ8", "IVF32,SQfp16", "IVF32,SQ4"),
    *("IVF32,PQ8", "OPQ8,IVF32,PQ8", "RR,IVF16,Flat"),
]


@pytest.fixture(scope="module")
def make():
    ids, vectors = clustered(COUNT, DIM)
    made = {}

    def make(kind, similarity="inner_product", shards=1):
        settings = (kind, similarity, shards)
        if settings not in made:
            made[settings] = index = VectorIndex(DIM, kind=kind, similarity=similarity, shards=shards)
            index.train(vectors)
            index.add(ids, vectors)
            index.remove(ids[::10])
        return made[settings]

    return make


@pytest.fixture(autouse=True)
def quiet(caplog):
    """No GPU may fail unseen: what goes wrong there is searched on the CPU, whose answers would be right."""
    yield
    assert caplog.messages == []


def queries(count, seed=1):
    return clustered(count, DIM, seed=seed)[1]


def agree(found, expected, *, rtol=2e-3, same=0.98):
    (scores, ids), (others, other_ids) = found, expected
    assert scores.shape == others.shape
    np.testing.assert_array_equal(np.isfinite(scores), np.isfinite(others))
    finite = np.isfinite(others)
    np.testing.assert_allclose(scores[finite], others[finite], rtol=rtol, atol=rtol)
    shares = [len(np.intersect1d(one, two)) / len(np.unique(two)) for one, two in zip(ids, other_ids, strict=True)]
    assert np.mean(shares) >= same


@pytest.mark.parametrize(("similarity", "shards"), [("inner_product", 1), ("cosine", 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_is_found_as_on_the_cpu(make, kind, similarity, shards):
    index = make(kind, similarity, shards)
    there = to_gpu(index)
    for count in (1, 7, 300):
        agree(there.search(queries(count), 10), index.search(queries(count), 10))
    if "IVF" in kind:
        for nprobe in (1, 16):
            wide = {"nprobe": nprobe}
            agree(there.search(queries(50), 10, parameters=wide), index.search(queries(50), 10, parameters=wide))
    ids = np.sort(index.ids)
    for share in (0.9, 0.3, 0.001):
        allowed = np.sort(np.random.default_rng(0).choice(ids, int(share * len(ids)), replace=False))
        found = there.search(queries(20), 10, allowed=allowed)
        assert np.isin(found[1][found[1] >= 0], allowed).all()
        agree(found, index.search(queries(20), 10, allowed=allowed))


@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8", "IVF32,SQ6"])
@pytest.mark.parametrize("k", [1, 1000, 2048, 2049, COUNT + 5])
def test_any_k(make, kind, k):
    index = make(kind)
    parameters = {"nprobe": 32} if "IVF" in kind else None
    found = to_gpu(index).search(queries(5), k, parameters=parameters)
    agree(found, index.search(queries(5), k, parameters=parameters))


def test_half_precision(make):
    index = make("Flat")
    there = to_gpu(index, float16=True)
    scores, ids = there.search(queries(300), 10)
    expected, other_ids = index.search(queries(300), 10)
    np.testing.assert_allclose(scores, expected, rtol=5e-3, atol=5e-3)
    assert not np.array_equal(scores, expected)
    assert np.mean([len(np.intersect1d(one, two)) / 10 for one, two in zip(ids, other_ids, strict=True)]) > 0.97


@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8", "IVF32,PQ8"])
def test_changes_reach_the_gpu_and_the_file(make, tmp_path, kind):
    save(make(kind), tmp_path / "before", stamp={})
    index = load(tmp_path / "before").index
    there = to_gpu(index)
    there.search(queries(2), 5)
    there.remove(np.sort(index.ids)[:100])
    there.add(np.array([99_999]), queries(1) * 3)
    scores, ids = there.search(queries(1), 5)
    assert ids[0, 0] == 99_999
    save(there, tmp_path / "after", stamp={})
    agree((scores, ids), load(tmp_path / "after").index.search(queries(1), 5))


def test_a_gpu_that_fails_is_left_with_one_line(make, caplog):
    index = make("Flat")
    there = to_gpu(index)
    for part in there.parts:
        part.gpu._devices = [count_gpus() + 5]
    for _ in range(2):
        agree(there.search(queries(3), 5), index.search(queries(3), 5))
    (message,) = caplog.messages
    assert message.startswith("the GPU failed (")
    assert message.endswith("): from now on searching on the CPU")
    caplog.clear()


@pytest.mark.parametrize("kind", ["Flat", "IVF32,Flat"])
def test_threads_take_turns_on_a_gpu(make, kind):
    index = make(kind, shards=2)
    there = to_gpu(index)
    asked = [queries(3, seed=seed) for seed in range(20)]
    expected = [index.search(each, 5) for each in asked]
    wrong = []

    def search():
        for given, right in zip(asked, expected, strict=True):
            try:
                agree(there.search(given, 5), right)
            except AssertionError as error:
                wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
