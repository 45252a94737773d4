"""Scores: relevance from 0 to 1, thresholds, and fused granularities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import ValidationError

from factoid import Weights
from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import SENTENCES

EMBEDDING = DeterministicFakeEmbedding(size=5)  # neither of unit length nor positive
TEXTS = [f"First{n} stands here. Second{n} follows." for n in range(50)]


@pytest.fixture(scope="module", params=["inner_product", "cosine"])
def store(request: pytest.FixtureRequest) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(EMBEDDING, propositionizer=SENTENCES, similarity=request.param) as store:
        store.add_texts(TEXTS, ids=[str(n) for n in range(50)])
        yield store


def similarities(store: MultiGranularFAISS, query: str) -> dict[str, float]:
    """Return the best similarity of each document's sentences."""
    vector = np.array(EMBEDDING.embed_query(query))
    best = {}
    for n, text in enumerate(TEXTS):
        vectors = np.array(EMBEDDING.embed_documents([part.strip(".") + "." for part in text.split(". ")]))
        scores = vectors @ vector
        if store.store.similarity == "cosine":
            scores /= np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
        best[str(n)] = float(scores.max())
    return best


def test_relevance_is_half_of_one_plus_the_similarity(store: MultiGranularFAISS) -> None:
    expected = {
        document_id: min(max((1 + score) / 2, 0), 1) for document_id, score in similarities(store, "query").items()
    }
    found = store.similarity_search_with_relevance_scores("query", k=50, granularity="sentence", weights=Weights(0, 0))
    assert {document.id: relevance for document, relevance in found} == pytest.approx(expected, abs=1e-5)
    relevances = [relevance for _, relevance in found]
    assert relevances == sorted(relevances, reverse=True)
    if store.store.similarity == "cosine":
        assert 0 < relevances[-1] < relevances[0] < 1  # nothing was clipped


@pytest.mark.parametrize("threshold", [0.0, 0.4, 0.7, 0.95, 1.0])
async def test_thresholds(store: MultiGranularFAISS, threshold: float) -> None:
    options: dict[str, Any] = {"k": 50, "granularity": "sentence"}
    every = store.similarity_search_with_relevance_scores("query", **options)
    expected = [document.id for document, relevance in every if relevance >= threshold]
    found = store.similarity_search_with_relevance_scores("query", score_threshold=threshold, **options)
    assert [document.id for document, _ in found] == expected
    by_langchain = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": threshold, **options}
    )
    by_factoid = MultiGranularRetriever(
        store=store, search_type="similarity_score_threshold", score_threshold=threshold, **options
    )
    for retriever in (by_langchain, by_factoid):
        assert [document.id for document in retriever.invoke("query")] == expected
        assert [document.id for document in await retriever.ainvoke("query")] == expected


def test_thresholds_that_mean_nothing_are_refused(store: MultiGranularFAISS) -> None:
    for fields in (
        {"search_type": "similarity_score_threshold"},
        {"score_threshold": 0.5},
        {"search_type": "similarity_score_threshold", "score_threshold": 1.5},
    ):
        with pytest.raises(ValidationError, match="score_threshold"):
            MultiGranularRetriever(store=store, **fields)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="search_type"):
        MultiGranularRetriever(store=store).invoke("query", search_type="nearest")


# The words of LangChain's other stores


def test_score_threshold_in_every_search(store: MultiGranularFAISS) -> None:
    options = {"k": 50, "granularity": "sentence"}
    scored = store.similarity_search_with_score("query", **options)
    least = scored[9][1]
    vector = EMBEDDING.embed_query("query")
    assert store.similarity_search_with_score("query", **options, score_threshold=least) == scored[:10]
    expected = [document for document, _ in scored[:10]]
    assert store.similarity_search_by_vector(vector, **options, score_threshold=least) == expected
    assert store.as_retriever(search_kwargs={**options, "score_threshold": least}).invoke("query") == expected
    assert len(store.similarity_search("query", **options, score_threshold=None)) == 50
    with pytest.raises(InvalidInputError, match="another name of min_score: got 1 and 2"):
        store.similarity_search("query", score_threshold=1, min_score=2)


def test_a_relevance_of_ones_own() -> None:
    with MultiGranularFAISS(
        EMBEDDING, propositionizer=SENTENCES, relevance_score_fn=lambda score: score / 1000
    ) as store:
        store.add_texts(TEXTS)
        scored = store.similarity_search_with_score("query", k=3)
        relevant = store.similarity_search_with_relevance_scores("query", k=3)
        assert [relevance for _, relevance in relevant] == [score / 1000 for _, score in scored]
        options = {"search_type": "similarity_score_threshold", "score_threshold": scored[1][1] / 1000}
        assert len(MultiGranularRetriever(store=store, k=3, **options).invoke("query")) == 2


def test_distance_strategy() -> None:
    for strategy, similarity in [("COSINE", "cosine"), ("MAX_INNER_PRODUCT", "inner_product")]:
        with MultiGranularFAISS(EMBEDDING, distance_strategy=strategy) as store:
            assert store.store.similarity == similarity
    with pytest.raises(InvalidInputError, match="got 'EUCLIDEAN_DISTANCE': vectors of unit length rank by"):
        MultiGranularFAISS(EMBEDDING, distance_strategy="EUCLIDEAN_DISTANCE")


def test_relevance_needs_similarities(store: MultiGranularFAISS) -> None:
    fused = store.similarity_search_with_score("query", k=50, granularity="mixed")
    relevances = store.similarity_search_with_relevance_scores("query", k=50, granularity="mixed")
    assert [document for document, _ in relevances] == [document for document, _ in fused]
    with pytest.raises(InvalidInputError, match="fusion='max'"):
        store.similarity_search_with_relevance_scores("query", granularity="mixed", fusion="rrf")


def test_no_cosine_is_above_1() -> None:
    embedding = DeterministicFakeEmbedding(size=7)
    with MultiGranularFAISS(embedding, granularities=["passage"], similarity="cosine") as store:
        store.add_texts(TEXTS)
        for text in TEXTS:
            [(found, score)] = store.similarity_search_with_score(text, k=1)
            assert found.page_content == text
            assert 0.9999 < score <= 1
            [unit] = MultiGranularRetriever(store=store, k=1).invoke(text)
            assert unit.metadata["matches"][0]["score"] <= 1
