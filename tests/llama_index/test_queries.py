"""Several granularities, batches, and the options of one query."""

from __future__ import annotations

import numpy as np
import pytest
from llama_index.core.schema import TextNode

from factoid import UnitStore
from factoid.errors import InvalidInputError
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, KINDS, ask, corpus, node, oracle, where


def vectors(count, seed=11):
    return np.random.default_rng(seed).normal(size=(count, DIM))


# Several granularities


def reciprocal_ranks(nodes, vector, kinds, returns):
    """Cormack, Clarke and Büttcher (2009), with their constant."""
    scores = {}
    for kind in kinds:
        for rank, (own, _) in enumerate(oracle(nodes, vector, kind, returns), 1):
            scores[own] = scores.get(own, 0) + 1 / (60 + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])


@pytest.mark.parametrize("granularity", ["mixed", ("sentence", "proposition"), ["passage", "proposition"]])
def test_fused_by_reciprocal_ranks(store, nodes, granularity):
    kinds = KINDS if granularity == "mixed" else granularity
    for vector in vectors(4):
        result = store.query(ask(vector, 20), granularity=granularity)
        expected = reciprocal_ranks(nodes, vector, kinds, "parents")
        assert dict(zip(result.ids, result.similarities, strict=True)) == pytest.approx(dict(expected))
        assert result.similarities == sorted(result.similarities, reverse=True)


def test_fused_by_the_best_score(store, nodes):
    for vector in vectors(4):
        best = {}
        for kind in KINDS:
            for own, score in oracle(nodes, vector, kind, "parents"):
                best[own] = max(score, best.get(own, -np.inf))
        expected = sorted(best.items(), key=lambda pair: -pair[1])[:7]
        result = store.query(ask(vector, 7), granularity="mixed", fusion="max")
        assert result.ids == [own for own, _ in expected]
        assert result.similarities == pytest.approx([score for _, score in expected], rel=1e-5, abs=1e-5)


def test_matches_of_several_granularities_say_which(store):
    result = store.query(ask(vectors(1)[0], 3), granularity="mixed")
    for own, matches in zip(result.ids, result.matches, strict=True):
        assert {match["granularity"] for match in matches} <= set(KINDS)
        assert all(match["id"].startswith(own) for match in matches)
        assert [match["score"] for match in matches] == sorted((m["score"] for m in matches), reverse=True)


def test_a_store_may_be_mixed_by_default(nodes):
    store = MultiGranularFaissVectorStore(granularity="mixed")
    store.add(nodes)
    other = MultiGranularFaissVectorStore(granularity=["sentence", "proposition"])
    other.add(nodes)
    vector = vectors(1)[0]
    assert store.query(ask(vector, 5)) == other.query(ask(vector, 5), granularity="mixed")
    assert other.query(ask(vector, 5)) == store.query(ask(vector, 5), granularity=("sentence", "proposition"))


@pytest.mark.parametrize("mode", ["default", "mmr"])
@pytest.mark.parametrize("returns", ["parents", "units"])
@pytest.mark.parametrize("granularity", [*KINDS, "mixed"])
def test_plain_nodes_are_found_once_and_as_themselves(granularity, returns, mode):
    random = np.random.default_rng(1)
    store = MultiGranularFaissVectorStore()
    plain = [node(f"n{i}", random.normal(size=DIM), document=f"d{i % 3}") for i in range(12)]
    store.add([*plain, *corpus(documents=1, passages=2)])
    for vector in vectors(3):
        for k in (1, 5, 12, 50):
            result = store.query(ask(vector, k, mode=mode), granularity=granularity, returns=returns)
            assert len(set(result.ids)) == len(result.ids)
            assert len(result.ids) == min(k, len(result_of_all(store, vector, granularity, returns)))
            for found, matches in zip(result.nodes, result.matches, strict=True):
                assert type(found) is TextNode
                if found.node_id.startswith("n"):
                    assert [match["id"] for match in matches] in ([found.node_id], [])
    assert {f"n{i}" for i in range(12)} <= set(result.ids)
    assert len(store.get_nodes()) == 12 + 14


def result_of_all(store, vector, granularity, returns):
    return store.query(ask(vector, 999), granularity=granularity, returns=returns).ids


def test_a_plain_node_that_becomes_a_passage_is_no_longer_found_as_a_fact():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0]), node("b", [0, 1])])
    store.add([node("a", [1, 0], granularity="passage")])
    assert store.query(ask([1, 0], 9)).ids == ["b"]
    assert store.query(ask([1, 0], 9), granularity="passage").ids == ["a", "b"]
    store.add([node("a", [1, 0])])
    assert store.query(ask([1, 0], 9)).ids == ["a", "b"]
    assert len(store.client) == 2 * 3


# Batches


