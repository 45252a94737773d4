"""Searching on GPUs, against the CPU: on those that are there, and on stand-ins that refuse what
FAISS's refuse.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from factoid import Document, Granularity, Unit, UnitStore
from factoid.errors import InvalidInputError, MissingDependencyError
from factoid.testing import HashEncoder
from factoid.vectors import gpu, load, save
from factoid.vectors.gpu import count_gpus, to_gpu
from tests.vectors.cases import clustered, make_index, recall, search

faiss = pytest.importorskip("faiss")

DIM = 32
REAL = pytest.param(
    "real", marks=pytest.mark.skipif(not count_gpus(), reason="needs a GPU and faiss-gpu")
)
ON_BOTH = pytest.mark.parametrize("cards", ["fake", REAL], indirect=True)
GPU_FORMS = tuple(
    getattr(faiss, f"Index{form}")
    for form in "Flat IVFFlat IVFScalarQuantizer IVFPQ PreTransform".split()
)
GPU_KINDS = ["Flat", "IVF32,Flat", "IVF32_HNSW8,Flat", "IVF32,SQ8", "IVF32,SQfp16", "RR,IVF16,Flat"]
SLOW = pytest.param("IVF32,PQ8", marks=pytest.mark.slow)  # it takes seconds to train


@pytest.fixture
def cards(request, monkeypatch):
    """Return two stand-ins for graphics cards, or None for those that are there."""
    if getattr(request, "param", "fake") != "fake":
        return None
    cards = SimpleNamespace(clones=[], searched=[], added=[], resources=[])

    def clone(resources, index, options, devices):
        assert len(resources) == len(devices)
        cards.clones.append(
            (devices, options.shard, options.useFloat16, options.allowCpuCoarseQuantizer)
        )
        if max(devices) > 1:
            raise RuntimeError("Invalid GPU device\nat GpuResources.cpp")
        if not isinstance(index, GPU_FORMS):
            raise RuntimeError("This index type is not implemented on GPU.")
        index, busy = faiss.clone_index(index), threading.Lock()

        def add(vectors):
            assert len(vectors) <= 1000, "more than a block at a time"
            cards.added.append(len(vectors))
            index.add(
                vectors.astype(np.float16).astype(np.float32) if options.useFloat16 else vectors
            )

        def search(queries, k, params=None):
            assert busy.acquire(blocking=False), "two threads on one GPU"
            cards.searched.append((len(queries), k))
            assert k <= 2048
            assert params is None or params.sel is None
            scores, labels = index.search(queries, k, params=params)
            busy.release()
            return scores * np.float32(1 + 3e-6), labels  # a card adds in another order

        return SimpleNamespace(search=search, add=add)

    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 2)

    def make_resources():
        cards.resources.append(SimpleNamespace(setTempMemory=lambda size: size))
        return cards.resources[-1]

    monkeypatch.setattr(gpu, "_BLOCK", 1000)
    gpu._resources.cache_clear()
    monkeypatch.setattr(faiss, "StandardGpuResources", make_resources, raising=False)
    monkeypatch.setattr(faiss, "GpuMultipleClonerOptions", SimpleNamespace, raising=False)
    monkeypatch.setattr(faiss, "index_cpu_to_gpu_multiple_py", clone, raising=False)
    return cards


@pytest.fixture
def agree(cards, caplog):
    """Return what compares results with the CPU's.

    No GPU may fail unseen: what fails there is searched on the CPU.
    """

    def agree(results, expected):
        (scores, ids), (cpu_scores, cpu_ids) = results, expected
        tolerance = 1e-5 if cards else 2e-3
        np.testing.assert_allclose(scores, cpu_scores, rtol=tolerance, atol=tolerance)
        shares = [
            len(np.intersect1d(*pair)) / len(np.unique(pair[1]))
            for pair in zip(ids, cpu_ids, strict=True)
        ]
        assert np.mean(shares) >= (1 if cards else 0.98)

    yield agree
    assert caplog.messages == []


@cache
def make(kind, similarity="inner_product"):
    """Return an index not to be changed."""
    return make_index(kind, similarity, DIM)[0]


def queries(count, seed=1):
    return clustered(count, DIM, seed=seed)[1]


@pytest.mark.parametrize("built_with_gpus", [True, False])
def test_without_a_gpu_everything_stays_on_the_cpu_with_one_line(
    monkeypatch, caplog, built_with_gpus
):
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
    assert message.startswith(
        f"there is no GPU that FAISS {faiss.__version__} can use: searching on the CPU"
    )
    assert ("factoid[gpu]" in message) != built_with_gpus


@pytest.mark.parametrize(
    "device",
    ["", "gpu", "cuda:", "cuda:-1", [], ["cuda", "cuda:0"], ["cpu", "cuda"], "cuda:2", None, 1],
)
def test_devices_that_are_none(cards, device, monkeypatch):
    with pytest.raises(
        InvalidInputError, match=r"expected a device such as|no device cuda:2: FAISS sees 2 GPUs"
    ):
        to_gpu(make("Flat"), device=device)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[gpu\]"):
        gpu.check_device("cuda")
    assert gpu.check_device("cpu") == []


@pytest.mark.parametrize("similarity", ["inner_product", "cosine"])
@pytest.mark.parametrize("kind", [*GPU_KINDS, SLOW])
@ON_BOTH
def test_the_same_is_found_as_on_the_cpu(agree, cards, kind, similarity):
    index = make(kind, similarity)
    there = to_gpu(index)
    assert (there.is_exact, there.lossy, len(there)) == (False, True, len(index))
    for count in (1, 7, 300):
        agree(search(there, queries(count), 10), search(index, queries(count), 10))
    for nprobe in (1, 16):
        agree(
            search(there, queries(50), 10, nprobe=nprobe),
            search(index, queries(50), 10, nprobe=nprobe),
        )
    for share in (0.9, 0.3, 0.001):
        allowed = np.random.default_rng(0).choice(index.ids, int(share * len(index)), replace=False)
        results = search(there, queries(20), 10, allowed)
        assert np.isin(results[1][results[1] >= 0], allowed).all()
        agree(results, search(index, queries(20), 10, allowed))
    assert not cards or cards.searched


@pytest.mark.parametrize("shard", [False, True])
@pytest.mark.parametrize(
    ("device", "used"), [("cuda", [0]), ("cuda:1", [1]), (["cuda", "cuda:1"], [0, 1])]
)
@pytest.mark.parametrize("kind", ["Flat", "IVF32,Flat"])
def test_the_devices_that_are_named_hold_a_copy_or_a_part_each(cards, kind, device, used, shard):
    there = to_gpu(make(kind), device=device, shard=shard)
    for count in (7, 1):
        assert (
            search(there, queries(count), 10)[1].tolist()
            == search(make(kind), queries(count), 10)[1].tolist()
        )
    assert cards.clones == [
        (group, shard, False, True) for group in ([used] if shard else [[each] for each in used])
    ]
    assert sorted(cards.searched) == (
        [(1, 10), (7, 10)] if shard or len(used) == 1 else [(1, 10), (3, 10), (4, 10)]
    )


@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8"])
@pytest.mark.parametrize("k", [1, 512, 513, 2048, 2049, 9999])
@ON_BOTH
def test_any_k_is_found_on_the_cpu_where_a_gpu_cannot_sort_it(agree, cards, kind, k):
    index = make(kind)
    there = to_gpu(index)
    results, expected = (search(each, queries(5), k, nprobe=32) for each in (there, index))
    most = 512 if "SQ8" in kind else 2048
    wanted = min(k, len(index))
    if (
        most < wanted <= 4 * most
    ):  # the best of them are scored again: the card gives as many as it can
        assert (results[1][:, most:] == -1).all()
        results, expected = ([part[:, :most] for part in found] for found in (results, expected))
    agree(results, expected)
    assert (
        there.gpu.search(index.content, queries(1), 1, 2049) is None
    )  # so many lists are neither sorted
    if cards:
        assert bool(cards.searched) == (wanted <= 4 * most)


@pytest.mark.parametrize(
    ("kind", "dim", "most"),
    [
        ("SQ8", 3072, 512),
        ("SQ8", 3080, 256),
        ("SQ4", 4096, 256),
        ("SQ8", 6200, 0),
        ("SQfp16", 6200, 2048),
    ],
)
def test_what_fits_beside_the_tables_of_scalar_quantisers(kind, dim, most):
    assert gpu._most_results(f"IVF4,{kind}", dim) == most
    assert gpu._most_results(kind, dim) == 2048


@ON_BOTH
def test_half_precision_counts_as_lossy(agree):
    index = make("Flat")
    there = to_gpu(index, float16=True)
    assert (there.is_exact, there.lossy, index.is_exact, index.lossy) == (False, True, True, False)
    results, expected = search(there, queries(300), 10), search(index, queries(300), 10)
    np.testing.assert_allclose(results[0], expected[0], rtol=5e-3, atol=5e-3)
    assert not np.array_equal(results[0], expected[0])
    assert recall(results[1], expected[1]) > 0.97
    assert there.vectors(there.ids[:3]).tolist() == index.vectors(index.ids[:3]).tolist()


@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8"])
@ON_BOTH
def test_changes_reach_the_gpu_and_the_file(agree, tmp_path, kind):
    index, ids, _ = make_index(kind, dim=DIM)
    there = to_gpu(index)
    search(there, queries(2), 5)
    there.remove(ids[:100])
    there.add(np.array([99_999]), queries(1) * 3)
    assert len(there) == len(ids) - 99
    results = search(there, queries(1), 5)
    assert results[1][0, 0] == 99_999
    save(tmp_path / "after", {"generation": 1}, {}, there)
    vectors = {
        number: there.vectors(np.array([number]))[0]
        for number in there.ids.tolist()
        if kind == "Flat"
    }
    loaded = load(
        tmp_path / "after",
        vectors=lambda ids: np.stack([vectors[number] for number in ids.tolist()]),
    )
    agree(results, search(loaded.vectors, queries(1), 5))


@pytest.mark.parametrize("kind", ["Flat", "SQ8", "RaBitQ", "IVF32,RaBitQ", "PQ16x4fs"])
@ON_BOTH
def test_a_gpu_that_fails_or_lacks_a_kind_is_left_with_one_line(cards, caplog, kind):
    index = make(kind)
    there = to_gpu(index)
    if kind == "Flat":
        there.gpu._devices = [count_gpus() + 5]
    for _ in range(2):
        assert search(there, queries(3), 5)[1].tolist() == search(index, queries(3), 5)[1].tolist()
    (message,) = caplog.messages
    assert message.startswith("the GPU failed (")
    assert message.endswith("): searching on the CPU for the next 60 seconds")
    assert not cards or len(cards.clones) == 1
    there.gpu._retry_at = 0
    search(there, queries(3), 5)
    assert not cards or len(cards.clones) == 2  # it is tried again


@pytest.mark.parametrize("kind", ["Flat", "IVF32,Flat"])
@ON_BOTH
def test_threads_take_turns_on_a_gpu(agree, kind):
    index = make(kind)
    there = to_gpu(index)
    batches = [queries(3, seed=seed) for seed in range(20)] * 6
    with ThreadPoolExecutor(6) as threads:
        results = list(threads.map(lambda batch: search(there, batch, 5), batches))
    for batch, result in zip(batches, results, strict=True):
        agree(result, search(index, batch, 5))


def test_what_is_appended_reaches_the_copy_in_blocks(cards):
    index, ids, _ = make_index("Flat", dim=DIM)
    there = to_gpu(index, float16=True)
    search(there, queries(2), 5)
    assert (len(cards.clones), sum(cards.added)) == (1, len(ids))
    there.add(np.arange(50_000, 50_700), queries(700) * 3)
    assert 50_000 <= search(there, queries(1), 5)[1][0, 0] < 50_700
    assert (len(cards.clones), sum(cards.added)) == (1, len(ids) + 700)
    there.remove(ids[:1])
    search(there, queries(1), 5)
    assert len(cards.clones) == 2


DRIVER = """#!/bin/sh
case "$1" in
  *memory.free*) printf '0, GPU-aaaa-1, %s\n1, GPU-bbbb-2, %s\n' 100 90000 ;;
  *) printf '16384\n81920\n' ;;
