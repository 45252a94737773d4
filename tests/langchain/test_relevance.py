"""Scores: relevance from 0 to 1, and thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import SENTENCES

EMBEDDING = DeterministicFakeEmbedding(size=5)  # neither of unit length nor positive
TEXTS = [f"First{n} stands here. Second{n} follows." for n in range(50)]


@pytest.fixture(scope="module")
def store() -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(EMBEDDING, propositionizer=SENTENCES) as store:
        store.add_texts(TEXTS, ids=[str(n) for n in range(50)])
        yield store


def test_relevance_is_half_of_one_plus_the_score(store: MultiGranularFAISS) -> None:
    scored = store.similarity_search_with_score("query", k=50)
    expected = [(document, min(max((1 + score) / 2, 0), 1)) for document, score in scored]
    assert {0, 1} < {relevance for _, relevance in expected}
    assert store.similarity_search_with_relevance_scores("query", k=50) == expected


@pytest.mark.parametrize("threshold", [0.0, 0.7, 1.0])
async def test_thresholds(store: MultiGranularFAISS, threshold: float) -> None:
    options: dict[str, Any] = {"k": 50, "granularity": "sentence"}
    every = store.similarity_search_with_relevance_scores("query", **options)
    expected = [document.id for document, relevance in every if relevance >= threshold]
    found = store.similarity_search_with_relevance_scores("query", score_threshold=threshold, **options)
    assert [document.id for document, _ in found] == expected
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": threshold, **options}
    )
    assert [document.id for document in retriever.invoke("query")] == expected
    assert [document.id for document in await retriever.ainvoke("query")] == expected


def test_score_threshold_in_every_search(store: MultiGranularFAISS) -> None:
    options = {"k": 50, "granularity": "sentence"}
    scored = store.similarity_search_with_score("query", **options)
    least = scored[9][1]
    vector = EMBEDDING.embed_query("query")
    assert store.similarity_search_with_score("query", **options, score_threshold=least) == scored[:10]
    expected = [document for document, _ in scored[:10]]
    assert store.similarity_search_by_vector(vector, **options, score_threshold=least) == expected
    assert store.as_retriever(search_kwargs={**options, "score_threshold": least}).invoke("query") == expected
    assert len(store.similarity_search("query", **options, score_threshold=None, min_score=least)) == 10


def test_a_relevance_of_ones_own() -> None:
    with MultiGranularFAISS(
        EMBEDDING, granularities=["passage"], relevance_score_fn=lambda score: score / 1000
    ) as store:
        store.add_texts(TEXTS)
        scored = store.similarity_search_with_score("query", k=3)
        relevant = store.similarity_search_with_relevance_scores("query", k=3)
        assert [relevance for _, relevance in relevant] == [score / 1000 for _, score in scored]


def test_relevance_needs_similarities(store: MultiGranularFAISS) -> None:
    with pytest.raises(InvalidInputError, match="rerank"):
        store.similarity_search_with_relevance_scores("query", rerank=object())


def test_no_cosine_is_above_1() -> None:
    embedding = DeterministicFakeEmbedding(size=7)
    with MultiGranularFAISS(embedding, granularities=["passage"], similarity="cosine") as store:
        store.add_texts(TEXTS)
        for text in TEXTS:
            [(found, score)] = store.similarity_search_with_score(text, k=1)
            assert found.page_content == text
            assert 0.9999 < score <= 1
