"""Searching on GPUs, against the CPU: on those that are there, and on stand-ins that refuse what FAISS's refuse."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from factoid.errors import InvalidInputError, MissingDependencyError
from factoid.index import VectorIndex, gpu, load, save
from factoid.index.gpu import count_gpus, to_gpu
from tests.index.cases import clustered, make_index

faiss = pytest.importorskip("faiss")

DIM, COUNT = 32, 12_000  # product quantisers of 8 bits want 9,984 vectors
REAL = pytest.param("real", marks=pytest.mark.skipif(not count_gpus(), reason="needs a GPU and faiss-gpu"))
ONLY_REAL = ["IVF32_HNSW8,Flat", "IVF32,SQfp16", "IVF32,SQ4", "IVF32,PQ8", "OPQ8,IVF32,PQ8", "RR,IVF16,Flat"]


class FakeGpuIndex:
    """A CPU index that behaves as one on a GPU: small k, no selector, one thread at a time."""

    def __init__(self, cards, index, float16=False):
        self.cards, self.index, self.float16 = cards, index, float16
        self.busy = threading.Lock()

    def add(self, vectors):
        self.index.add(vectors.astype(np.float16).astype(np.float32) if self.float16 else vectors)

    def search(self, queries, k, params=None):
        assert self.busy.acquire(blocking=False), "two threads on one GPU"
        try:
            self.cards.searched.append((len(queries), k))
            if self.cards.error:
                raise RuntimeError(self.cards.error)
            if k > 2048 or (params is not None and (params.sel is not None or getattr(params, "nprobe", 1) > 2048)):
                raise RuntimeError("GPU index does not support this")
            return self.index.search(queries, k, params=params)
        finally:
            self.busy.release()


@pytest.fixture
def cards(monkeypatch):
    """Two graphics cards."""
    cards = SimpleNamespace(made=[], clones=[], searched=[], error="")

    class Resources:
        pass

    def flat(resources, dim, config):
        assert isinstance(resources, Resources)
        cards.made.append(config.device)
        return FakeGpuIndex(cards, faiss.IndexFlatIP(dim), config.useFloat16)

    def clone(resources, index, options, devices):
        assert len(resources) == len(devices)
        cards.clones.append((devices, options.shard, options.useFloat16, options.allowCpuCoarseQuantizer))
        return FakeGpuIndex(cards, faiss.clone_index(index))

    for name, value in {
        "get_num_gpus": lambda: 2,
        "StandardGpuResources": Resources,
        "GpuIndexFlatConfig": SimpleNamespace,
        "GpuIndexFlatIP": flat,
        "GpuMultipleClonerOptions": SimpleNamespace,
        "index_cpu_to_gpu_multiple_py": clone,
    }.items():
        monkeypatch.setattr(faiss, name, value, raising=False)
    return cards


@pytest.fixture(params=["fake", REAL])
def agree(request, caplog):
    """Return what compares results with the CPU's. No GPU may fail unseen: what fails there is searched on the CPU."""
    fake = request.param == "fake"
    if fake:
        request.getfixturevalue("cards")

    def agree(results, expected):
        (scores, ids), (cpu_scores, cpu_ids) = results, expected
        tolerance = 1e-5 if fake else 2e-3
        np.testing.assert_array_equal(np.isfinite(scores), np.isfinite(cpu_scores))
        finite = np.isfinite(cpu_scores)
        np.testing.assert_allclose(scores[finite], cpu_scores[finite], rtol=tolerance, atol=tolerance)
        shares = [len(np.intersect1d(*pair)) / len(np.unique(pair[1])) for pair in zip(ids, cpu_ids, strict=True)]
        assert np.mean(shares) >= (1 if fake else 0.98)

    yield agree
    assert caplog.messages == []


@cache
def make(kind, similarity="inner_product", shards=1):
    """Build an index of which a tenth was removed, not to be changed."""
    ids, vectors = clustered(COUNT, DIM)
    index = VectorIndex(DIM, kind=kind, similarity=similarity, shards=shards)
    index.train(vectors)
    index.add(ids, vectors)
    index.remove(ids[::10])
    return index


def queries(count, seed=1):
    return clustered(count, DIM, seed=seed)[1]


