"""Scores: relevance from 0 to 1, and thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from factoid import AnyGranularityRanker
from factoid.errors import InvalidInputError
from factoid.store import GRANULARITIES
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import SENTENCES
from tests.late_interaction.word_vectors import WordVectors

EMBEDDING = DeterministicFakeEmbedding(size=5)  # neither of unit length nor positive
TEXTS = [f"First{n} stands here. Second{n} follows." for n in range(50)]


@pytest.fixture(scope="module")
def store() -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(
        EMBEDDING, propositionizer=SENTENCES, granularities=GRANULARITIES
    ) as store:
        store.add_texts(TEXTS, ids=[str(n) for n in range(50)])
        yield store


def test_relevance_is_half_of_one_plus_the_score(store: MultiGranularFAISS) -> None:
    for query, options in (("query", {"lexical": 0.0}), ("query", {}), ("First7 stands here.", {})):
        scored = store.similarity_search_with_score(query, k=50, **options)  # type: ignore[arg-type]
        expected = [(document, min(max((1 + score) / 2, 0), 1)) for document, score in scored]
        assert store.similarity_search_with_relevance_scores(query, k=50, **options) == expected
        assert all(0 <= relevance <= 1 for _, relevance in expected)
        if options:
            assert {0, 1} < {relevance for _, relevance in expected}
    scored = store.similarity_search_with_score("query", k=50)
    other = MultiGranularFAISS(store=store.store, relevance_score_fn=lambda score: score / 1000)
    relevant = other.similarity_search_with_relevance_scores("query", k=3)
    assert [relevance for _, relevance in relevant] == [score / 1000 for _, score in scored[:3]]


@pytest.mark.parametrize("threshold", [0.0, 0.7, 1.0])
async def test_thresholds(store: MultiGranularFAISS, threshold: float) -> None:
    options: dict[str, Any] = {"k": 50, "granularity": "sentence"}
    every = store.similarity_search_with_relevance_scores("query", **options)
    expected = [document.id for document, relevance in every if relevance >= threshold]
    found = store.similarity_search_with_relevance_scores(
        "query", score_threshold=threshold, **options
    )
    assert [document.id for document, _ in found] == expected
    retriever = store.as_retriever(
        search_type="similarity_score_threshold",
        search_kwargs={"score_threshold": threshold, **options},
    )
    assert [document.id for document in retriever.invoke("query")] == expected
    assert [document.id for document in await retriever.ainvoke("query")] == expected
    scored = store.similarity_search_with_score("query", **options)
    assert (
        store.similarity_search_with_score("query", score_threshold=scored[9][1], **options)
        == scored[:10]
    )


async def test_the_scores_of_a_reranker_are_no_relevance(store: MultiGranularFAISS) -> None:
    options: dict[str, Any] = {"rerank": AnyGranularityRanker(WordVectors())}
    with pytest.raises(InvalidInputError, match="scores of rerank"):
        store.similarity_search_with_relevance_scores("query", **options)
    with pytest.raises(InvalidInputError, match="scores of rerank"):
        await store.asimilarity_search_with_relevance_scores("query", **options)
