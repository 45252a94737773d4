"""Every kind against brute force, and what the kinds say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.index import VectorIndex, check_kind, choose_kind, usable_kind
from tests.index.cases import DIM, EACH_KIND, KINDS, brute_force, clustered, recall

faiss = pytest.importorskip("faiss")

# Wholly let through, half, few, fewer than k, one that is not there, none.
SHARES = [None, 1.0, 0.5, 0.05, 0.001, 0.0]


@pytest.mark.parametrize(("similarity", "shards"), [("inner_product", 1), ("cosine", 3)])
@pytest.mark.parametrize("kind", EACH_KIND)
def test_every_kind_finds_what_brute_force_finds(make_index, kind, similarity, shards):
    index, ids, vectors = make_index(kind, similarity, shards)
    queries = clustered(seed=5)[1][:30] * 3
    rng = np.random.default_rng(2)
    assert len(index) == len(ids)
    assert index.ids.tolist() == sorted(ids.tolist())
    for share in SHARES:
        allowed = (
            None if share is None else np.sort(rng.choice(3 * len(ids), round(share * 3 * len(ids)), replace=False))
        )
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
        got = recall(found, expected) if width else 1
        assert got >= KINDS[kind]
        if check_kind(kind, DIM).exact:
            assert found[:, :width].tolist() == expected.tolist()
            np.testing.assert_allclose(scores[:, :width], expected_scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", EACH_KIND)
def test_every_kind_gives_all_it_holds(make_index, kind):
    index, ids, vectors = make_index(kind)
    found = index.search(vectors[:3], len(ids) + 7)[1]
    assert np.sort(found[:, : len(ids)], axis=1).tolist() == [sorted(ids.tolist())] * 3
    assert (found[:, len(ids) :] == -1).all()
    half = np.sort(ids[: len(ids) // 2])
    found = index.search(vectors[:3], len(ids), allowed=half)[1]
    assert np.sort(found[:, : len(half)], axis=1).tolist() == [half.tolist()] * 3


@pytest.mark.parametrize("kind", EACH_KIND)
def test_what_is_removed_can_come_back_with_another_vector(make_index, kind):
    index, ids, vectors = make_index(kind)
    again = vectors[:50] * 0.5
    hidden = index.hidden
    index.remove(ids[:50])
    assert (hidden > 0) == (not index.ability.removable)
    assert index.hidden == hidden + (0 if index.ability.removable else 50)
    index.add(ids[:50], again)
    assert len(index) == len(ids)
    now = np.concatenate([again, vectors[50:]])
    assert recall(index.search(now[:60] * 2, 10)[1], brute_force(now[:60] * 2, ids, now, 10)[1]) >= KINDS[kind]
    index.remove(ids)
    assert len(index) == len(index.ids) == 0
    assert index.search(vectors[:2], 3)[1].tolist() == [[-1] * 3] * 2


@pytest.mark.parametrize(
    ("kind", "family", "exact", "lossy", "trained", "removable", "filterable", "parameters", "code_bytes"),
    [
        ("Flat", "flat", True, False, False, True, True, (), 64),
        ("SQ8", "codes", False, True, True, True, True, (), 16),
        ("SQfp16", "codes", False, True, False, True, True, (), 32),
        ("PQ8x4fs", "codes", False, True, True, True, False, (), 4),
        ("OPQ8,PQ8", "codes", False, True, True, True, False, (), 8),
        ("RaBitQ", "codes", False, True, True, True, True, ("qb",), 10),
        ("HNSW32", "graph", False, False, False, False, True, ("efSearch",), 64),
        ("HNSW32,SQ8", "graph", False, True, True, False, True, ("efSearch",), 16),
        ("IVF64,Flat", "lists", False, False, True, True, True, ("nprobe",), 64),
        ("IVF64_HNSW8,SQ8", "lists", False, True, True, True, True, ("nprobe", "quantizer_efSearch"), 16),
        ("IVF64,RaBitQ", "lists", False, True, True, True, True, ("nprobe", "qb"), 10),
        ("RR8,Flat", "flat", False, True, True, True, True, (), 32),
    ],
)
def test_kinds_know_what_they_can(kind, family, exact, lossy, trained, removable, filterable, parameters, code_bytes):
    found = check_kind(kind, DIM)
    assert (found.family, found.exact, found.lossy, found.trained) == (family, exact, lossy, trained)
    assert (found.removable, found.filterable) == (removable, filterable)
    assert (found.parameters, found.code_bytes) == (parameters, code_bytes)
    assert (found.min_training > 0) == (found.max_training > 0) == trained


@pytest.mark.parametrize(
    "kind",
    [
        "", "flat", "auto", "IVF16", "PQ7", "Flat,RFlat", "IDMap,Flat", "L2norm,Flat", "PCA8,Flat", "NSG16", "HNSW16,PQ8x4",
        "RQ4x4", "IVF16,FlatDedup", "IVF16,RQ4x4", "Nothing", "Flat\0", "ITQ8,LSH",
    ],
)  # fmt: skip
def test_kinds_that_do_not_exist_or_would_rank_otherwise_are_refused_with_examples(kind, capfd):
    with pytest.raises(InvalidInputError, match=r'"Flat", "HNSW32", "IVF4096,Flat"'):
        VectorIndex(DIM, kind=kind)
    assert capfd.readouterr().err == ""


def test_a_faiss_without_rabitq_says_so(monkeypatch):
    monkeypatch.delattr(faiss, "IndexRaBitQ", raising=False)
    monkeypatch.setattr(faiss, "index_factory", lambda *_: (_ for _ in ()).throw(RuntimeError("could not parse")))
    with pytest.raises(InvalidInputError, match=r"RaBitQ came with FAISS 1\.11.*pip install -U faiss-cpu"):
        check_kind("RaBitQ", 99)


def test_training_needs_enough_vectors_takes_a_sample_and_is_quiet(capfd):
    ids, vectors = clustered()
    assert check_kind("IVF32,Flat", DIM).min_training == 39 * 32
    assert check_kind("Flat", DIM).min_training == check_kind("HNSW16", DIM).min_training == 0
    index = VectorIndex(DIM, kind="IVF32,Flat")
    assert not index.trained
    with pytest.raises(InvalidInputError, match="needs 1248 vectors to be trained, got 1247"):
        index.train(vectors[:1247])
    with pytest.raises(InvalidInputError, match="must be trained before"):
        index.add(ids, vectors)
    index.train(vectors[:1248])
    assert index.trained
    index.train(vectors[:1])  # again: nothing to do
    big = np.tile(vectors, (20, 1))
    assert len(big) > check_kind("PQ4x4", DIM).max_training == 65_536
    VectorIndex(DIM, kind="PQ4x4").train(big)
    assert capfd.readouterr() == ("", "")


GB = 1 << 30


@pytest.mark.parametrize(
    ("count", "dim", "memory", "kind"),
    [
        (0, 384, 0, "Flat"),
        (52_000, 384, 0, "Flat"),
        (520_000, 384, 2 * GB, "Flat"),
        (521_000, 384, 2 * GB, "HNSW32"),
        (520_000, 384, GB, "IVF2048,SQ8"),
        (1_000_000, 384, 4 * GB, "HNSW32"),
        (1_000_000, 384, GB, "IVF4096,SQ8"),
        (1_000_000, 384, GB // 4, "IVF4096,RaBitQ"),
        (257_000_000, 384, 64 * GB, "IVF65536_HNSW32,RaBitQ"),
    ],
)
def test_the_automatic_choice(count, dim, memory, kind):
    assert choose_kind(count, dim, memory) == kind
    assert check_kind(kind, dim).min_training <= count


def test_the_automatic_choice_without_rabitq_and_with_odd_dimensions(monkeypatch):
    monkeypatch.delattr(faiss, "IndexIVFRaBitQ", raising=False)
    for dim in (384, 100, 1023, 1, 7, 10):
        kind = choose_kind(100_000_000, dim, 0)
        assert "fs" in kind
        check_kind(kind, dim)


def test_a_kind_waits_as_flat_until_it_can_be_trained():
    assert usable_kind("IVF32,Flat", DIM, 1247, GB) == "Flat"
    assert usable_kind("IVF32,Flat", DIM, 1248, GB) == "IVF32,Flat"
    assert usable_kind("HNSW16", DIM, 0, GB) == "HNSW16"
    assert usable_kind("auto", DIM, 10, GB) == "Flat"
