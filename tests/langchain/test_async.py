from __future__ import annotations

import threading
from typing import Any

from langchain_core.embeddings import Embeddings

from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, SENTENCES

BY_QUERY = ["similarity_search", "similarity_search_with_score", "similarity_search_with_relevance_scores"]
BY_QUERY.append("max_marginal_relevance_search")
BY_VECTOR = ["similarity_search_by_vector", "max_marginal_relevance_search_by_vector"]


async def test_async_searches_give_the_same(filled: MultiGranularFAISS, embedding: Any) -> None:
    query = "parrot eyes"
    options: dict[str, Any] = {"k": 2, "granularity": "sentence", "filter": {"year": {"$gt": 1700}}, "parents": "unit"}
    for first, names in ((query, BY_QUERY), (embedding.embed_query(query), BY_VECTOR)):
        for name in names:
            expected = getattr(filled, name)(first, **options)
            assert await getattr(filled, f"a{name}")(first, **options) == expected != []


async def test_async_changes_do_the_same(filled: MultiGranularFAISS) -> None:
    assert await filled.aadd_texts(["Ice."], [{"a": 1}], ids=["ice"]) == ["ice"]
    await filled.adelete(filter={"a": 1})
    assert await filled.aget_by_ids(["ice", "olm"]) == [OLM]


async def test_async_leaves_the_loop_free(embedding: Any) -> None:
    store = await MultiGranularFAISS.afrom_documents([OLM, KAKAPO], embedding, propositionizer=SENTENCES)
    assert await store.asimilarity_search("eyes", k=1) == [OLM]
    assert threading.get_ident() not in embedding.threads


async def test_async_awaits_the_embeddings(embedding: Any) -> None:
    class Awaitable(Embeddings):
        embed_documents = embed_query = None  # type: ignore[assignment]

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedding.embed_documents(texts)

        async def aembed_query(self, text: str) -> list[float]:
            return embedding.embed_query(text)

    store = await MultiGranularFAISS.afrom_documents([OLM], Awaitable(), propositionizer=SENTENCES)
    assert await store.asimilarity_search("eyes") == await store.amax_marginal_relevance_search("eyes") == [OLM]
