"""The searches of `MultiGranularFAISS` that return documents, each sync and async."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.filters import Filter
from langchain_factoid import hits
from langchain_factoid.hits import Match, Scored
from langchain_factoid.querying import Querying


class DocumentSearch(Querying):
    """Searches for documents by the best of their units."""

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        granularity: str | Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - LangChain's own name for it
        **options: Any,
    ) -> list[Document]:
        """Return the k best documents for a query, best first.

        Args:
            query: The question, as text.
            k: How many distinct documents; fewer only if the store has fewer, or fewer pass.
            granularity: The units that are compared with the query; several, or "mixed" for all, are fused. None for
                `default_granularity`.
            filter: Conditions on metadata, applied before the search.
            options: Further ones, which every search takes:

                * `document_ids`: Only these documents.
                * `min_score`: Only what is at least so similar; with "rrf", at some granularity, before the ranks are fused.
                * `fusion`: For several granularities, "rrf" (reciprocal rank fusion; Cormack et al., 2009), whose scores
                  are sums of 1 / (60 + rank), or "max", the best score at any granularity.
                * `expand`: So many sentences before and after each matched unit, and those that it stands in, under
                  `neighbours` in the metadata of what is returned; the store must search sentences. Around a passage,
                  passages.
                * `parameters`: For approximate indexes, such as {"nprobe": 32} or {"efSearch": 128}.
                * `refine`: For compressed indexes: so many candidates for each hit are scored again exactly.

                An unknown one is a TypeError.

        Raises:
            InvalidInputError: k below 1, a granularity that the store does not search, a filter without meaning, or an
                option that is out of range.
            EncoderMismatchError: The query's embedding has another dimension than the store's.
        """
        found = self._search(self._embed(query), k, granularity=granularity, filter=filter, **options)
        return hits.documents(found)

    async def asimilarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search`."""
        return hits.documents(await self._asearch(await self._aembed(query), k, **options))

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search` for a query that is already embedded."""
        return hits.documents(self._search(embedding, k, **options))

    async def asimilarity_search_by_vector(self, embedding: list[float], k: int = 4, **options: Any) -> list[Document]:
        """Do as `similarity_search_by_vector`."""
        return hits.documents(await self._asearch(embedding, k, **options))

    def similarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> list[Scored]:
        """Return the k best documents, each with the score of its best unit."""
        return hits.scored_documents(self._search(self._embed(query), k, **options))

    async def asimilarity_search_with_score(self, query: str, k: int = 4, **options: Any) -> list[Scored]:
        """Do as `similarity_search_with_score`."""
        return hits.scored_documents(await self._asearch(await self._aembed(query), k, **options))

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Scored]:
        """Do as `similarity_search_with_score` for a query that is already embedded."""
        return hits.scored_documents(self._search(embedding, k, **options))

    async def asimilarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Scored]:
        """Do as `similarity_search_with_score_by_vector`."""
        return hits.scored_documents(await self._asearch(embedding, k, **options))

    def similarity_search_with_matches(self, query: str, k: int = 4, **options: Any) -> list[Match]:
        """Return the k best documents, each with its score and its matched units, best first, as unit documents.

        The units carry their own `score` in their metadata.
        """
        return hits.matched_documents(self._search(self._embed(query), k, **options))

    async def asimilarity_search_with_matches(self, query: str, k: int = 4, **options: Any) -> list[Match]:
        """Do as `similarity_search_with_matches`."""
        return hits.matched_documents(await self._asearch(await self._aembed(query), k, **options))

    # Several queries in one call

    def similarity_search_batch(self, queries: Sequence[str], k: int = 4, **options: Any) -> list[list[Document]]:
        """Do as `similarity_search` for several queries, which are searched together; return what each finds."""
        return [hits.documents(found) for found in self._search_all(self._embed_all(queries), k, **options)]

    async def asimilarity_search_batch(
        self, queries: Sequence[str], k: int = 4, **options: Any
    ) -> list[list[Document]]:
        """Do as `similarity_search_batch`."""
        every = await self._asearch_all(await self._aembed_all(queries), k, **options)
        return [hits.documents(found) for found in every]

    def similarity_search_batch_with_score(
        self, queries: Sequence[str], k: int = 4, **options: Any
    ) -> list[list[Scored]]:
        """Do as `similarity_search_with_score` for several queries, which are searched together."""
        return [hits.scored_documents(found) for found in self._search_all(self._embed_all(queries), k, **options)]

    async def asimilarity_search_batch_with_score(
        self, queries: Sequence[str], k: int = 4, **options: Any
    ) -> list[list[Scored]]:
        """Do as `similarity_search_batch_with_score`."""
        every = await self._asearch_all(await self._aembed_all(queries), k, **options)
        return [hits.scored_documents(found) for found in every]

    # Relevance scores: LangChain's own methods call these

    def _similarity_search_with_relevance_scores(self, query: str, k: int = 4, **options: Any) -> list[Scored]:
        return super()._similarity_search_with_relevance_scores(query, k, **comparable(options))

    async def _asimilarity_search_with_relevance_scores(self, query: str, k: int = 4, **options: Any) -> list[Scored]:
        return await super()._asimilarity_search_with_relevance_scores(query, k, **comparable(options))

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """Map the scores of unit vectors, cosines from -1 to 1, onto 0 to 1 in equal steps; others are clipped."""
        return relevance


def relevance(score: float) -> float:
    """Return (1 + score) / 2, clipped to 0 and 1.

    Cosines, and inner products of unit vectors, are from -1 to 1: equal directions give 1, orthogonal ones 0.5. Inner
    products of longer vectors may lie beyond, and are clipped.
    """
    return min(max((1 + score) / 2, 0.0), 1.0)


def comparable(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a search whose scores are to be similarities: several granularities are fused by "max".

    Raises:
        InvalidInputError: The fusion is one by ranks.
    """
    if options.get("fusion", "max") != "max":
        message = f"relevance scores need similarities: fuse granularities with fusion='max', got {options['fusion']!r}"
        raise InvalidInputError(message)
    return options | {"fusion": "max"}
