"""Every kind against brute force, what the kinds say of themselves, and what single searches are told."""

from __future__ import annotations

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.index import VectorIndex, check_kind, choose_kind, usable_kind
from factoid.index.kinds import widths
from tests.index.cases import DIM, EACH_KIND, KINDS, brute_force, clustered, make_index, recall

faiss = pytest.importorskip("faiss")

# Wholly let through, half, few, fewer than k, one that is not there, none.
SHARES = [None, 1.0, 0.5, 0.05, 0.001, 0.0]


@pytest.mark.parametrize(("similarity", "shards"), [("inner_product", 1), ("cosine", 3)])
@pytest.mark.parametrize("kind", EACH_KIND)
def test_every_kind_finds_what_brute_force_finds(kind, similarity, shards):
    index, ids, vectors = make_index(kind, similarity, shards)
    queries = index.prepare(clustered(seed=5)[1][:30] * 3)
    rng = np.random.default_rng(2)
    assert len(index) == len(ids)
    assert index.ids.tolist() == sorted(ids.tolist())
    for share in SHARES:
        allowed = None
        if share is not None:
            allowed = np.sort(rng.choice(3 * len(ids), round(share * 3 * len(ids)), replace=False))
        scores, found = index.search(queries, 10, allowed=allowed)
        expected_scores, expected = brute_force(queries, ids, vectors, 10, allowed, similarity)
        width = expected.shape[1]
        assert scores.shape == found.shape == (30, 10)
        assert (found[:, width:] == -1).all()
        assert (scores[:, width:] == -np.inf).all()
        # As many as there are, all of them allowed, each once, best first.
        assert np.isin(found[:, :width], ids if allowed is None else np.intersect1d(ids, allowed)).all()
        assert all(len(set(row)) == width for row in found[:, :width].tolist())
        assert (np.diff(scores[:, :width], axis=1) <= 0).all()
        assert not width or recall(found, expected) >= KINDS[kind]
        if check_kind(kind, DIM).exact:
            assert found[:, :width].tolist() == expected.tolist()
            np.testing.assert_allclose(scores[:, :width], expected_scores, rtol=1e-5, atol=1e-5)
    found = index.search(queries[:3], len(ids) + 7)[1]
    assert np.sort(found[:, : len(ids)], axis=1).tolist() == [sorted(ids.tolist())] * 3
    half = np.sort(ids[: len(ids) // 2])
    found = index.search(queries[:3], len(ids), allowed=half)[1]
    assert np.sort(found[:, : len(half)], axis=1).tolist() == [half.tolist()] * 3


@pytest.mark.parametrize("kind", EACH_KIND)
def test_what_is_removed_can_come_back_with_another_vector(kind):
    index, ids, vectors = make_index(kind)
    again, hidden, hides = vectors[:50] * 0.5, index.hidden, index.ability.family == "graph"
    index.remove(ids[:50])
    assert (hidden > 0) == hides
    assert index.hidden == hidden + 50 * hides
    index.add(ids[:50], again)
    assert len(index) == len(ids)
    now = np.concatenate([again, vectors[50:]])
    assert recall(index.search(now[:60] * 2, 10)[1], brute_force(now[:60] * 2, ids, now, 10)[1]) >= KINDS[kind]
    index.remove(ids)
    assert len(index) == len(index.ids) == 0
    assert index.search(vectors[:2], 3)[1].tolist() == [[-1] * 3] * 2


@pytest.mark.parametrize(
    ("kind", "family", "exact", "lossy", "trained", "filterable", "parameters"),
    [
        ("Flat", "flat", True, False, False, True, ()),
        ("SQ8", "codes", False, True, True, True, ()),
        ("SQfp16", "codes", False, True, False, True, ()),
        ("PQ8x4fs", "codes", False, True, True, False, ()),
        ("OPQ8,PQ8", "codes", False, True, True, False, ()),
        ("RaBitQ", "codes", False, True, True, True, ("qb",)),
        ("HNSW32", "graph", False, False, False, True, ("efSearch",)),
        ("HNSW32,SQ8", "graph", False, True, True, True, ("efSearch",)),
        ("IVF64,Flat", "lists", False, False, True, True, ("nprobe",)),
        ("IVF64_HNSW8,SQ8", "lists", False, True, True, True, ("nprobe", "quantizer_efSearch")),
        ("IVF64,RaBitQ", "lists", False, True, True, True, ("nprobe", "qb")),
        ("RR8,Flat", "flat", False, True, True, True, ()),
    ],
)
def test_kinds_know_what_they_can(kind, family, exact, lossy, trained, filterable, parameters):
    found = check_kind(kind, DIM)
    assert (found.family, found.exact, found.lossy) == (family, exact, lossy)
    assert (found.filterable, found.parameters) == (filterable, parameters)
    assert (found.min_training > 0) == (found.max_training > 0) == trained


@pytest.mark.parametrize(
    "kind",
    [
        "", "flat", "auto", "IVF16", "PQ7", "Flat,RFlat", "IDMap,Flat", "L2norm,Flat", "PCA8,Flat", "NSG16", "HNSW16,PQ8x4",
        "RQ4x4", "IVF16,FlatDedup", "IVF16,RQ4x4", "Nothing", "ITQ8,LSH",
    ],
)  # fmt: skip
def test_kinds_that_do_not_exist_or_would_rank_otherwise_are_refused_with_examples(kind, capfd):
    with pytest.raises(InvalidInputError, match=r'"Flat", "HNSW32", "IVF4096,Flat"'):
        VectorIndex(DIM, kind=kind)
    assert capfd.readouterr().err == ""


def test_training_needs_enough_vectors_takes_a_sample_and_is_quiet(capfd):
    vectors = clustered()[1]
    index = VectorIndex(DIM, kind="IVF32,Flat")
    assert not index.trained
    with pytest.raises(InvalidInputError, match=f"needs {39 * 32} vectors to be trained, got 1247"):
        index.train(vectors[:1247])
    index.train(vectors[:1248])
    assert index.trained
    index.train(vectors[:1])  # again: nothing to do
    big = np.tile(vectors, (20, 1))
    assert len(big) > check_kind("PQ4x4", DIM).max_training == 65_536
    VectorIndex(DIM, kind="PQ4x4").train(big)
    assert capfd.readouterr() == ("", "")


GB = 1 << 30


@pytest.mark.parametrize(
    ("count", "memory", "kind"),
    [
        (0, 0, "Flat"),
        (52_000, 0, "Flat"),
        (520_000, 2 * GB, "Flat"),
        (521_000, 2 * GB, "HNSW32"),
        (520_000, GB, "IVF2048,SQ8"),
        (1_000_000, 4 * GB, "HNSW32"),
        (1_000_000, GB, "IVF4096,SQ8"),
        (1_000_000, GB // 4, "IVF4096,RaBitQ"),
        (257_000_000, 64 * GB, "IVF65536_HNSW32,RaBitQ"),
    ],
)
def test_the_automatic_choice(count, memory, kind):
    assert choose_kind(count, 384, memory) == kind
    assert check_kind(kind, 384).min_training <= count


def test_a_kind_waits_as_flat_until_it_can_be_trained():
    assert usable_kind("IVF32,Flat", DIM, 1247, GB) == "Flat"
    assert usable_kind("IVF32,Flat", DIM, 1248, GB) == "IVF32,Flat"
    assert usable_kind("HNSW16", DIM, 0, GB) == "HNSW16"
    assert usable_kind("auto", DIM, 10, GB) == "Flat"


@pytest.mark.parametrize(
    ("kind", "narrow", "wide"),
    [
        ("IVF32_HNSW8,Flat", {"nprobe": 1, "quantizer_efSearch": 1}, {"nprobe": 32, "quantizer_efSearch": 64}),
        ("RR,IVF32,Flat", {"nprobe": 1}, {"nprobe": 32}),
        ("RR,HNSW32", {"efSearch": 1}, {"efSearch": 500}),
        ("IVF32,RaBitQ", {"nprobe": 32, "qb": 1}, {"nprobe": 32, "qb": 8}),
        ("RaBitQ", {"qb": 1}, {"qb": 8}),
    ],
)
@pytest.mark.parametrize("shards", [1, 2])
def test_wider_searches_find_more_and_the_index_is_left_as_it_is(kind, narrow, wide, shards):
    index, ids, vectors = make_index(kind, shards=shards)
    queries = clustered(seed=5)[1][:200]
    expected = brute_force(queries, ids, vectors, 10)[1]
    before = index.search(queries, 10)[1]
    few, many = (recall(index.search(queries, 10, parameters=each)[1], expected) for each in (narrow, wide))
    assert few < many
    assert many > 0.97 or "RaBitQ" in kind
    assert index.search(queries, 10)[1].tolist() == before.tolist()


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("Flat", {"nprobe": 1}, "the index 'Flat' has no search parameter 'nprobe': it has none"),
        ("IVF32,RaBitQ", {"efsearch": 1}, "no search parameter 'efsearch': it has 'nprobe', 'qb'"),
        ("IVF32,SQ8", {"nprobe": 0}, "nprobe must be a whole number of 1 or more, got 0"),
        ("IVF32,SQ8", {"nprobe": 1.5}, "got 1.5"),
        ("IVF32,SQ8", {"nprobe": True}, "got True"),
        ("RaBitQ", {"qb": 9}, "qb must be a whole number from 0 to 8, got 9"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(kind, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        VectorIndex(DIM, kind=kind).search(np.zeros((1, DIM), np.float32), 1, parameters=parameters)


@pytest.mark.parametrize(
    ("kind", "parameters", "share", "k", "count", "expected"),
    [
        ("IVF32,Flat", {}, 1, 10, 999, {"nprobe": 16}),
        ("IVF1024,Flat", {}, 1, 10, 10**6, {"nprobe": 64}),
        ("IVF1024,Flat", {}, 0.1, 10, 10**6, {"nprobe": 640}),
        ("IVF1024,Flat", {}, 0.001, 10, 10**6, {"nprobe": 1024}),
        ("IVF1024,Flat", {"nprobe": 5000}, 0.1, 10, 10**6, {"nprobe": 1024}),
        ("HNSW16", {}, 1, 10, 10**6, {"efSearch": 64}),
        ("HNSW16", {}, 0.25, 100, 10**6, {"efSearch": 400}),
        ("HNSW16", {"efSearch": 20}, 0.25, 100, 50, {"efSearch": 50}),
        ("RaBitQ", {}, 1, 10, 99, {"qb": 8}),
        ("RaBitQ", {"qb": 0}, 1, 10, 99, {"qb": 0}),
    ],
)
def test_defaults_grow_with_the_lists_and_with_what_a_filter_keeps_out(kind, parameters, share, k, count, expected):
    assert widths(check_kind(kind, DIM), parameters, share=share, k=k, count=count) == expected
