from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import GRANULARITIES, KAKAPO, OLM, SENTENCES, TITAN


@settings(deadline=None, max_examples=30)
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=12),
    k=st.integers(1, 15),
    seed=st.integers(0, 1000),
    granularity=st.sampled_from(["sentence", "proposition"]),
)
def test_exactly_the_k_best_documents(lengths: list[int], k: int, seed: int, granularity: str) -> None:
    embedding = DeterministicFakeEmbedding(size=5)  # neither of unit length nor positive
    sentences = [[f"Word{seed} stands{d} here{s}." for s in range(length)] for d, length in enumerate(lengths)]
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES) as store:
        ids = store.add_texts([" ".join(each) for each in sentences])
        found = store.similarity_search_with_score("query", k, granularity=granularity)
        units = store.similarity_search_units_with_score("query", k, granularity=granularity)
    query = np.array(embedding.embed_query("query"))
    scores = [np.array(embedding.embed_documents(each)) @ query for each in sentences]
    best = sorted(zip(map(np.max, scores), ids, strict=True), reverse=True)[:k]
    assert [document.id for document, _ in found] == [own for _, own in best]
    assert np.allclose([score for _, score in found], [score for score, _ in best], rtol=1e-5, atol=1e-5)
    assert all(type(score) is float for _, score in found)
    every = np.sort(np.concatenate(scores))[::-1][:k]
    assert np.allclose([score for _, score in units], every, rtol=1e-5, atol=1e-5)


def test_k_documents_although_one_holds_all_the_best_units(store: MultiGranularFAISS) -> None:
    many = " ".join(f"The olm has no eyes {n}." for n in range(200))
    store.add_texts([many, "A parrot has eyes.", "Titan orbits."], ids=["many", "parrot", "titan"])
    found = store.similarity_search("The olm has no eyes", k=3, granularity="sentence")
    assert found[0].id == "many"
    assert len(found) == 3


def test_matches_and_units_say_where_they_stand(filled: MultiGranularFAISS) -> None:
    (document, score, units), *_ = filled.similarity_search_with_matches("What fruit does it eat?", k=1)
    assert document == KAKAPO
    assert units[0].page_content == "It eats the fruit of the rimu."
    assert units[0].metadata["score"] == score >= units[-1].metadata["score"]
    (unit,) = filled.similarity_search_units("What fruit does it eat?", k=1)
    start = KAKAPO.page_content.index("It eats")
    assert unit.metadata == KAKAPO.metadata | {
        "granularity": "proposition",
        "start_index": start,
        "end_index": KAKAPO.page_content.index(".", start) + 1,
        "parent_id": "kakapo",
        "passage_id": "kakapo",
        "title": "Kakapo",
        "section": "Diet",
    }
    assert filled.get_by_ids([str(unit.id)]) == [unit]
    (whole,) = filled.similarity_search_units("olm", k=1, granularity="passage")
    assert (whole.page_content, whole.metadata["parent_id"]) == (OLM.page_content, "olm")


def test_each_text_is_embedded_once(store: MultiGranularFAISS, embedding: Any) -> None:
    store.add_texts(["Ice floats."])
    assert embedding.embedded == ["Ice floats."]
    store.similarity_search("ice")
    assert embedding.queries == ["ice"]


def test_relevance_scores(filled: MultiGranularFAISS) -> None:
    found = filled.similarity_search_with_relevance_scores(OLM.page_content, k=3, granularity="passage")
    assert found[0] == (OLM, pytest.approx(1.0))
    assert all(0 <= relevance <= 1 for _, relevance in found)
    retriever = filled.as_retriever(search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.9})
    assert retriever.invoke(OLM.page_content) == [OLM]
    with MultiGranularFAISS(DeterministicFakeEmbedding(size=5), propositionizer=SENTENCES) as long_vectors:
        long_vectors.add_documents([KAKAPO, OLM, TITAN])
        assert all(0 <= each <= 1 for _, each in long_vectors.similarity_search_with_relevance_scores("olm"))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"year": 1768}, {"olm"}),
        ({"year": {"$lt": 1800}}, {"olm", "titan"}),
        ({"$or": [{"far": True}, {"year": {"$gte": 1845}}]}, {"titan", "kakapo"}),
        ({"far": {"$exists": False}}, {"olm", "kakapo"}),
        ({"year": 1}, set()),
        (lambda metadata: "rare" in metadata.get("tags", []), {"kakapo"}),
    ],
)
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_filters(filled: MultiGranularFAISS, condition: Any, expected: set[str], granularity: str) -> None:
    found = filled.similarity_search("eyes", k=9, granularity=granularity, filter=condition)
    assert {document.id for document in found} == expected
    mixed = filled.max_marginal_relevance_search("eyes", k=9, granularity=granularity, filter=condition)
    assert {document.id for document in mixed} == expected
    units = filled.similarity_search_units("eyes", k=99, granularity=granularity, filter=condition)
    assert {unit.metadata["parent_id"] for unit in units} == expected


@pytest.mark.parametrize("condition", [{"rare": True}, lambda metadata: metadata["rare"]])
def test_the_only_match_among_many_is_found(store: MultiGranularFAISS, condition: Any) -> None:
    texts = [f"The olm lives in cave {n}." for n in range(300)] + ["Titan orbits Saturn."]
    store.add_texts(texts, [{"rare": text.startswith("Titan")} for text in texts])
    for granularity in GRANULARITIES:
        (found,) = store.similarity_search("The olm lives in a cave", k=4, granularity=granularity, filter=condition)
        assert found.page_content == "Titan orbits Saturn."


@pytest.mark.parametrize("lambda_mult", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_mmr_chooses_as_langchain_does(lambda_mult: float, granularity: str) -> None:
    embedding = DeterministicFakeEmbedding(size=4)
    texts = [f"Sentence {n} stands alone." for n in range(40)]  # one unit each, so that its vector is the document's
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES) as store:
        store.add_texts(texts)
        options: dict[str, Any] = {"granularity": granularity}
        near = [document.page_content for document in store.similarity_search("query", k=20, **options)]
        found = store.max_marginal_relevance_search("query", k=6, fetch_k=20, lambda_mult=lambda_mult, **options)
        few = store.max_marginal_relevance_search("query", k=6, fetch_k=2, **options)
    query = np.array(embedding.embed_query("query"))
    chosen = maximal_marginal_relevance(query, embedding.embed_documents(near), lambda_mult=lambda_mult, k=6)
    assert [document.page_content for document in found] == [near[position] for position in chosen]
    assert len(few) == 6


def test_mmr_leaves_out_the_near_duplicate(store: MultiGranularFAISS) -> None:
    store.add_texts(["The olm has no eyes.", "The olm has no eyes!", "The olm eats snails."], ids=["a", "b", "c"])
    assert store.max_marginal_relevance_search("zzz", k=3) != []
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "granularity": "passage"})
    assert "c" in [document.id for document in retriever.invoke("olm")]
    with MultiGranularFAISS(store.embeddings, propositionizer=SENTENCES) as empty:
        assert empty.max_marginal_relevance_search("olm") == []