@pytest.mark.parametrize("built_with_gpus", [True, False])
def test_without_a_gpu_everything_stays_on_the_cpu_with_one_line(monkeypatch, caplog, built_with_gpus):
    if built_with_gpus:
        monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
        monkeypatch.setattr(faiss, "get_num_gpus", lambda: 0)
    else:
        monkeypatch.delattr(faiss, "StandardGpuResources", raising=False)
    gpu._say_once.cache_clear()
    index = make("Flat")
    for device in ("cuda", "cuda:3", "cpu", ["cuda:0", "cuda:1"]):
        assert to_gpu(index, device=device) is index
    (message,) = caplog.messages
    assert message.startswith(f"there is no GPU that FAISS {faiss.__version__} can use: searching on the CPU")
    assert ("factoid[gpu]" in message) != built_with_gpus


def test_without_faiss_a_gpu_asks_for_the_one_with_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[gpu\]"):
        gpu.check_device("cuda")
    assert gpu.check_device("cpu") == []


@pytest.mark.parametrize(
    "device", ["", "gpu", "cuda:", "cuda:-1", [], ["cuda", "cuda:0"], ["cpu", "cuda"], [1], "cuda:2", None, 1]
)
def test_devices_that_are_none(cards, device):
    with pytest.raises(InvalidInputError, match=r"expected a device such as|no device cuda:2: FAISS sees 2 GPUs"):
        to_gpu(make("Flat"), device=device)


@pytest.mark.parametrize(("similarity", "shards"), [("inner_product", 1), ("cosine", 3)])
@pytest.mark.parametrize("kind", ["Flat", "RR,Flat", "IVF32,Flat", "IVF32,SQ8", *ONLY_REAL])
def test_the_same_is_found_as_on_the_cpu(agree, request, kind, similarity, shards):
    if kind in ONLY_REAL and "cards" in request.fixturenames:
        pytest.skip("nothing of its own to see with a stand-in")
    index = make(kind, similarity, shards)
    there = to_gpu(index)
    assert (there.exact, there.lossy, len(there)) == (index.exact, index.lossy, len(index))
    for count in (1, 7, 300):
        agree(there.search(queries(count), 10), index.search(queries(count), 10))
    for nprobe in (1, 16) if "IVF" in kind else ():
        wide = {"nprobe": nprobe}
        agree(there.search(queries(50), 10, parameters=wide), index.search(queries(50), 10, parameters=wide))
    for share in (0.9, 0.3, 0.001):
        allowed = np.sort(np.random.default_rng(0).choice(index.ids, int(share * len(index)), replace=False))
        results = there.search(queries(20), 10, allowed=allowed)
        assert np.isin(results[1][results[1] >= 0], allowed).all()
        agree(results, index.search(queries(20), 10, allowed=allowed))


@pytest.mark.parametrize(("device", "used"), [("cuda", {0}), ("cuda:1", {1}), (["cuda", "cuda:1"], {0, 1})])
@pytest.mark.parametrize("kind", ["Flat", "IVF32,Flat"])
def test_the_devices_that_are_named_are_searched(cards, kind, device, used):
    index = make(kind)
    results, expected = to_gpu(index, device=device).search(queries(7), 10), index.search(queries(7), 10)
    assert results[1].tolist() == expected[1].tolist()
    assert {*cards.made, *(device for devices, *_ in cards.clones for device in devices)} == used


def test_filters_that_let_much_through_are_searched_on_the_gpu(cards):
    index = make("Flat")
    there = to_gpu(index)
    there.search(queries(5), 10, allowed=index.ids[::2])
    assert cards.searched == [(5, 40)]
    there.search(queries(5), 10, allowed=index.ids[:30])
    assert len(cards.searched) == 1


def test_parts_of_a_flat_index_on_two_gpus(cards, monkeypatch):
    chunks = {0: [], 1: []}

    def flat(_resources, dim, config):
        class Chunked(faiss.IndexFlatIP):
            def add(self, vectors):
                chunks[config.device].append(len(vectors))
                super().add(vectors)

        return Chunked(dim)

    monkeypatch.setattr(faiss, "GpuIndexFlatIP", flat)
    monkeypatch.setattr(gpu, "_CHUNK_BYTES", 4 * DIM * 3000)
    index = make("Flat")
    there = to_gpu(index, device=["cuda:0", "cuda:1"], shard=True)
    assert there.search(queries(9), 20)[1].tolist() == index.search(queries(9), 20)[1].tolist()
    assert chunks == {0: [3000, 2400], 1: [3000, 2400]}


def test_parts_of_lists_and_of_shards_on_two_gpus(cards):
    there = to_gpu(make("IVF32,SQ8"), device=["cuda:0", "cuda:1"], shard=True, float16=True)
    there.search(queries(1), 1)
    assert cards.clones == [([0, 1], True, True, True)]
    cards.clones.clear()
    there = to_gpu(make("IVF32,SQ8", shards=3), device=["cuda:0", "cuda:1"], shard=True)
    there.search(queries(1), 1)
    assert sorted(devices for devices, *_ in cards.clones) == [[0], [0], [1]]


