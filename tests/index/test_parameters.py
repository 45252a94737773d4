"""What single searches are told: its effect, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.index import VectorIndex
from factoid.index.kinds import check_kind, widths
from tests.index.cases import DIM, brute_force, clustered, recall

pytest.importorskip("faiss")


@pytest.mark.parametrize(
    ("kind", "narrow", "wide"),
    [
        ("IVF32,Flat", {"nprobe": 1}, {"nprobe": 32}),
        ("IVF32_HNSW8,Flat", {"nprobe": 1, "quantizer_efSearch": 1}, {"nprobe": 32, "quantizer_efSearch": 64}),
        ("HNSW32", {"efSearch": 1}, {"efSearch": 500}),
        ("RR,IVF32,Flat", {"nprobe": 1}, {"nprobe": 32}),
        ("RR,HNSW32", {"efSearch": 1}, {"efSearch": 500}),
        ("IVF32,RaBitQ", {"nprobe": 32, "qb": 1}, {"nprobe": 32, "qb": 8}),
        ("RaBitQ", {"qb": 1}, {"qb": 8}),
    ],
)
@pytest.mark.parametrize("shards", [1, 2])
def test_wider_searches_find_more_and_the_index_is_left_as_it_is(make_index, kind, narrow, wide, shards):
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
        ("PQ8x4fs", {"efSearch": 1}, "has no search parameter 'efSearch': it has none"),
        ("HNSW8", {"nprobe": 1}, "no search parameter 'nprobe': it has 'efSearch'"),
        ("IVF32,RaBitQ", {"efsearch": 1}, "no search parameter 'efsearch': it has 'nprobe', 'qb'"),
        ("IVF32,SQ8", {"nprobe": 0}, "nprobe must be a whole number of 1 or more, got 0"),
        ("IVF32,SQ8", {"nprobe": 1.5}, "got 1.5"),
        ("IVF32,SQ8", {"nprobe": True}, "got True"),
        ("IVF32,SQ8", {"nprobe": "8"}, "got '8'"),
        ("RaBitQ", {"qb": 9}, "qb must be a whole number from 0 to 8, got 9"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(kind, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        VectorIndex(DIM, kind=kind).search(np.zeros((1, DIM), np.float32), 1, parameters=parameters)


def test_defaults_grow_with_the_lists_and_with_what_a_filter_keeps_out():
    lists, graph = check_kind("IVF1024,Flat", DIM), check_kind("HNSW16", DIM)
    assert widths(check_kind("IVF32,Flat", DIM), {}, share=1, k=10, count=999) == {"nprobe": 16}
    assert widths(lists, {}, share=1, k=10, count=10**6) == {"nprobe": 64}
    assert widths(lists, {}, share=0.1, k=10, count=10**6) == {"nprobe": 640}
    assert widths(lists, {}, share=0.001, k=10, count=10**6) == {"nprobe": 1024}
    assert widths(lists, {"nprobe": 5000}, share=0.1, k=10, count=10**6) == {"nprobe": 1024}
    assert widths(graph, {}, share=1, k=10, count=10**6) == {"efSearch": 64}
    assert widths(graph, {}, share=0.25, k=100, count=10**6) == {"efSearch": 400}
    assert widths(graph, {"efSearch": 20}, share=0.25, k=100, count=50) == {"efSearch": 50}


@pytest.mark.parametrize("kind", ["RaBitQ"])
@pytest.mark.parametrize(("parameters", "qb"), [({}, 8), ({"qb": 0}, 0)])
def test_queries_are_quantised_unless_asked_otherwise(kind, parameters, qb):
    assert widths(check_kind(kind, DIM), parameters, share=1, k=10, count=99) == {"qb": qb}
