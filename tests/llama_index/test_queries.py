"""Several granularities, and the options of one query."""

from __future__ import annotations

import numpy as np
import pytest

from llama_index_factoid import MultiGranularFaissVectorStore
from llama_index_factoid.convert import scored_nodes
from tests.llama_index.nodes import DIM, KINDS, ask, corpus, node, where


@pytest.mark.parametrize("mode", ["default", "mmr"])
@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("granularity", [*KINDS, "mixed"])
def test_plain_nodes_are_found_once_and_as_themselves(granularity, parents, mode):
    random = np.random.default_rng(1)
    store = MultiGranularFaissVectorStore()
    plain = [node(f"n{i}", random.normal(size=DIM), document=f"d{i % 3}") for i in range(12)]
    store.add([*plain, *corpus(documents=1, passages=2)])
    count = len(store.query(ask(np.ones(DIM), 999), granularity=granularity, parents=parents).ids)
    for vector in random.normal(size=(3, DIM)):
        for k in (1, 5, 12, 50):
            result = store.query(ask(vector, k, mode=mode), granularity=granularity, parents=parents)
            assert len(set(result.ids)) == len(result.ids) == min(k, count)
            hits = store.search(ask(vector, k, mode=mode), granularity=granularity, parents=parents)
            assert [hit.unit.id for hit in hits] == result.ids
            for hit in hits:
                matches = [match.unit.id for match in hit.matches]
                assert not hit.unit.id.startswith("n") or matches in ([hit.unit.id], [])
    assert {entry.node_id for entry in plain} <= set(result.ids)


def test_a_plain_node_that_becomes_a_passage_is_no_longer_found_as_a_fact():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0], text="old"), node("b", [0, 1])])
    store.add([node("a", [1, 0], text="new", granularity="passage")])
    assert store.query(ask([1, 0], 9)).ids == ["b"]
    assert len(store.client) == 1 + 3


def test_neighbours_of_plain_chunks_are_chunks():
    store = MultiGranularFaissVectorStore()
    chunks = [node(f"c{i}", np.eye(DIM)[0] * i) for i in range(5)]
    for i, chunk in enumerate(chunks):
        chunk.start_char_idx, chunk.end_char_idx = 10 * i, 10 * i + 10
    store.add(chunks)
    for kind in KINDS:
        [result] = scored_nodes(store.search(ask(np.eye(DIM)[0], 1), granularity=kind, expand=1))
        assert [entry["id"] for entry in result.node.metadata["neighbours"]] == ["c3", "c4"]
        assert all(entry["granularity"] == "passage" for entry in result.node.metadata["neighbours"])
        without = scored_nodes(store.search(ask(np.eye(DIM)[1], 5), granularity=kind))
        assert ["neighbours" in result.node.metadata for result in without] == [False] * 5


def test_neighbours_of_a_sentence_in_a_document_with_plain_chunks_are_nodes():
    store = MultiGranularFaissVectorStore()
    chunk, sentence = node("c", np.eye(DIM)[0]), node("s", np.eye(DIM)[1], granularity="sentence")
    for place, entry in enumerate((chunk, sentence)):
        entry.start_char_idx, entry.end_char_idx = 10 * place, 10 * place + 10
    store.add([chunk, sentence])
    for parents in ("passage", "unit"):
        [hit] = store.search(ask(np.eye(DIM)[1], 1), granularity="sentence", parents=parents, expand=1)
        assert [unit.id for unit in hit.neighbours] == ["c", "s"]


def test_mmr_chooses_from_more_than_k(store):
    query = ask(np.ones(DIM), 6, mode="mmr", mmr_threshold=0.3)
    for options, fetch_k in (({}, 24), ({"mmr_prefetch_k": 7}, 7)):
        search = store.search_options(query, options)
        assert (search["fetch_k"], search["mmr"], search["k"]) == (fetch_k, 0.3, 6)
    assert store.search_options(ask(np.ones(DIM), 6), {"mmr": 0.3})["mmr"] == 0.3


def test_node_ids_admit_nodes_and_what_is_under_them(store, nodes):
    vector = np.ones(DIM)
    result = store.query(ask(vector, 20, node_ids=["d0p1", "d2p2p0", "none"]))
    assert set(result.ids) == {"d0p1", "d2p2"}
    hits = store.search(ask(vector, 20, node_ids=["d0p1", "d2p2p0", "none"]))
    matched = {hit.unit.id: hit.matches for hit in hits}
    assert [match.unit.id for match in matched["d2p2"]] == ["d2p2p0"]
    assert len(matched["d0p1"]) == 3
    assert store.query(ask(vector, 20, node_ids=["d0p1s1"]), granularity="sentence", parents="unit").ids == ["d0p1s1"]


def test_a_user_who_may_read_no_document_finds_none(store):
    assert store.query(ask(np.ones(DIM), 99, doc_ids=[])).ids == []
    assert store.query(ask(np.ones(DIM), 99), doc_ids=[]).ids == []
    assert store.query(ask(np.ones(DIM), 99), node_ids=[]).ids == []
    assert store.query(ask(np.ones(DIM), 99, filters=where("year", [], "in"))).ids == []
    assert store.get_nodes([]) == []
    store.delete_nodes([])
    assert len(store.get_nodes()) == len(store.get_nodes(filters=None)) > 0


def test_nodes_without_source_are_their_own_document():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0], document=None), node("b", [1, 0], document=None)])
    assert store.query(ask([1, 0], 5, doc_ids=["b"])).ids == ["b"]
    store.delete("a")
    assert [entry.node_id for entry in store.get_nodes()] == ["b"]
