"""The logic of searching on GPUs, with stand-ins that refuse what FAISS's GPU indexes refuse. No GPU is needed."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from factoid.errors import InvalidInputError, MissingDependencyError
from factoid.index import gpu, load, save
from factoid.index.gpu import count_gpus, to_gpu
from tests.index.cases import brute_force

faiss = pytest.importorskip("faiss")


class FakeGpuIndex:
    """A CPU index that behaves as one on a GPU: small k, no selector, one thread at a time, chunks as they come."""

    def __init__(self, cards, index, float16=False):
        self.cards, self.index, self.float16 = cards, index, float16
        self.chunks, self.busy = [], threading.Lock()

    @property
    def ntotal(self):
        return self.index.ntotal

    def add(self, vectors):
        self.chunks.append(len(vectors))
        self.index.add(vectors.astype(np.float16).astype(np.float32) if self.float16 else vectors)

    def search(self, queries, k, params=None):
        assert self.busy.acquire(blocking=False), "two threads on one GPU"
        try:
            self.cards.searched.append((len(queries), k))
            if self.cards.error:
                raise RuntimeError(self.cards.error)
            if k > 2048:
                raise RuntimeError("GPU index only supports min/max-K selection up to 2048")
            if params is not None and (params.sel is not None or getattr(params, "nprobe", 1) > 2048):
                raise RuntimeError("GPU index does not support this")
            return self.index.search(queries, k, params=params)
        finally:
            self.busy.release()


class FakeShards:
    """Parts that count on from one another."""

    def __init__(self, dim, threaded, successive):
        assert successive
        self.parts = []

    def add_shard(self, part):
        self.parts.append(part)

    def search(self, queries, k, params=None):
        first, scores, labels = 0, [], []
        for part in self.parts:
            some, own = part.search(queries, k, params=params)
            scores.append(np.where(own < 0, -np.inf, some))
            labels.append(np.where(own < 0, -1, own + first))
            first += part.ntotal
        scores, labels = np.concatenate(scores, axis=1), np.concatenate(labels, axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(scores, order, axis=1), np.take_along_axis(labels, order, axis=1)


@pytest.fixture
def cards(monkeypatch):
    """Two graphics cards."""
    cards = SimpleNamespace(made=[], clones=[], searched=[], error="", resources=[])

    class Resources:
        def __init__(self):
            cards.resources.append(self)

    def flat(resources, dim, config):
        assert isinstance(resources, Resources)
        made = FakeGpuIndex(cards, faiss.IndexFlatIP(dim), config.useFloat16)
        cards.made.append((config.device, made))
        return made

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


def same(one, two):
    return one[1].tolist() == two[1].tolist() and np.allclose(one[0], two[0], rtol=1e-5)


def test_without_a_gpu_everything_stays_on_the_cpu_with_one_line(make_index, monkeypatch, caplog):
    monkeypatch.setattr(gpu, "count_gpus", lambda: 0)
    gpu._say_once.cache_clear()
    index = make_index("Flat")[0]
    assert [to_gpu(index, device=device) for device in ("cuda", "cuda:3", "cpu")] == [index] * 3
    (record,) = caplog.records
    assert record.message.startswith(f"there is no GPU that FAISS {faiss.__version__} can use: searching on the CPU")


def test_a_faiss_without_gpus_is_told_how_to_get_one(monkeypatch, caplog):
    monkeypatch.delattr(faiss, "StandardGpuResources", raising=False)
    gpu._say_once.cache_clear()
    assert (gpu.check_device("cuda"), gpu.check_device("cpu")) == ([], [])
    monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 0)
    gpu._say_once.cache_clear()
    assert gpu.check_device(["cuda:0", "cuda:1"]) == []
    assert ["factoid[gpu]" in record.message for record in caplog.records] == [True, False]


def test_without_faiss_a_gpu_asks_for_the_one_with_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[gpu\]"):
        gpu.check_device("cuda")
    assert gpu.check_device("cpu") == []


def test_gpus_are_counted(cards, monkeypatch):
    assert count_gpus() == 2
    monkeypatch.delattr(faiss, "StandardGpuResources")  # faiss-cpu has get_num_gpus, too
    assert count_gpus() == 0


@pytest.mark.parametrize(
    "device", ["", "gpu", "cuda:", "cuda:-1", [], ["cuda", "cuda:0"], ["cpu", "cuda"], [1], "cuda:2", None, 1]
)
def test_devices_that_are_none(make_index, cards, device):
    with pytest.raises(
        InvalidInputError, match=r"expected a device such as|there is no device cuda:2: FAISS sees 2 GPUs"
    ):
        to_gpu(make_index("Flat")[0], device=device)


@pytest.mark.parametrize(("similarity", "shards"), [("inner_product", 1), ("cosine", 3)])
@pytest.mark.parametrize("options", [{}, {"device": "cuda:1"}, {"device": ["cuda", "cuda:1"]}])
@pytest.mark.parametrize("kind", ["Flat", "IVF32,Flat", "IVF32,SQ8", "RR,Flat"])
def test_the_same_is_found_as_on_the_cpu(make_index, cards, kind, options, shards, similarity):
    index, ids, vectors = make_index(kind, similarity, shards)
    there = to_gpu(index, **options)
    for count in (1, 7):
        assert same(there.search(vectors[:count], 10), index.search(vectors[:count], 10))
    assert cards.searched
    assert (there.exact, there.lossy, len(there)) == (index.exact, index.lossy, len(index))
    used = {device for device, _ in cards.made} | {device for devices, *_ in cards.clones for device in devices}
    assert used == {"": {0}, "cuda:1": {1}}.get(str(options.get("device", "")), {0, 1})
    for share in (0.9, 0.3, 0.001):
        allowed = np.sort(np.random.default_rng(0).choice(ids, int(share * len(ids)), replace=False))
        assert same(there.search(vectors[:5], 10, allowed=allowed), index.search(vectors[:5], 10, allowed=allowed))


def test_filters_that_let_much_through_are_searched_on_the_gpu(make_index, cards):
    index, ids, vectors = make_index("Flat")
    there = to_gpu(index)
    there.search(vectors[:5], 10, allowed=np.sort(ids[::2]))
    assert cards.searched == [(5, 40)]
    there.search(vectors[:5], 10, allowed=np.sort(ids[:30]))
    assert len(cards.searched) == 1


def test_parts_of_a_flat_index_on_two_gpus(make_index, cards, monkeypatch):
    monkeypatch.setattr(faiss, "IndexShards", FakeShards)
    monkeypatch.setattr(gpu, "_CHUNK_BYTES", 4 * 16 * 1000)
    index, _, vectors = make_index("Flat")
    there = to_gpu(index, device=["cuda:0", "cuda:1"], shard=True)
    assert same(there.search(vectors[:9], 20), index.search(vectors[:9], 20))
    assert [(device, made.chunks) for device, made in cards.made] == [(0, [1000, 600]), (1, [1000, 600])]


def test_parts_of_lists_and_of_shards_on_two_gpus(make_index, cards):
    there = to_gpu(make_index("IVF32,SQ8")[0], device=["cuda:0", "cuda:1"], shard=True, float16=True)
    there.search(np.ones((1, 16), np.float32), 1)
    assert cards.clones == [([0, 1], True, True, True)]
    cards.clones.clear()
    there = to_gpu(make_index("IVF32,SQ8", shards=3)[0], device=["cuda:0", "cuda:1"], shard=True)
    there.search(np.ones((1, 16), np.float32), 1)
    assert sorted(devices for devices, *_ in cards.clones) == [[0], [0], [1]]


@pytest.mark.parametrize(
    ("kind", "k", "parameters"),
    [
        ("Flat", 2049, None),
        ("Flat", 3300, None),
        ("IVF32,Flat", 2100, {"nprobe": 32}),
        ("IVF32,SQ8", 513, {"nprobe": 32}),
        ("RR,IVF32,SQ8", 513, {"nprobe": 32}),
    ],
)
def test_more_than_a_gpu_sorts_is_searched_on_the_cpu(make_index, cards, kind, k, parameters):
    index, _, vectors = make_index(kind)
    found = to_gpu(index).search(vectors[:2], k, parameters=parameters)
    assert same(found, index.search(vectors[:2], k, parameters=parameters))
    assert cards.searched == []


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
def test_kinds_without_a_gpu_form_stay_on_the_cpu(make_index, cards, kind, caplog):
    index = make_index(kind)[0]
    assert to_gpu(index) is index
    assert "have no GPU form: searching on the CPU" in caplog.text


def test_half_precision_counts_as_lossy(make_index, cards):
    index, _, vectors = make_index("Flat")
    there = to_gpu(index, float16=True)
    assert (there.exact, there.lossy, index.exact, index.lossy) == (False, True, True, False)
    scores, _ = there.search(vectors[:3], 5)
    np.testing.assert_allclose(scores, index.search(vectors[:3], 5)[0], rtol=2e-3)
    assert not np.array_equal(scores, index.search(vectors[:3], 5)[0])
    assert there.vectors(there.ids[:3]).tolist() == index.vectors(index.ids[:3]).tolist()


@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8"])
def test_changes_reach_the_gpu_and_the_file(make_index, cards, tmp_path, kind):
    index, ids, vectors = make_index(kind)
    there = to_gpu(index)
    there.search(vectors[:2], 5)
    there.remove(ids[:100])
    there.add(np.array([99_999]), vectors[:1] * 3)
    assert len(there) == len(index) == len(ids) - 99
    scores, found = there.search(vectors[:1], 5)
    assert found[0, 0] == 99_999
    if kind == "Flat":
        now = np.concatenate([vectors[100:], vectors[:1] * 3]), np.append(ids[100:], 99_999)
        assert found.tolist() == brute_force(vectors[:1], now[1], now[0], 5)[1].tolist()
    save(there, tmp_path / "passage", stamp={})
    assert same(load(tmp_path / "passage").index.search(vectors[:1], 5), (scores, found))


def test_a_gpu_that_fails_is_left_with_one_line(make_index, cards, caplog):
    index, _, vectors = make_index("Flat")
    there = to_gpu(index)
    cards.error = "Failed to cudaMalloc 8 bytes\nout of memory"
    for _ in range(2):
        assert same(there.search(vectors[:2], 5), index.search(vectors[:2], 5))
    assert len(cards.searched) == 1
    assert [record.message for record in caplog.records] == [
        "the GPU failed (Failed to cudaMalloc 8 bytes): from now on searching on the CPU"
    ]


def test_threads_take_turns_on_a_gpu(make_index, cards):
    index, _, vectors = make_index("Flat", shards=2)
    there = to_gpu(index)
    wrong = []

    def search():
        for start in range(30):
            if not same(there.search(vectors[start : start + 2], 5), index.search(vectors[start : start + 2], 5)):
                wrong.append(start)

    threads = [threading.Thread(target=search) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
