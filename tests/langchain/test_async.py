from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from factoid.errors import StoreError
from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import GRANULARITIES, KAKAPO, OLM, SENTENCES

# What each search takes first; all of them take k, granularity and filter.
SEARCHES: dict[str, list[str]] = {
    "query": [
        "similarity_search",
        "similarity_search_with_score",
        "similarity_search_with_relevance_scores",
        "similarity_search_with_matches",
        "similarity_search_units",
        "similarity_search_units_with_score",
        "max_marginal_relevance_search",
        "max_marginal_relevance_search_units",
    ],
    "vector": [
        "similarity_search_by_vector",
        "similarity_search_with_score_by_vector",
        "similarity_search_units_by_vector",
        "max_marginal_relevance_search_by_vector",
        "max_marginal_relevance_search_with_score_by_vector",
        "max_marginal_relevance_search_units_by_vector",
    ],
    "queries": ["similarity_search_batch", "similarity_search_batch_with_score", "similarity_search_units_batch"],
}
OPTIONS: list[dict[str, Any]] = [
    {"k": 2, "granularity": "sentence", "filter": {"year": {"$gt": 1700}}},
    {"k": 2, "granularity": "mixed", "fusion": "max", "document_ids": ["kakapo", "olm"]},
    {"k": 2, "expand": 1, "min_score": 0.01},
]


def test_every_method_has_its_async_twin() -> None:
    names = {name for name in dir(MultiGranularFAISS) if not name.startswith("_")}
    plain = {name for name in names if callable(getattr(MultiGranularFAISS, name)) and f"a{name}" not in names}
    twins = {name for name in plain if name[1:] in names}
    assert plain - twins == {"as_retriever"}  # it makes one, and searches nothing
    every = {name for found in SEARCHES.values() for name in found}
    assert every == {name for name in names if name.startswith(("similarity_", "max_"))}
    own = {name for each in MultiGranularFAISS.__mro__ if "factoid" in each.__module__ for name in vars(each)}
    left_to_langchain = {f"a{name}" for name in every} - own
    assert left_to_langchain == {"asimilarity_search_with_relevance_scores"}  # which calls our own


@pytest.mark.parametrize("options", OPTIONS)
async def test_async_searches_give_the_same(
    filled: MultiGranularFAISS, embedding: Any, options: dict[str, Any]
) -> None:
    query = "parrot eyes"
    given = {"query": query, "vector": embedding.embed_query(query), "queries": [query, "methane", "zzz"]}
    for first, names in SEARCHES.items():
        for name in names:
            expected = getattr(filled, name)(given[first], **options)
            assert expected
            assert await getattr(filled, f"a{name}")(given[first], **options) == expected
    for search_type in ("similarity", "mmr"):
        expected = filled.search(query, search_type, **options)
        assert await filled.asearch(query, search_type, **options) == expected != []


async def test_async_changes_do_the_same(filled: MultiGranularFAISS) -> None:
    assert await filled.aget_by_ids(["olm", "none"]) == [OLM]
    assert await filled.aupdate_metadata({"new": 1}, filter={"year": 1768}) == 5
    (changed,) = await filled.aget_by_ids(["olm"])
    assert changed.metadata == {"year": 1768, "new": 1}
    await filled.adelete(["olm"])
    assert filled.get_by_ids(["olm"]) == []
    assert await filled.aadd_documents([OLM, KAKAPO], ids=["x", None]) == ["x", "kakapo"]
    assert await filled.aadd_texts(["Ice."], [{"a": 1}], ids=["ice"], batch_size=1) == ["ice"]
    assert len(filled.similarity_search("it", k=9)) == 4
    await filled.arefresh()
    await filled.adelete(filter={"a": 1})
    assert filled.get_by_ids(["ice"]) == []
    await filled.aclear()
    assert filled.similarity_search("it") == []


async def test_async_context(embedding: Any, tmp_path: Path) -> None:
    async with MultiGranularFAISS(embedding, propositionizer=SENTENCES, path=tmp_path / "store") as store:
        await store.aadd_documents([OLM])
    with pytest.raises(StoreError, match="closed"):
        await store.asimilarity_search("olm")
    await store.aclose()  # once more


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


async def test_many_at_once(store: MultiGranularFAISS) -> None:
    async def add(start: int) -> None:
        rows = [Document(id=str(n), page_content=f"Row {n} is here.") for n in range(start, start + 10)]
        await store.aadd_documents(rows, batch_size=3)

    async def search() -> int:
        found = await store.asimilarity_search("row", k=99, granularity="mixed")
        assert len({document.id for document in found}) == len(found)
        return len(found)

    await add(0)
    counts = await asyncio.gather(*(each for n in range(1, 9) for each in (add(10 * n), search(), search())))
    assert all(count is None or 10 <= count <= 90 for count in counts)
    assert await search() == 90