def test_a_batch_gives_what_its_queries_give_one_by_one(store):
    queries = [
        ask(vector, k, mode=mode, filters=filters, doc_ids=doc_ids)
        for vector in vectors(3)
        for k in (1, 6)
        for mode in ("default", "mmr")
        for filters in (None, where("year", 1991, ">"))
        for doc_ids in (None, ["d1", "d2"])
    ]
    for query, result in zip(queries, store.query_batch(queries), strict=True):
        alone = store.query(query)
        assert result.nodes == alone.nodes
        assert result.similarities == pytest.approx(alone.similarities, rel=1e-5, abs=1e-5)  # sums of another order
        assert [[each["id"] for each in found] for found in result.matches] == [
            [each["id"] for each in found] for found in alone.matches
        ]
    assert store.query_batch([]) == []


async def test_a_batch_for_event_loops(store):
    queries = [ask(vector, 3) for vector in vectors(4)]
    assert await store.aquery_batch(queries, granularity="sentence") == store.query_batch(
        queries, granularity="sentence"
    )


def test_like_queries_are_one_search(store, monkeypatch):
    sizes = []
    search = UnitStore.search_batch_by_vector

    def recorded(self, given, *args, **options):
        sizes.append(len(given))
        return search(self, given, *args, **options)

    monkeypatch.setattr(UnitStore, "search_batch_by_vector", recorded)
    store.query_batch([ask(vector, 3, filters=where("year", year)) for vector in vectors(8) for year in (1990, 1991)])
    assert sizes == [8, 8]


# Options


def test_min_score(store, nodes):
    for vector in vectors(3):
        expected = [own for own, score in oracle(nodes, vector, "proposition", "parents") if score >= 2.5]
        assert 0 < len(expected) < 20
        assert store.query(ask(vector, 20), min_score=2.5).ids == expected
    assert store.query(ask(vector, 20), min_score=1e9).ids == []


def sentences_of(document, count=9):
    """A passage of sentences, three facts each, spans one after the other."""
    made = [node(f"{document}p", np.zeros(DIM), granularity="passage", document=document)]
    for i in range(count):
        sentence = node(f"{document}s{i}", np.eye(DIM)[0] * i, granularity="sentence", parent=f"{document}p")
        facts = [
            node(f"{document}f{i}{j}", np.eye(DIM)[1] * (3 * i + j), granularity="proposition", parent=f"{document}p")
            for j in range(3)
        ]
        for each in (sentence, *facts):
            each.relationships.update(made[0].relationships)
            each.start_char_idx, each.end_char_idx = 10 * i, 10 * i + 10
        made += [sentence, *facts]
    made[0].start_char_idx, made[0].end_char_idx = 0, 10 * count
    return made


def test_neighbours_are_the_sentences_around_a_fact():
    store = MultiGranularFaissVectorStore()
    store.add([*sentences_of("a"), *sentences_of("b")])
    for expand in (0, 1, 2):
        result = store.query(ask(np.eye(DIM)[1], 2), expand=expand)
        for own, matches, around in zip(result.ids, result.matches, result.neighbours, strict=True):
            assert [match["id"] for match in matches] == [f"{own[0]}f82", f"{own[0]}f81", f"{own[0]}f80"]
            assert [each["id"] for each in around] == [f"{own[0]}s{i}" for i in range(8 - expand, 9) if expand]
    assert around[-1] == {
        "text": f"text of {own[0]}s8",
        "start_char_idx": 80,
        "end_char_idx": 90,
        "granularity": "sentence",
        "id": f"{own[0]}s8",
    }
    units = store.query(ask(np.eye(DIM)[0], 1, doc_ids=["b"]), granularity="sentence", returns="units", expand=1)
    assert (units.ids, units.matches) == (["bs8"], [[]])
    assert [each["id"] for each in units.neighbours[0]] == ["bs7", "bs8"]


def test_neighbours_of_plain_chunks_are_chunks():
    store = MultiGranularFaissVectorStore()
    chunks = [node(f"c{i}", np.eye(DIM)[0] * i) for i in range(5)]
    for i, chunk in enumerate(chunks):
        chunk.start_char_idx, chunk.end_char_idx = 10 * i, 10 * i + 10
    store.add(chunks)
    for kind in KINDS:
        result = store.query(ask(np.eye(DIM)[0], 1), granularity=kind, expand=1)
        assert [each["id"] for each in result.neighbours[0]] == ["c3", "c4"]
        assert all(each["granularity"] == "passage" for each in result.neighbours[0])
        assert store.query(ask(np.eye(DIM)[1], 5), granularity=kind).neighbours == [[]] * 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"granularity": []}, "name one, or several"),
        ({"granularity": ["sentence", "word"]}, "unknown granularity 'word'"),
        ({"granularity": "mixed", "fusion": "sum"}, "fusion"),
        ({"expand": -1}, "expand must be at least 0"),
        ({"refine": 0}, "refine must be at least 1"),
        ({"parameters": {"nprobes": 3}}, "no search parameter .nprobes."),
    ],
)
def test_options_out_of_range(store, options, message):
    with pytest.raises(InvalidInputError, match=message):
        store.query(ask(np.ones(DIM)), **options)


@pytest.mark.parametrize(("mode", "advice"), [("hybrid", "QueryFusionRetriever"), ("svm", "train a model")])
def test_other_modes_say_what_to_use(store, mode, advice):
    with pytest.raises(InvalidInputError, match=f"mode '{mode}'.*{advice}"):
        store.query(ask(np.ones(DIM), mode=mode))
