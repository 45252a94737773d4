"""Maximal marginal relevance, against LangChain's own `maximal_marginal_relevance`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import SENTENCES

EMBEDDING = DeterministicFakeEmbedding(size=5)
TEXTS = [f"First{n} stands here. Second{n} follows. Third{n} ends." for n in range(40)]


@pytest.fixture(scope="module", params=["inner_product", "cosine"])
def store(request: pytest.FixtureRequest) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(EMBEDDING, propositionizer=SENTENCES, similarity=request.param) as store:
        store.add_texts(TEXTS, [{"even": n % 2 == 0} for n in range(40)])
        yield store


searches = st.fixed_dictionaries(
    {
        "k": st.integers(1, 12),
        "fetch_k": st.sampled_from([1, 5, 20, 200]),
        "lambda_mult": st.sampled_from([0.0, 0.3, 0.5, 1.0]),
        "granularity": st.sampled_from(["passage", "sentence", "proposition"]),
        "filter": st.sampled_from([None, {"even": True}]),
    }
)


@settings(deadline=None, max_examples=60)
@given(options=searches, query=st.sampled_from(["one", "two", "three"]))
def test_documents_are_chosen_as_langchain_does_by_their_best_units(
    store: MultiGranularFAISS, options: dict[str, Any], query: str
) -> None:
    of_search = {name: options[name] for name in ("granularity", "filter")}
    wide = max(options["k"], options["fetch_k"])
    near = store.similarity_search_with_matches(query, wide, **of_search)
    vectors = EMBEDDING.embed_documents([units[0].page_content for _, _, units in near])
    vector = EMBEDDING.embed_query(query)
    chosen = maximal_marginal_relevance(np.array(vector), vectors, lambda_mult=options["lambda_mult"], k=options["k"])
    expected = [(near[place][0], near[place][1]) for place in chosen]
    assert store.max_marginal_relevance_search(query, **options) == [document for document, _ in expected]
    assert store.max_marginal_relevance_search_by_vector(vector, **options) == [document for document, _ in expected]
    assert store.max_marginal_relevance_search_with_score_by_vector(vector, **options) == expected


@settings(deadline=None, max_examples=60)
@given(options=searches, query=st.sampled_from(["one", "two", "three"]))
def test_units_are_chosen_as_langchain_does(store: MultiGranularFAISS, options: dict[str, Any], query: str) -> None:
    of_search = {name: options[name] for name in ("granularity", "filter")}
    near = store.similarity_search_units(query, max(options["k"], options["fetch_k"]), **of_search)
    vectors = EMBEDDING.embed_documents([unit.page_content for unit in near])
    vector = EMBEDDING.embed_query(query)
    chosen = maximal_marginal_relevance(np.array(vector), vectors, lambda_mult=options["lambda_mult"], k=options["k"])
    expected = [near[place] for place in chosen]
    assert store.max_marginal_relevance_search_units(query, **options) == expected
    assert store.max_marginal_relevance_search_units_by_vector(vector, **options) == expected


@pytest.mark.parametrize("returns", ["parents", "units"])
async def test_retrievers(store: MultiGranularFAISS, returns: Any) -> None:
    options: dict[str, Any] = {"k": 5, "fetch_k": 12, "lambda_mult": 0.2, "granularity": "sentence"}
    retriever = MultiGranularRetriever(store=store, returns=returns, search_type="mmr", **options)
    found = retriever.invoke("one")
    search = store.max_marginal_relevance_search_units if returns == "units" else store.max_marginal_relevance_search
    assert [document.id for document in found] == [document.id for document in search("one", **options)]
    assert await retriever.ainvoke("one") == found
    assert retriever.invoke("one", lambda_mult=1.0) != found
    if returns == "parents":
        by_langchain = store.as_retriever(search_type="mmr", search_kwargs=options)
        assert [document.id for document in by_langchain.invoke("one")] == [document.id for document in found]


def test_several_granularities(store: MultiGranularFAISS) -> None:
    found = store.max_marginal_relevance_search("one", k=6, granularity="mixed", lambda_mult=0.1)
    assert len({document.id for document in found}) == 6
    assert found[0] in store.similarity_search("one", k=20, granularity="mixed")


def test_bad_arguments_are_refused(store: MultiGranularFAISS) -> None:
    for lambda_mult in (-0.1, 1.5):
        with pytest.raises(InvalidInputError, match="lambda_mult"):
            store.max_marginal_relevance_search("one", lambda_mult=lambda_mult)
    with pytest.raises(InvalidInputError, match="fetch_k"):
        store.max_marginal_relevance_search_units("one", fetch_k=0)
