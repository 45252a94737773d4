from __future__ import annotations

import numpy as np
import pytest
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.vector_stores.types import (
    MetadataFilters,
    VectorStoreQueryMode,
)

from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, KINDS, ask, corpus, node, oracle, where

# Ranking


@pytest.mark.parametrize("returns", ["parents", "units"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 4, 100])
def test_ranking_is_that_of_brute_force(store, nodes, kind, returns, k):
    for vector in np.random.default_rng(1).normal(size=(5, DIM)):
        result = store.query(ask(vector, k), granularity=kind, returns=returns)
        expected = oracle(nodes, vector, kind, returns)[:k]
        assert result.ids == [own for own, _ in expected] == [each.node_id for each in result.nodes]
        assert result.similarities == pytest.approx([score for _, score in expected], rel=1e-5, abs=1e-5)
        assert all(type(score) is float for score in result.similarities)


def test_k_parents_even_when_one_parent_has_all_the_best_units():
    store = MultiGranularFaissVectorStore()
    many = [node("p0", [0, 1], granularity="passage"), node("p1", [0, 1], granularity="passage")]
    many += [node(f"a{i}", [9, 0], granularity="proposition", parent="p0") for i in range(50)]
    many += [node("b", [-1, 0], granularity="proposition", parent="p1")]
    store.add(many)
    result = store.query(ask([1, 0], 2))
    assert (result.ids, result.similarities) == (["p0", "p1"], [9.0, -1.0])
    assert [match["id"] for match in result.matches[1]] == ["b"]
    assert len(result.matches[0]) == 3


def test_matches_say_what_was_found(store, nodes):
    vector = np.ones(DIM)
    result = store.query(ask(vector, 3))
    best = dict(oracle(nodes, vector, "proposition", "units"))
    for parent, score, matches in zip(result.nodes, result.similarities, result.matches, strict=True):
        assert matches[0]["score"] == score
        assert [match["score"] for match in matches] == sorted((m["score"] for m in matches), reverse=True)
        for match in matches:
            assert match["id"].startswith(f"{parent.node_id}p")
            assert match["granularity"] == "proposition"
            assert match["text"] == f"text of {match['id']}"
            assert match["score"] == pytest.approx(best[match["id"]], rel=1e-5, abs=1e-5)
    assert store.query(ask(vector, 3), returns="units").matches == [[], [], []]


def test_the_stores_own_defaults():
    store = MultiGranularFaissVectorStore(granularity="sentence", returns="units")
    store.add(corpus())
    assert all(own[4] == "s" for own in store.query(ask(np.ones(DIM), 5)).ids)


# Restrictions


def test_filters_apply_before_the_search(store, nodes):
    """A filter that one document passes, far from the query, still gives all that there is."""
    vector = -np.array(nodes[-1].embedding)
    store.add([node("rare", [0.001] * DIM, granularity="passage", rare=1)])
    store.add([node("rare-f", vector * -1, granularity="proposition", parent="rare", rare=1)])
    result = store.query(ask(vector, 5, filters=where("rare", 1)))
    assert result.ids == ["rare"]
    for kind in KINDS:
        expected = oracle(nodes, vector, kind, "parents", lambda each: each.metadata["year"] == 1993)
        result = store.query(ask(vector, 10, filters=where("year", 1993)), granularity=kind)
        assert result.ids == [own for own, _ in expected]
        assert len(result.ids) == 4


def test_filter_that_nothing_passes(store):
    assert store.query(ask(np.ones(DIM), 5, filters=where("year", 3000))).ids == []


def test_doc_ids(store, nodes):
    vector = np.ones(DIM)
    expected = oracle(nodes, vector, "proposition", "parents", lambda each: each.ref_doc_id in ("d1", "d3"))
    assert store.query(ask(vector, 20, doc_ids=["d1", "d3", "none"])).ids == [own for own, _ in expected]


