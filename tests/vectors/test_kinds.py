"""Every kind against brute force, what the kinds say of themselves, and how one is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.vectors import (
    VectorIndex,
    check_factory,
    check_kind,
    choose_kind,
    kinds,
    kinds_to_try,
    usable_kind,
)
from tests.vectors.cases import (
    COUNT,
    DIM,
    KINDS,
    MOST,
    brute_force,
    clustered,
    make_index,
    recall,
    search,
)

faiss = pytest.importorskip("faiss")

# Wholly let through, half, few, fewer than k, one that is not there, none.
SHARES = [None, 1.0, 0.5, 0.05, 0.001, 0.0]


@pytest.mark.parametrize("similarity", ["inner_product", "cosine"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_finds_what_brute_force_finds(kind, similarity):
    index, ids, vectors = make_index(kind, similarity)
    queries = clustered(seed=5)[1][:30] * 3
    rng = np.random.default_rng(2)
    complete = (
        index.ability.family != "other" or not index.ability.lists
    )  # FAISS's own settings search some lists only
    assert len(index) == len(ids)
    assert index.ids.tolist() == sorted(ids.tolist())
    for share in SHARES:
        allowed = None
        if share is not None:
            allowed = rng.choice(3 * len(ids), round(share * 3 * len(ids)), replace=False)
        scores, found = search(index, queries, 10, allowed)
        expected_scores, expected = brute_force(queries, ids, vectors, 10, allowed, similarity)
        assert scores.shape == found.shape == (30, 10)
        held = np.isfinite(scores)
        assert (held == (found >= 0)).all()
        width = expected.shape[1]
        assert not held[:, width:].any()
        # As many as there are, all of them allowed, each once, best first.
        assert held[:, :width].all() or not complete
        assert np.isin(found[held], ids if allowed is None else np.intersect1d(ids, allowed)).all()
        assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in found)
        assert (scores[:, 1:] <= scores[:, :-1]).all()
        if width and (complete or allowed is None):
            assert recall(found, expected) >= KINDS[kind]
        if index.is_exact:
            assert found[:, :width].tolist() == expected.tolist()
            np.testing.assert_allclose(scores[:, :width], expected_scores, rtol=1e-5, atol=1e-5)
    for allowed in (ids, ids[: len(ids) // 2]) if complete else ():
        found = search(index, queries[:3], len(ids) + 7, allowed)[1]
        assert np.sort(found[:, : len(allowed)], axis=1).tolist() == [sorted(allowed.tolist())] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_removed_can_come_back_with_another_vector(kind):
    index, ids, vectors = make_index(kind)
    again, hidden, hides = (
        vectors[:50] * 0.5,
        index.hidden,
        index.ability.family in ("graph", "other"),
    )
    index.remove(np.append(ids[:50], 10**6))
    assert (hidden > 0) == hides
    assert index.hidden == hidden + 50 * hides
    index.add(ids[:50], again)
    assert len(index) == len(ids)
    now = np.concatenate([again, vectors[50:]])
    found = search(index, now[:60] * 2, 10)[1]
    assert recall(found, brute_force(now[:60] * 2, ids, now, 10)[1]) >= KINDS[kind]
    index.remove(ids)
    assert len(index) == len(index.ids) == 0
    assert index.search(vectors[:2], 3)[1].tolist() == [[-1] * 3] * 2


@pytest.mark.parametrize(
    ("kind", "family", "lossy", "held", "trained", "lists", "parameters"),
    [
        ("Flat", "flat", False, True, False, 0, ()), ("RaBitQ", "codes", True, False, True, 0, ()),
        ("SQ8", "codes", True, False, True, 0, ()), ("SQfp16", "codes", True, False, False, 0, ()),
        ("HNSW32", "graph", False, True, False, 0, ("efSearch",)), ("HNSW32,SQ8", "graph", True, False, True, 0, ("efSearch",)),
        ("IVF64,Flat", "lists", False, False, True, 64, ("nprobe",)),
        ("IVF64_HNSW8,SQ8", "lists", True, False, True, 64, ("nprobe",)),
        ("IVF1,RaBitQfs", "lists", True, False, True, 1, ("nprobe",)),
        ("IVF64_HNSW8,RaBitQfs", "lists", True, False, True, 64, ("nprobe",)),
        ("RaBitQfs", "other", True, False, True, 0, ()),
        ("RR8,Flat", "other", True, False, True, 0, ()), ("OPQ8,IVF64,PQ8", "other", True, False, True, 64, ()),
    ],
)  # fmt: skip
def test_kinds_know_what_they_can(kind, family, lossy, held, trained, lists, parameters):
    found = check_kind(kind, DIM)
    assert (found.family, found.lossy, found.holds_vectors, found.lists) == (
        family,
        lossy,
        held,
        lists,
    )
    assert (found.min_training > 0) == (found.max_training > 0) == trained
    assert found.parameters == parameters
    assert VectorIndex(DIM, kind=kind).is_exact == (kind == "Flat")


@pytest.mark.parametrize("kind", ["", "flat", "auto", "IVF16", "Nothing", None])
def test_kinds_and_similarities_that_do_not_exist_are_refused_with_examples(kind, capfd):
    for check in (lambda: VectorIndex(DIM, kind=kind), lambda: check_factory(kind)):
        with pytest.raises(InvalidInputError, match=r'"Flat", "HNSW32", "IVF4096,Flat"'):
            check()
    check_factory("PQ7")
    with pytest.raises(InvalidInputError, match=r"for 16 dimensions.*must divide the dimensions"):
        VectorIndex(DIM, kind="PQ7")
    with pytest.raises(
        InvalidInputError, match="unknown similarity 'l2': expected one of inner_product, cosine"
    ):
        VectorIndex(DIM, similarity="l2")
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


@pytest.mark.parametrize(
    ("count", "dim", "kind"),
    [
        (0, 384, "Flat"), (104_000, 384, "Flat"), (105_000, 384, "IVF1,RaBitQfs"), (26_000, 1536, "Flat"),
        (27_000, 1536, "IVF1,RaBitQfs"), (10_000_000, 384, "IVF1,RaBitQfs"), (10_000_001, 384, "IVF16384,RaBitQfs"),
        (257_000_000, 384, "IVF65536_HNSW32,RaBitQfs"),
    ],
)  # fmt: skip
def test_the_automatic_choice(count, dim, kind):
    assert choose_kind(count, dim) == usable_kind("auto", dim, count) == kind


def test_a_kind_waits_as_flat_until_it_can_be_trained():
    assert usable_kind("IVF32,Flat", DIM, 1247) == "Flat"
    assert usable_kind("IVF32,Flat", DIM, 1248) == "IVF32,Flat"
    assert usable_kind("HNSW16", DIM, 0) == "HNSW16"
    assert kinds_to_try(999) == ["Flat", "SQ8", "IVF1,RaBitQfs", "HNSW32"]
    assert kinds_to_try(MOST)[4:] == ["IVF256,Flat", "IVF256,SQ8", "IVF256,RaBitQfs"]
    assert all(check_kind(kind, DIM).min_training <= MOST for kind in kinds_to_try(MOST))


@pytest.mark.parametrize("kind", ["IVF32,Flat", "IVF32_HNSW8,Flat", "HNSW16"])
def test_wider_searches_find_more_and_the_index_is_left_as_it_is(kind):
    index, ids, vectors = make_index(kind)
    queries = clustered(seed=5)[1][:200]
    expected = brute_force(queries, ids, vectors, 10)[1]
    before = search(index, queries, 10)[1]
    few, many = (
        recall(search(index, queries, 10, nprobe=width, efSearch=width)[1], expected)
        for width in (1, 500)
    )
    assert few < many > 0.97
    assert search(index, queries, 10, nonsense=1)[1].tolist() == before.tolist()


LISTS, GRAPH = "IVF1024,Flat", "HNSW16"


@pytest.mark.parametrize(
    ("kind", "given", "share", "k", "count", "width"),
    [
        ("IVF32,Flat", {}, 1, 10, 999, 16), (LISTS, {}, 1, 10, 10**6, 64), (LISTS, {}, 0.1, 10, 10**6, 640),
        (LISTS, {}, 0.001, 10, 10**6, 1024), (LISTS, {"nprobe": 7, "efSearch": 9}, 0.1, 10, 10**6, 7),
        (LISTS, {"nprobe": 5000}, 0.1, 10, 10**6, 1024), (GRAPH, {}, 1, 10, 10**6, 64), (GRAPH, {}, 0.25, 100, 10**6, 400),
        (GRAPH, {"efSearch": 20}, 0.25, 100, 10**6, 100), (GRAPH, {"efSearch": 20}, 0.25, 100, 50, 50),
        ("SQ8", {"nprobe": 7}, 1, 10, COUNT, 0),
    ],
)  # fmt: skip
def test_defaults_grow_with_the_lists_and_with_what_a_filter_keeps_out(
    kind, given, share, k, count, width
):
    assert kinds.search_width(check_kind(kind, DIM), given, share=share, k=k, count=count) == width
