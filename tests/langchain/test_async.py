from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from langchain_core.embeddings import Embeddings

from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import GRANULARITIES, KAKAPO, OLM, SENTENCES


async def test_async_twins_give_the_same(filled: MultiGranularFAISS, embedding: Any) -> None:
    query, vector = "parrot eyes", embedding.embed_query("parrot eyes")
    options: dict[str, Any] = {"k": 2, "granularity": "sentence", "filter": {"year": {"$gt": 1700}}}
    calls: list[tuple[str, Any]] = [
        ("similarity_search", query),
        ("similarity_search_by_vector", vector),
        ("similarity_search_with_score", query),
        ("similarity_search_with_relevance_scores", query),
        ("similarity_search_with_matches", query),
        ("similarity_search_units", query),
        ("similarity_search_units_with_score", query),
        ("max_marginal_relevance_search", query),
        ("max_marginal_relevance_search_by_vector", vector),
    ]
    for name, argument in calls:
        expected = getattr(filled, name)(argument, **options)
        assert len(expected) == 2
        assert await getattr(filled, f"a{name}")(argument, **options) == expected
    assert await filled.aget_by_ids(["olm", "none"]) == [OLM]
    await filled.adelete(["olm"])
    assert filled.get_by_ids(["olm"]) == []
    assert await filled.aadd_documents([OLM, KAKAPO], ids=["x", None]) == ["x", "kakapo"]
    assert await filled.aadd_texts(["Ice."], [{"a": 1}], ids=["ice"], batch_size=1) == ["ice"]
    assert len(filled.similarity_search("it", k=9)) == 4


async def test_async_adds_store_the_same_units(embedding: Any, propositionizer: ScriptedPropositionizer) -> None:
    options: dict[str, Any] = {"propositionizer": propositionizer}
    one = MultiGranularFAISS.from_documents([KAKAPO, OLM], embedding, **options)
    two = await MultiGranularFAISS.afrom_documents([KAKAPO, OLM], embedding, **options)
    for granularity in GRANULARITIES:
        found = [store.similarity_search_units_with_score("olm", k=99, granularity=granularity) for store in (one, two)]
        assert found[0] == found[1] != []


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
