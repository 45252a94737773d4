"""Scores: relevance from 0 to 1, thresholds, and fused granularities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from pydantic import ValidationError

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import GRANULARITIES, OLM, SENTENCES

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
    expected = {own: min(max((1 + score) / 2, 0), 1) for own, score in similarities(store, "query").items()}
    found = store.similarity_search_with_relevance_scores("query", k=50, granularity="sentence")
    assert {document.id: relevance for document, relevance in found} == pytest.approx(expected, abs=1e-5)
    relevances = [relevance for _, relevance in found]
    assert relevances == sorted(relevances, reverse=True)
    if store.store.similarity == "cosine":
        assert 0 < relevances[-1] < relevances[0] < 1  # nothing was clipped


def test_the_same_text_has_relevance_one(embedding: Any) -> None:
    for similarity in ("inner_product", "cosine"):
        with MultiGranularFAISS.from_documents([OLM], embedding, similarity=similarity) as store:
            found = store.similarity_search_with_relevance_scores(OLM.page_content, granularity="passage")
            assert found == [(OLM, pytest.approx(1.0))]


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
    own = MultiGranularRetriever(
        store=store, search_type="similarity_score_threshold", score_threshold=threshold, **options
    )
    for retriever in (by_langchain, own):
        assert [document.id for document in retriever.invoke("query")] == expected
        assert [document.id for document in await retriever.ainvoke("query")] == expected


@pytest.mark.parametrize("granularity", [*GRANULARITIES, "mixed"])
def test_least_scores(store: MultiGranularFAISS, granularity: str) -> None:
    options: dict[str, Any] = {"k": 50, "granularity": granularity, "fusion": "max"}
    for search in (store.similarity_search_with_score, store.similarity_search_units_with_score):
        every = search("query", **options)
        cut = next(place for place in range(20, 50) if every[place - 1][1] - every[place][1] > 1e-4)
        found = search("query", min_score=(every[cut - 1][1] + every[cut][1]) / 2, **options)
        assert {document.id for document, _ in found} == {document.id for document, _ in every[:cut]}
        assert len(found) == cut


def test_fused_by_the_best_score(store: MultiGranularFAISS) -> None:
    best: dict[str, float] = {}
    for granularity in GRANULARITIES:
        for document, score in store.similarity_search_with_score("query", k=50, granularity=granularity):
            best[str(document.id)] = max(score, best.get(str(document.id), -np.inf))
    found = store.similarity_search_with_score("query", k=50, granularity="mixed", fusion="max")
    assert {document.id: score for document, score in found} == pytest.approx(best, abs=1e-5)
    relevances = store.similarity_search_with_relevance_scores("query", k=50, granularity="mixed")
    assert [document for document, _ in relevances] == [document for document, _ in found]
    with pytest.raises(InvalidInputError, match="fusion='max'"):
        store.similarity_search_with_relevance_scores("query", granularity="mixed", fusion="rrf")


def test_fused_by_ranks(store: MultiGranularFAISS) -> None:
    kinds = ["passage", "sentence"]
    ranks = [
        [document.id for document in store.similarity_search("query", k=50, granularity=granularity)]
        for granularity in kinds
    ]
    expected = {own: sum(1 / (61 + ranking.index(own)) for ranking in ranks) for own in ranks[0]}
    found = store.similarity_search_with_score("query", k=50, granularity=kinds)
    assert {document.id: score for document, score in found} == pytest.approx(expected)
    (best, *_) = store.similarity_search_with_matches("query", k=1, granularity=kinds)
    assert {unit.metadata["granularity"] for unit in best[2]} <= set(kinds)


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
