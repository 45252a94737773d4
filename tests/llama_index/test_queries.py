"""Several granularities, and the options of one query."""

from __future__ import annotations

import numpy as np
import pytest
from llama_index.core.schema import TextNode

from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, KINDS, ask, corpus, node


def vectors(count, seed=11):
    return np.random.default_rng(seed).normal(size=(count, DIM))


@pytest.mark.parametrize("mode", ["default", "mmr"])
@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("granularity", [*KINDS, "mixed"])
def test_plain_nodes_are_found_once_and_as_themselves(granularity, parents, mode):
    random = np.random.default_rng(1)
    store = MultiGranularFaissVectorStore()
    plain = [node(f"n{i}", random.normal(size=DIM), document=f"d{i % 3}") for i in range(12)]
    store.add([*plain, *corpus(documents=1, passages=2)])
    for vector in vectors(3):
        for k in (1, 5, 12, 50):
            result = store.query(ask(vector, k, mode=mode), granularity=granularity, parents=parents)
            assert len(set(result.ids)) == len(result.ids)
            assert len(result.ids) == min(k, len(result_of_all(store, vector, granularity, parents)))
            for found, matches in zip(result.nodes, result.matches, strict=True):
                assert type(found) is TextNode
                if found.node_id.startswith("n"):
                    assert [match["id"] for match in matches] in ([found.node_id], [])
    assert {f"n{i}" for i in range(12)} <= set(result.ids)
    assert len(store.get_nodes()) == 12 + 14


def result_of_all(store, vector, granularity, parents):
    return store.query(ask(vector, 999), granularity=granularity, parents=parents).ids


def test_a_plain_node_that_becomes_a_passage_is_no_longer_found_as_a_fact():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0]), node("b", [0, 1])])
    store.add([node("a", [1, 0], granularity="passage")])
    assert store.query(ask([1, 0], 9)).ids == ["b"]
    assert store.query(ask([1, 0], 9), granularity="passage").ids == ["a", "b"]
    store.add([node("a", [1, 0])])
    assert store.query(ask([1, 0], 9)).ids == ["a", "b"]
    assert len(store.client) == 2 * 3


def test_neighbours_of_plain_chunks_are_chunks():
    store = MultiGranularFaissVectorStore()
    chunks = [node(f"c{i}", np.eye(DIM)[0] * i) for i in range(5)]
    for i, chunk in enumerate(chunks):
        chunk.start_char_idx, chunk.end_char_idx = 10 * i, 10 * i + 10
    store.add(chunks)
    for kind in KINDS:
        result = store.query(ask(np.eye(DIM)[0], 1), granularity=kind, expand=1)
        assert [entry["id"] for entry in result.neighbours[0]] == ["c3", "c4"]
        assert all(entry["granularity"] == "passage" for entry in result.neighbours[0])
        assert store.query(ask(np.eye(DIM)[1], 5), granularity=kind).neighbours == [[]] * 5


def test_mmr_chooses_from_a_number_or_a_multiple_of_k(store):
    query = ask(np.ones(DIM), 6, mode="mmr", mmr_threshold=0.3)
    for options, fetch_k in (({}, 24), ({"mmr_prefetch_factor": 3}, 18), ({"mmr_prefetch_k": 7}, 7)):
        search = store.search_options(query, options)
        assert (search["fetch_k"], search["mmr"], search["k"]) == (fetch_k, 0.3, 6)
