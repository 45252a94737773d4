from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.embeddings import Embeddings

from factoid.errors import StoreError
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import KAKAPO, OLM, SENTENCES

# What each search takes first; all of them take k, granularity and filter.
SEARCHES: dict[str, list[str]] = {
    "query": [
        "similarity_search",
        "similarity_search_with_score",
        "similarity_search_with_relevance_scores",
        "max_marginal_relevance_search",
    ],
    "vector": ["similarity_search_by_vector", "max_marginal_relevance_search_by_vector"],
}


async def test_async_searches_give_the_same(filled: MultiGranularFAISS, embedding: Any) -> None:
    query = "parrot eyes"
    options: dict[str, Any] = {"k": 2, "granularity": "sentence", "filter": {"year": {"$gt": 1700}}, "parents": "unit"}
    first_arguments = {"query": query, "vector": embedding.embed_query(query)}
    for first, names in SEARCHES.items():
        for name in names:
            expected = getattr(filled, name)(first_arguments[first], **options)
            assert expected
            assert await getattr(filled, f"a{name}")(first_arguments[first], **options) == expected
    for search_type in ("similarity", "mmr"):
        expected = filled.search(query, search_type, **options)
        assert await filled.asearch(query, search_type, **options) == expected != []


async def test_async_changes_do_the_same(filled: MultiGranularFAISS) -> None:
    assert await filled.aget_by_ids(["olm", "none"]) == [OLM]
    await filled.adelete(["olm"])
    assert filled.get_by_ids(["olm"]) == []
    assert await filled.aadd_documents([OLM, KAKAPO], ids=["x", None]) == ["x", "kakapo"]
    assert await filled.aadd_texts(["Ice."], [{"a": 1}], ids=["ice"]) == ["ice"]
    assert len(filled.similarity_search("it", k=9)) == 4
    await filled.adelete(filter={"a": 1})
    assert filled.get_by_ids(["ice"]) == []


async def test_async_context(embedding: Any, tmp_path: Path) -> None:
    async with MultiGranularFAISS(embedding, propositionizer=SENTENCES, path=tmp_path / "store") as store:
        await store.aadd_documents([OLM])
    with pytest.raises(StoreError, match="closed"):
        await store.asimilarity_search("olm")
    await store.aclose()  # once more


class _Gated(Embeddings):
    """Embeds only while the event loop is free."""

    def __init__(self, inner: Embeddings, wait: Callable[[], None]) -> None:
        self._inner, self._wait = inner, wait

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self._wait()
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        self._wait()
        return self._inner.embed_query(text)


async def test_async_leaves_the_loop_free(embedding: Any, gate: Any) -> None:
    store = MultiGranularFAISS(_Gated(embedding, gate.pass_through), propositionizer=SENTENCES)
    gate.open_soon()
    await asyncio.gather(store.aadd_documents([OLM]), store.aadd_documents([KAKAPO]))
    assert (await store.asimilarity_search("eyes", k=1)) == [OLM]


async def test_async_awaits_the_embeddings(embedding: Any) -> None:
    class Awaitable(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError

        embed_query = embed_documents  # type: ignore[assignment]

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedding.embed_documents(texts)

        async def aembed_query(self, text: str) -> list[float]:
            return embedding.embed_query(text)

    store = await MultiGranularFAISS.afrom_documents([OLM], Awaitable(), propositionizer=SENTENCES)
    assert await store.asimilarity_search("eyes") == [OLM]
    assert await store.amax_marginal_relevance_search("eyes") == [OLM]
