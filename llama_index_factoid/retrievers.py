"""A LlamaIndex retriever that says which facts made each result."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings.utils import resolve_embed_model
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.settings import Settings
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery

from factoid.errors import InvalidInputError
from factoid.units import Granularity
from llama_index_factoid.convert import add_fields
from llama_index_factoid.queries import Returns
from llama_index_factoid.vector_store import MultiGranularFaissVectorStore, MultiGranularQueryResult


class MultiGranularRetriever(BaseRetriever):
    """Retrieves passages by their facts: the k best distinct parents of the units nearest to the query.

    Each parent carries `matches` in its metadata, best first: `text`, `score`, `start_char_idx`, `end_char_idx`,
    `granularity` and `id` of the units that made it a result. They are excluded from the texts that models get.

    Args:
        store: A `MultiGranularFaissVectorStore`, or a `VectorStoreIndex` over one.
        embed_model: Embeds queries; None for the index's own, else that of `Settings`.
        k: How many nodes; fewer only if the store has fewer.
        granularity: What queries are compared with: "passage", "sentence" or "proposition".
        returns: "parents", or "units" for the nodes that were compared themselves.
        filters: Conditions on metadata, applied before the search.
        **options: Those of the framework's `BaseRetriever`, as `callback_manager`.

    Raises:
        InvalidInputError: The store is of another class; on use, k is below 1, or the store does not search this
            granularity.
    """

    def __init__(
        self,
        store: VectorStoreIndex | MultiGranularFaissVectorStore,
        embed_model: BaseEmbedding | None = None,
        *,
        k: int = 4,
        granularity: str = Granularity.PROPOSITION,
        returns: Returns = "parents",
        filters: MetadataFilters | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        vector_store = store.vector_store if isinstance(store, VectorStoreIndex) else store
        if not isinstance(vector_store, MultiGranularFaissVectorStore):
            message = (
                "MultiGranularRetriever needs a MultiGranularFaissVectorStore or a VectorStoreIndex over one, "
                f"got {type(vector_store).__name__}"
            )
            raise InvalidInputError(message)
        if embed_model is None and isinstance(store, VectorStoreIndex):
            embed_model = store._embed_model
        self._store = vector_store
        self._embed_model = resolve_embed_model(embed_model or Settings.embed_model)
        self._k = k
        self._granularity = granularity
        self._returns = returns
        self._filters = filters

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embedding = query_bundle.embedding
        if embedding is None:
            embedding = self._embed_model.get_agg_embedding_from_queries(_texts(query_bundle))
        query = self._query(query_bundle, embedding)
        return _scored(self._store.query(query, granularity=self._granularity, returns=self._returns))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embedding = query_bundle.embedding
        if embedding is None:
            embedding = await self._embed_model.aget_agg_embedding_from_queries(_texts(query_bundle))
        query = self._query(query_bundle, embedding)
        return _scored(await self._store.aquery(query, granularity=self._granularity, returns=self._returns))

    def _query(self, query_bundle: QueryBundle, embedding: list[float]) -> VectorStoreQuery:
        return VectorStoreQuery(
            query_embedding=embedding,
            query_str=query_bundle.query_str,
            similarity_top_k=self._k,
            filters=self._filters,
        )


def _texts(query_bundle: QueryBundle) -> list[str]:
    return query_bundle.embedding_strs or [query_bundle.query_str]  # the framework drops an empty query


def _scored(result: MultiGranularQueryResult) -> list[NodeWithScore]:
    """Return nodes with their scores and, in their metadata, their matches."""
    found = []
    for node, score, matches in zip(result.nodes or [], result.similarities or [], result.matches, strict=True):
        if matches:
            add_fields(node, {"matches": matches})
        found.append(NodeWithScore(node=node, score=score))
    return found
