"""The searches of `MultiGranularFAISS` by maximal marginal relevance (Carbonell and Goldstein, 1998), sync and async."""

from __future__ import annotations

from numbers import Real
from typing import Any

from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from langchain_factoid import hits
from langchain_factoid.hits import Scored
from langchain_factoid.querying import Querying


class DiverseSearch(Querying):
    """Searches for documents, or units, that are near the query and far from each other."""

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
        found = self._search(self._embed(query), k, **diverse(fetch_k, lambda_mult, options))
        return hits.documents(found)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search`."""
        found = await self._asearch(await self._aembed(query), k, **diverse(fetch_k, lambda_mult, options))
        return hits.documents(found)

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search` for a query that is already embedded."""
        return hits.documents(self._search(embedding, k, **diverse(fetch_k, lambda_mult, options)))

    async def amax_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search_by_vector`."""
        return hits.documents(await self._asearch(embedding, k, **diverse(fetch_k, lambda_mult, options)))

    def max_marginal_relevance_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Scored]:
        """Do as `max_marginal_relevance_search_by_vector`; return each document with the score of its best unit."""
        return hits.scored_documents(self._search(embedding, k, **diverse(fetch_k, lambda_mult, options)))

    async def amax_marginal_relevance_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Scored]:
        """Do as `max_marginal_relevance_search_with_score_by_vector`."""
        found = await self._asearch(embedding, k, **diverse(fetch_k, lambda_mult, options))
        return hits.scored_documents(found)

    def max_marginal_relevance_search_units(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search` for the units themselves."""
        return self.max_marginal_relevance_search_units_by_vector(
            self._embed(query), k, fetch_k, lambda_mult, **options
        )

    async def amax_marginal_relevance_search_units(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search_units`."""
        vector = await self._aembed(query)
        return await self.amax_marginal_relevance_search_units_by_vector(vector, k, fetch_k, lambda_mult, **options)

    def max_marginal_relevance_search_units_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search_units` for a query that is already embedded."""
        return hits.units(self._search(embedding, k, parents=False, **diverse(fetch_k, lambda_mult, options)))

    async def amax_marginal_relevance_search_units_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Do as `max_marginal_relevance_search_units_by_vector`."""
        found = await self._asearch(embedding, k, parents=False, **diverse(fetch_k, lambda_mult, options))
        return hits.units(found)


def diverse(fetch_k: int, lambda_mult: float, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a search by maximal marginal relevance, under the core's names.

    Raises:
        InvalidInputError: `lambda_mult` is not from 0 to 1.
    """
    if not isinstance(lambda_mult, Real) or not 0 <= lambda_mult <= 1:
        message = f"lambda_mult must be from 0 (only diversity counts) to 1 (it does not), got {lambda_mult!r}"
        raise InvalidInputError(message)
    return options | {"mmr": lambda_mult, "fetch_k": fetch_k}
