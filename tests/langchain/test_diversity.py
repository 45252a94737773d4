"""Maximal marginal relevance under LangChain's names; what it chooses is in tests/search/test_diversity.py."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import SENTENCES

EMBEDDING = DeterministicFakeEmbedding(size=5)
TEXTS = [f"First{n} stands here. Second{n} follows. Third{n} ends." for n in range(40)]


@pytest.mark.parametrize("parents", ["document", "unit"])
async def test_every_way_to_ask_gives_the_same(parents: Any) -> None:
    options: dict[str, Any] = {"k": 5, "fetch_k": 12, "lambda_mult": 0.2, "granularity": "sentence", "parents": parents}
    with MultiGranularFAISS(EMBEDDING, propositionizer=SENTENCES) as store:
        store.add_texts(TEXTS)
        of_core = {"fetch_k": 12, "mmr": 0.2, "granularity": "sentence", "parents": parents, "lexical": 0}
        expected = [hit.unit.id for hit in store.store.search("one", 5, **of_core)]
        documents = store.max_marginal_relevance_search("one", **options)
        assert [document.id for document in documents] == expected
        vector = EMBEDDING.embed_query("one")
        assert store.max_marginal_relevance_search_by_vector(vector, **options) == documents
        retriever = MultiGranularRetriever(store=store, search_type="mmr", **options)
        assert retriever.invoke("one") == await retriever.ainvoke("one") == documents
        assert retriever.invoke("one", lambda_mult=1.0) != documents
        assert store.as_retriever(search_type="mmr", search_kwargs=options).invoke("one") == documents
