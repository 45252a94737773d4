"""From a query's text to the hits of the core store: what all searches of `MultiGranularFAISS` share."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.store import UnitStore
from factoid.units import Granularity, Hit, check_text
from langchain_factoid.embeddings import EmbeddingsEncoder


class Querying(VectorStore):
    """Embeds queries and asks a core store."""

    _store: UnitStore
    _encoder: EmbeddingsEncoder

    @property
    @abstractmethod
    def embeddings(self) -> Embeddings:
        """What embeds queries."""

    @property
    def granularities(self) -> tuple[Granularity, ...]:
        """What can be searched."""
        return self._store.granularities

    @property
    def default_granularity(self) -> Granularity:
        """What a search compares with the query unless it is told: propositions, else the finest that is searched."""
        finest = (Granularity.PROPOSITION, Granularity.SENTENCE, Granularity.PASSAGE)
        return next(kind for kind in finest if kind in self.granularities)

    def _embed(self, query: str) -> list[float]:
        check_text(query, "query")
        return self.embeddings.embed_query(query)

    async def _aembed(self, query: str) -> list[float]:
        check_text(query, "query")
        return await self.embeddings.aembed_query(query)

    def _embed_all(self, queries: Sequence[str]) -> Vectors:
        return self._encoder.encode_queries(_checked(queries))

    async def _aembed_all(self, queries: Sequence[str]) -> Vectors:
        return await self._encoder.aencode_queries(_checked(queries))

    def _search(self, embedding: Sequence[float], k: int, **options: Any) -> list[Hit]:
        try:
            vector = np.asarray(embedding, np.float32)
        except (TypeError, ValueError) as error:
            message = f"expected the vector of a query, a list of numbers, got {type(embedding).__name__}"
            raise InvalidInputError(message) from error
        return self._store.search_by_vector(vector, k, **self._defaults(options))

    async def _asearch(self, embedding: Sequence[float], k: int, **options: Any) -> list[Hit]:
        return await asyncio.to_thread(self._search, embedding, k, **options)

    def _search_all(self, embeddings: Vectors, k: int, **options: Any) -> list[list[Hit]]:
        if len(embeddings) == 0:
            return []
        return self._store.search_batch_by_vector(embeddings, k, **self._defaults(options))

    async def _asearch_all(self, embeddings: Vectors, k: int, **options: Any) -> list[list[Hit]]:
        return await asyncio.to_thread(self._search_all, embeddings, k, **options)

    def _defaults(self, options: dict[str, Any]) -> dict[str, Any]:
        if options.get("granularity") is None:
            return options | {"granularity": self.default_granularity}
        return options


def _checked(queries: Sequence[str]) -> Sequence[str]:
    if isinstance(queries, str):
        message = f"expected a list of queries, got the string {queries[:60]!r}"
        raise InvalidInputError(message)
    queries = list(queries)
    for query in queries:
        check_text(query, "query")
    return queries