esac
"""


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Stand in for the program of the driver: a card with 100 MiB left, and an empty one."""
    program = tmp_path / "nvidia-smi"
    program.write_text(DRIVER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    gpu.gpu_memory.cache_clear()
    yield
    gpu.gpu_memory.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_the_driver_says_how_much_memory_is_left(driver, monkeypatch):
    assert gpu.gpu_memory() == 16384 << 20
    assert [gpu.free_memory(device) for device in (0, 1, 2)] == [100 << 20, 90_000 << 20, None]
    for visible in ("1,0", "GPU-bbbb-2,GPU-aaaa", "GPU-bbbb, 0"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert [gpu.free_memory(device) for device in (0, 1)] == [90_000 << 20, 100 << 20]
    monkeypatch.setenv("PATH", "")
    assert gpu.free_memory(0) is None


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
@pytest.mark.parametrize("kind", ["Flat", "IVF32,SQ8"])
def test_a_card_that_is_full_is_never_asked_for_memory(cards, driver, caplog, kind):
    index = make(kind)
    full = to_gpu(index, device="cuda:0")
    assert search(full, queries(3), 5)[1].tolist() == search(index, queries(3), 5)[1].tolist()
    assert cards.clones == []
    (message,) = caplog.messages
    assert "cuda:0 has 0.1 GiB of free memory, and the index needs 0.3 GiB" in message
    search(to_gpu(index, device="cuda:1"), queries(3), 5)
    assert len(cards.clones) == 1


def test_vectors_that_no_longer_fit_are_searched_on_the_cpu(cards, monkeypatch, caplog):
    index, ids, _ = make_index("Flat", dim=DIM)
    there = to_gpu(index)
    monkeypatch.setattr(gpu, "free_memory", lambda _: gpu._TEMPORARY + 4 * DIM * len(ids))
    search(there, queries(2), 5)
    monkeypatch.setattr(gpu, "free_memory", lambda _: gpu._TEMPORARY + 100)
    there.add(np.array([99_999]), queries(1) * 3)
    assert search(there, queries(1), 5)[1][0, 0] == 99_999
    assert "free memory" in caplog.text
    assert len(cards.searched) == 1


def test_a_store_scores_what_a_card_finds_again(cards, monkeypatch):
    monkeypatch.setattr(
        "factoid.ranking.columns._FEW_HELD", 0
    )  # few units would be compared one by one
    vectors = queries(3000, seed=9)
    units = [
        Unit(f"u{row}", f"text {row}", Granularity.PASSAGE, f"d{row}", f"d{row}", 0, 1)
        for row in range(3000)
    ]
    answers = {}
    for device in ("cpu", "cuda"):
        with UnitStore(
            encoder=None, granularities=["passage"], index="Flat", device=device
        ) as store:
            store.add(units, vectors=vectors)
            for parents in ("unit", "passage"):
                found = store.search_batch_by_vector(queries(40), 10, parents=parents)
                answers[device, parents] = [
                    [(hit.unit.id, hit.score) for hit in hits] for hits in found
                ]
    assert cards.searched
    for parents in ("unit", "passage"):
        for ours, expected in zip(answers["cuda", parents], answers["cpu", parents], strict=True):
            assert [unit_id for unit_id, _ in ours] == [unit_id for unit_id, _ in expected]
            np.testing.assert_allclose(
                [score for _, score in ours], [score for _, score in expected], rtol=1e-6
            )


def test_indexes_share_the_memory_that_faiss_keeps_on_a_card(cards):
    for kind in ("Flat", "IVF32,Flat", "IVF32,SQ8"):
        search(to_gpu(make(kind), device=["cuda:0", "cuda:1"]), queries(4), 5)
    assert len(cards.resources) == 2


def test_a_child_process_leaves_the_card_to_its_parent(cards, monkeypatch, caplog):
    index = make("Flat")
    there = to_gpu(index)
    search(there, queries(2), 5)
    before = len(cards.searched)
    monkeypatch.setattr("os.getpid", lambda: -1)
    gpu._say_once.cache_clear()
    for _ in range(2):
        assert search(there, queries(3), 5)[1].tolist() == search(index, queries(3), 5)[1].tolist()
    assert len(cards.searched) == before
    assert caplog.messages == [
        "this process was forked, and the GPU belongs to its parent: searching on the CPU"
    ]


@pytest.mark.parametrize(
    ("count", "memory", "kind"),
    [
        (0, 8 << 30, "Flat"),
        (3_000_000, 8 << 30, "Flat"),
        (5_000_000, 8 << 30, "IVF8192,SQ8"),
        (5_000_000, 80 << 30, "Flat"),
    ],
)
def test_the_automatic_choice_on_a_card(count, memory, kind):
    assert gpu.choose_gpu_kind(count, 384, memory) == kind


def test_a_store_on_a_card_chooses_by_its_memory(cards, monkeypatch):
    monkeypatch.setattr("factoid.vectors.kinds._EXACT_COMPONENTS", 0)
    monkeypatch.setattr(
        "factoid.ranking.columns._FEW_HELD", 0
    )  # few units would be compared one by one
    for device, kind in (("cpu", "IVF1,RaBitQfs"), ("cuda", "Flat")):
        with UnitStore(encoder=HashEncoder(), device=device) as store:
            store.add_documents(
                [Document(f"Gate {number} is red. It opens at {number}.") for number in range(300)]
            )
            assert "Gate 7" in store.search("Gate 7", k=1)[0].unit.text
            assert store.opened.indexes.states["proposition"].index.kind == kind
    assert cards.searched