def test_node_ids_admit_nodes_and_what_is_under_them(store, nodes):
    vector = np.ones(DIM)
    result = store.query(ask(vector, 20, node_ids=["d0p1", "d2p2p0", "none"]))
    assert set(result.ids) == {"d0p1", "d2p2"}
    matched = dict(zip(result.ids, result.matches, strict=True))
    assert [match["id"] for match in matched["d2p2"]] == ["d2p2p0"]
    assert len(matched["d0p1"]) == 3
    assert store.query(ask(vector, 20, node_ids=["d0p1s1"]), granularity="sentence", returns="units").ids == ["d0p1s1"]


def test_the_id_of_a_document_is_no_node_id(store):
    for kind in KINDS:
        assert store.query(ask(np.ones(DIM), 20, node_ids=["d1"]), granularity=kind).ids == []


def test_empty_lists_admit_all(store):
    """`VectorStoreIndex.as_retriever` gives an empty list of node ids where the store keeps the nodes."""
    empty = MetadataFilters(filters=[])
    assert len(store.query(ask(np.ones(DIM), 99, node_ids=[], doc_ids=[], filters=empty)).ids) == 20


def test_restrictions_add_up(store):
    result = store.query(
        ask(np.ones(DIM), 99, doc_ids=["d0", "d1"], node_ids=["d0p1", "d0p2", "d2p1"], filters=where("year", 1991))
    )
    assert result.ids == ["d0p1"]


def test_nodes_without_source_are_their_own_document():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0], document=None), node("b", [1, 0], document=None)])
    assert store.query(ask([1, 0], 5, doc_ids=["b"])).ids == ["b"]
    store.delete("a")
    assert [each.node_id for each in store.get_nodes()] == ["b"]


# Maximal marginal relevance


def test_mmr_agrees_with_llama_index_for_two(store, nodes):
    """LlamaIndex's own loop looks at the last choice only, so it is a reference where only one was made before."""
    units = [each for each in nodes if each.metadata["granularity"] == "passage"]
    for threshold in (0.1, 0.5, 0.9):
        for vector in np.random.default_rng(2).normal(size=(5, DIM)):
            _, expected = get_top_k_mmr_embeddings(
                list(vector),
                [each.embedding for each in units],
                similarity_top_k=2,
                embedding_ids=[each.node_id for each in units],
                mmr_threshold=threshold,
            )
            result = store.query(
                ask(vector, 2, mode=VectorStoreQueryMode.MMR),
                granularity="passage",
                mmr_threshold=threshold,
                mmr_prefetch_k=100,
            )
            assert result.ids == expected


def test_mmr_by_brute_force_over_parents(store, nodes):
    best = {}
    vector = np.random.default_rng(3).normal(size=DIM)
    for each in nodes:
        if each.metadata["granularity"] == "proposition":
            score = np.dot(each.embedding, vector)
            if score > best.get(each.parent_node.node_id, (-np.inf,))[0]:
                best[each.parent_node.node_id] = (score, np.array(each.embedding))

    def cosine(a, b):
        return np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b)

    chosen = []
    while len(chosen) < 6:
        rest = [own for own in best if own not in chosen]
        chosen.append(
            max(
                rest,
                key=lambda own: (
                    0.3 * cosine(vector, best[own][1])
                    - 0.7 * max((cosine(best[own][1], best[other][1]) for other in chosen), default=0)
                ),
            )
        )
    query = ask(vector, 6, mode="mmr", mmr_threshold=0.3)
    result = store.query(query, mmr_prefetch_factor=100)
    assert result.ids == chosen
    assert result.similarities == pytest.approx([best[own][0] for own in chosen], rel=1e-5, abs=1e-5)
    assert store.query(query, mmr_threshold=1.0, mmr_prefetch_k=1).ids != chosen


def test_mmr_with_filter_and_little_to_choose_from(store):
    result = store.query(ask(np.ones(DIM), 50, mode="mmr", filters=where("year", 1990)))
    assert len(set(result.ids)) == len(result.ids) == 4
    assert store.query(ask(np.ones(DIM), 5, mode="mmr", filters=where("year", 3000))).ids == []
