"""The searches of `MultiGranularFAISS`, each sync and async."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from factoid.filters import Filter
from factoid.search import most_diverse
from factoid.store import UnitStore
from factoid.units import Granularity, Hit, check_text
from langchain_factoid.convert import stored_document, unit_document

Match = tuple[Document, float, list[Document]]


class GranularSearch(VectorStore):
    """Searches at one granularity over a core store, for documents or for the units in them."""

    _store: UnitStore

    @property
    @abstractmethod
    def embeddings(self) -> Embeddings:
        """What embeds queries."""

    # For documents

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        granularity: str = Granularity.PROPOSITION,
        filter: Filter | None = None,  # noqa: A002 - LangChain's own name for it
        **options: Any,
    ) -> list[Document]:
        """Return the k best documents for a query, best first.

        Args:
            query: The question, as text.
            k: How many distinct documents; fewer only if the store has fewer.
            granularity: The units that are compared with the query.
            filter: Conditions on metadata, applied before the search.
            options: None so far; an unknown one is a TypeError.

        Raises:
            InvalidInputError: k below 1, a granularity that the store does not search, or a filter without meaning.
            EncoderMismatchError: The query's embedding has another dimension than the store's.
        """
        return _documents(self._search(self._embed(query), k, granularity=granularity, filter=filter, **options))

    async def asimilarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search`."""
        return _documents(await self._asearch(await self._aembed(query), k, **options))

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search` for a query that is already embedded."""
        return _documents(self._search(embedding, k, **options))

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search_by_vector`."""
        return _documents(await self._asearch(embedding, k, **options))

    def similarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> list[tuple[Document, float]]:
        """Return the k best documents, each with the score of its best unit."""
        return [(stored_document(hit.unit), hit.score) for hit in self._search(self._embed(query), k, **options)]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Do as `similarity_search_with_score`."""
        hits = await self._asearch(await self._aembed(query), k, **options)
        return [(stored_document(hit.unit), hit.score) for hit in hits]

    def similarity_search_with_matches(self, query: str, k: int = 4, **options: Any) -> list[Match]:
        """Return the k best documents, each with its score and its matched units, best first, as unit documents.

        The units carry their own `score` in their metadata.
        """
        return _with_matches(self._search(self._embed(query), k, **options))

    async def asimilarity_search_with_matches(self, query: str, k: int = 4, **options: Any) -> list[Match]:
        """Do as `similarity_search_with_matches`."""
        return _with_matches(await self._asearch(await self._aembed(query), k, **options))

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Return k documents that are near the query and far from each other, both by their best units' cosines.

        Args:
            query: The question, as text.
            k: How many to return.
            fetch_k: How many of the best documents to choose from; at least k are.
            lambda_mult: Weight of the nearness to the query, from 0 (only diversity counts) to 1 (it does not).
            options: As in `similarity_search`.
        """
        vector = self._embed(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **options)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search`."""
        vector = await self._aembed(query)
        return await self.amax_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **options)

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search` for a query that is already embedded."""
        hits = self._search(embedding, max(k, fetch_k) if k > 0 else k, **options)  # k below 1 is the store's to refuse
        if not hits:
            return []
        best = [hit.matches[0].unit.id for hit in hits]
        stored = self._store.vectors(best)
        candidates = np.stack([stored[own] for own in best])
        chosen = most_diverse(np.array(embedding, np.float32), candidates, k=k, lambda_mult=lambda_mult)
        return _documents([hits[position] for position in chosen])

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search_by_vector`."""
        search = self.max_marginal_relevance_search_by_vector
        return await asyncio.to_thread(search, embedding, k, fetch_k, lambda_mult, **options)

    # For units

    def similarity_search_units(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Return the k best units themselves: propositions, sentences or, as passages, whole documents.

        A unit has its own text and id, the metadata of its document, and fields that say what it is and where it
        stands, as `PassageTextSplitter` describes them. Its `parent_id` is the id of its document.
        """
        return [unit_document(hit.unit) for hit in self._search(self._embed(query), k, parents=False, **options)]

    async def asimilarity_search_units(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search_units`."""
        hits = await self._asearch(await self._aembed(query), k, parents=False, **options)
        return [unit_document(hit.unit) for hit in hits]

    def similarity_search_units_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the k best units themselves with their scores."""
        hits = self._search(self._embed(query), k, parents=False, **options)
        return [(unit_document(hit.unit), hit.score) for hit in hits]

    async def asimilarity_search_units_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Do as `similarity_search_units_with_score`."""
        hits = await self._asearch(await self._aembed(query), k, parents=False, **options)
        return [(unit_document(hit.unit), hit.score) for hit in hits]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """Map the inner product of unit vectors, from -1 to 1, onto 0 to 1; scores of longer vectors are clipped."""
        return lambda score: min(max((1 + score) / 2, 0.0), 1.0)

    def _embed(self, query: str) -> list[float]:
        check_text(query, "query")
        return self.embeddings.embed_query(query)

    async def _aembed(self, query: str) -> list[float]:
        check_text(query, "query")
        return await self.embeddings.aembed_query(query)

    def _search(self, embedding: Sequence[float], k: int, **options: Any) -> list[Hit]:
        return self._store.search_by_vector(np.array(embedding, np.float32), k, **options)

    async def _asearch(self, embedding: Sequence[float], k: int, **options: Any) -> list[Hit]:
        return await asyncio.to_thread(self._search, embedding, k, **options)


def _documents(hits: Sequence[Hit]) -> list[Document]:
    return [stored_document(hit.unit) for hit in hits]


def _with_matches(hits: Sequence[Hit]) -> list[Match]:
    return [
        (
            stored_document(hit.unit),
            hit.score,
            [unit_document(match.unit, score=match.score) for match in hit.matches],
        )
        for hit in hits
    ]
