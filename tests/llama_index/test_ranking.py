from __future__ import annotations

import numpy as np

from factoid import Weights
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, KINDS, ask, corpus, node, oracle, where

UNITS_ALONE = Weights(0, 0)


def test_the_stores_own_defaults():
    store = MultiGranularFaissVectorStore(granularity="sentence", parents="unit")
    store.add(corpus())
    assert all(node_id[4] == "s" for node_id in store.query(ask(np.ones(DIM), 5)).ids)


# Restrictions


def test_filters_apply_before_the_search(store, nodes):
    """A filter that one document passes, far from the query, still gives all that there is."""
    vector = -np.array(nodes[-1].embedding)
    store.add([node("rare", [0.001] * DIM, granularity="passage", rare=1)])
    store.add([node("rare-f", vector * -1, granularity="proposition", parent="rare", rare=1)])
    result = store.query(ask(vector, 5, filters=where("rare", 1)))
    assert result.ids == ["rare"]
    for kind in KINDS:
        expected = oracle(nodes, vector, kind, "passage", lambda entry: entry.metadata["year"] == 1993)
        result = store.query(ask(vector, 10, filters=where("year", 1993)), granularity=kind, weights=UNITS_ALONE)
        assert result.ids == [node_id for node_id, _ in expected]
        assert len(result.ids) == 4


def test_node_ids_admit_nodes_and_what_is_under_them(store, nodes):
    vector = np.ones(DIM)
    result = store.query(ask(vector, 20, node_ids=["d0p1", "d2p2p0", "none"]))
    assert set(result.ids) == {"d0p1", "d2p2"}
    matched = dict(zip(result.ids, result.matches, strict=True))
    assert [match["id"] for match in matched["d2p2"]] == ["d2p2p0"]
    assert len(matched["d0p1"]) == 3
    assert store.query(ask(vector, 20, node_ids=["d0p1s1"]), granularity="sentence", parents="unit").ids == ["d0p1s1"]


def test_a_user_who_may_read_no_document_finds_none(store):
    for kind in KINDS:
        for parents in ("passage", "unit"):
            options = {"granularity": kind, "parents": parents}
            assert store.query(ask(np.ones(DIM), 99, doc_ids=[]), **options).ids == []
            assert store.query(ask(np.ones(DIM), 99), **options, doc_ids=[]).ids == []
            assert store.query(ask(np.ones(DIM), 99), **options, node_ids=[]).ids == []
            assert store.query(ask(np.ones(DIM), 99, filters=where("year", [], "in")), **options).ids == []
    assert store.get_nodes([]) == []
    store.delete_nodes([])
    assert len(store.get_nodes()) == len(store.get_nodes(filters=None)) > 0


def test_nodes_without_source_are_their_own_document():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0], document=None), node("b", [1, 0], document=None)])
    assert store.query(ask([1, 0], 5, doc_ids=["b"])).ids == ["b"]
    store.delete("a")
    assert [entry.node_id for entry in store.get_nodes()] == ["b"]