@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8", "RR,IVF32,SQ8"])
@pytest.mark.parametrize("k", [1, 512, 513, 2048, 2049, COUNT + 5])
def test_any_k_is_found_on_the_cpu_where_a_gpu_cannot_sort_it(agree, request, kind, k):
    index = make(kind)
    parameters = {"nprobe": 32} if "IVF" in kind else None
    agree(
        to_gpu(index).search(queries(5), k, parameters=parameters), index.search(queries(5), k, parameters=parameters)
    )
    if "cards" in request.fixturenames:
        assert bool(request.getfixturevalue("cards").searched) == (k <= (512 if "SQ8" in kind else 2048))


@pytest.mark.parametrize(
    ("kind", "dim", "most"),
    [
        ("SQ8", 3072, 512),
        ("SQ8", 3080, 256),
        ("SQ4", 4096, 256),
        ("SQ6", 4608, 256),
        ("SQ8", 6200, 0),
        ("SQfp16", 6200, 2048),
    ],
)
def test_what_fits_beside_the_tables_of_scalar_quantisers(kind, dim, most):
    assert gpu._most_results(faiss.index_factory(dim, f"IVF4,{kind}", faiss.METRIC_INNER_PRODUCT)) == most


@pytest.mark.parametrize("kind", ["HNSW16", "SQ8", "RaBitQ", "PQ8x4fs", "IVF32,RaBitQ", "IVF32,PQ8x4fs"])
def test_kinds_without_a_gpu_form_stay_on_the_cpu(cards, kind, caplog):
    index = make_index(kind)[0]
    assert to_gpu(index) is index
    assert "have no GPU form: searching on the CPU" in caplog.text


def test_half_precision_counts_as_lossy(agree):
    index = make("Flat")
    there = to_gpu(index, float16=True)
    assert (there.exact, there.lossy, index.exact, index.lossy) == (False, True, True, False)
    (scores, ids), (cpu_scores, cpu_ids) = there.search(queries(300), 10), index.search(queries(300), 10)
    np.testing.assert_allclose(scores, cpu_scores, rtol=5e-3, atol=5e-3)
    assert not np.array_equal(scores, cpu_scores)
    assert np.mean([len(np.intersect1d(*pair)) / 10 for pair in zip(ids, cpu_ids, strict=True)]) > 0.97
    assert there.vectors(there.ids[:3]).tolist() == index.vectors(index.ids[:3]).tolist()


@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8", "IVF32,PQ8"])
def test_changes_reach_the_gpu_and_the_file(agree, tmp_path, kind):
    save(make(kind), tmp_path / "before", stamp={})
    index = load(tmp_path / "before").index
    there = to_gpu(index)
    there.search(queries(2), 5)
    count = len(there)
    there.remove(index.ids[:100])
    there.add(np.array([99_999]), queries(1) * 3)
    assert len(there) == len(index) == count - 99
    results = there.search(queries(1), 5)
    assert results[1][0, 0] == 99_999
    save(there, tmp_path / "after", stamp={})
    agree(results, load(tmp_path / "after").index.search(queries(1), 5))


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=REAL.marks)])
def test_a_gpu_that_fails_is_left_with_one_line(request, caplog, real):
    if not real:
        cards = request.getfixturevalue("cards")
        cards.error = "Failed to cudaMalloc 8 bytes\nout of memory"
    index = make("Flat")
    there = to_gpu(index)
    if real:
        there.parts[0].gpu._devices = [count_gpus() + 5]
    for _ in range(2):
        assert there.search(queries(3), 5)[1].tolist() == index.search(queries(3), 5)[1].tolist()
    (message,) = caplog.messages
    assert message.startswith("the GPU failed (" + "Failed to cudaMalloc 8 bytes)" * (not real))
    assert message.endswith("): from now on searching on the CPU")
    assert real or len(cards.searched) == 1


@pytest.mark.parametrize("kind", ["Flat", "IVF32,Flat"])
def test_threads_take_turns_on_a_gpu(agree, kind):
    index = make(kind, shards=2)
    there = to_gpu(index)
    batches = [queries(3, seed=seed) for seed in range(20)] * 6
    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(lambda batch: there.search(batch, 5), batches))
    for batch, result in zip(batches, results, strict=True):
        agree(result, index.search(batch, 5))
