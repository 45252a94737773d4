"""The searches of `MultiGranularFAISS` that return units: propositions, sentences or, as passages, whole documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_factoid import hits
from langchain_factoid.hits import Scored
from langchain_factoid.querying import Querying


class UnitSearch(Querying):
    """Searches for the units themselves."""

    def similarity_search_units(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Return the k best units themselves: propositions, sentences or, as passages, whole documents.

        A unit has its own text and id, the metadata of its document, and fields that say what it is and where it
        stands, as `PassageTextSplitter` describes them. Its `parent_id` is the id of its document. Options are those of
        `similarity_search`.
        """
        return hits.units(self._search(self._embed(query), k, parents=False, **options))

    async def asimilarity_search_units(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search_units`."""
        return hits.units(await self._asearch(await self._aembed(query), k, parents=False, **options))

    def similarity_search_units_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search_units` for a query that is already embedded."""
        return hits.units(self._search(embedding, k, parents=False, **options))

    async def asimilarity_search_units_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Document]:
        """Do as `similarity_search_units_by_vector`."""
        return hits.units(await self._asearch(embedding, k, parents=False, **options))

    def similarity_search_units_with_score(self, query: str, k: int = 4, **options: Any) -> list[Scored]:
        """Return the k best units themselves with their scores."""
        return hits.scored_units(self._search(self._embed(query), k, parents=False, **options))

    async def asimilarity_search_units_with_score(self, query: str, k: int = 4, **options: Any) -> list[Scored]:
        """Do as `similarity_search_units_with_score`."""
        return hits.scored_units(await self._asearch(await self._aembed(query), k, parents=False, **options))

    def similarity_search_units_batch(self, queries: Sequence[str], k: int = 4, **options: Any) -> list[list[Document]]:
        """Do as `similarity_search_units` for several queries, which are searched together."""
        every = self._search_all(self._embed_all(queries), k, parents=False, **options)
        return [hits.units(found) for found in every]

    async def asimilarity_search_units_batch(
        self, queries: Sequence[str], k: int = 4, **options: Any
    ) -> list[list[Document]]:
        """Do as `similarity_search_units_batch`."""
        every = await self._asearch_all(await self._aembed_all(queries), k, parents=False, **options)
        return [hits.units(found) for found in every]
