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
        "parents": st.sampled_from(["document", "passage", "unit"]),
    }
)


@settings(deadline=None, max_examples=80)
@given(options=searches, query=st.sampled_from(["one", "two", "three"]))
def test_hits_are_chosen_as_langchain_does_by_their_best_units(
    store: MultiGranularFAISS, options: dict[str, Any], query: str
) -> None:
    of_search = {name: options[name] for name in ("granularity", "filter", "parents")}
    near = store.store.search(query, max(options["k"], options["fetch_k"]), **of_search)
    texts = [(hit.matches[0].unit if hit.matches else hit.unit).text for hit in near]
    vectors, vector = EMBEDDING.embed_documents(texts), EMBEDDING.embed_query(query)
    chosen = maximal_marginal_relevance(np.array(vector), vectors, lambda_mult=options["lambda_mult"], k=options["k"])
    expected = [near[place].unit.id for place in chosen]
    assert [document.id for document in store.max_marginal_relevance_search(query, **options)] == expected
    by_vector = store.max_marginal_relevance_search_by_vector(vector, **options)
    assert [document.id for document in by_vector] == expected


@pytest.mark.parametrize("parents", ["document", "unit"])
async def test_retrievers(store: MultiGranularFAISS, parents: Any) -> None:
    options: dict[str, Any] = {"k": 5, "fetch_k": 12, "lambda_mult": 0.2, "granularity": "sentence", "parents": parents}
    retriever = MultiGranularRetriever(store=store, search_type="mmr", **options)
    documents = retriever.invoke("one")
    assert documents == store.max_marginal_relevance_search("one", **options)
    assert await retriever.ainvoke("one") == documents
    assert retriever.invoke("one", lambda_mult=1.0) != documents
    assert store.as_retriever(search_type="mmr", search_kwargs=options).invoke("one") == documents
