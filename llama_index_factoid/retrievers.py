"""A LlamaIndex retriever that says which facts made each result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.embeddings.utils import resolve_embed_model
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.settings import Settings
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery, VectorStoreQueryMode

from factoid.errors import InvalidInputError
from factoid.store.options import SearchOptions, whole_number
from llama_index_factoid.convert import add_fields
from llama_index_factoid.filter_tree import to_tree
from llama_index_factoid.queries import QueryOptions, Returns, check_mode
from llama_index_factoid.results import MultiGranularQueryResult
from llama_index_factoid.vector_store import MultiGranularFaissVectorStore


class MultiGranularRetriever(BaseRetriever):
    """Retrieves passages by their facts: the k best distinct parents of the units nearest to the query.

    Each parent carries `matches` in its metadata, best first: `text`, `score`, `start_char_idx`, `end_char_idx`,
    `granularity` and `id` of the units that made it a result. With `expand`, parents and units also carry `neighbours`,
    the same without scores, in order of the text. Both are excluded from the texts that models get.

    Args:
        store: A `MultiGranularFaissVectorStore`, or a `VectorStoreIndex` over one.
        embed_model: Embeds queries; None for the index's own, else that of `Settings`.
        k: How many nodes; fewer only if the store has fewer.
        granularity: What queries are compared with: "passage", "sentence" or "proposition", several of them, or "mixed";
            None for the store's own.
        returns: "parents", or "units" for the nodes that were compared themselves.
        filters: Conditions on metadata, applied before the search.
        mode: "default", or "mmr" for results that differ from each other.
        expand: Give so many sentences before and after each match as `neighbours`.
        min_score: Only nodes with at least this score.
        search_kwargs: Further options of `MultiGranularFaissVectorStore.query`, such as `fusion`, `parameters` or
            `mmr_threshold`.
        **options: Those of the framework's `BaseRetriever`, as `callback_manager`.

    Raises:
        InvalidInputError: The store is of another class, k is below 1, an option is unknown, or the store does not
            search this granularity, or does not answer this mode.
    """

    def __init__(
        self,
        store: VectorStoreIndex | MultiGranularFaissVectorStore,
        embed_model: BaseEmbedding | None = None,
        *,
        k: int = 4,
        granularity: str | Sequence[str] | None = None,
        returns: Returns = "parents",
        filters: MetadataFilters | None = None,
        mode: str = VectorStoreQueryMode.DEFAULT,
        expand: int = 0,
        min_score: float | None = None,
        search_kwargs: Mapping[str, Any] | None = None,
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
        self._k = whole_number("k", k)
        self._filters = filters
        self._mode = _mode(mode)
        self._search = {"granularity": granularity, "returns": returns, "expand": expand, "min_score": min_score}
        self._search |= search_kwargs or {}
        chosen = QueryOptions.of(self._search, granularity=vector_store.granularity, returns=vector_store.returns)
        SearchOptions(granularity=chosen.granularity).kinds(vector_store.client.granularities)
        to_tree(filters)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embedding = query_bundle.embedding
        if embedding is None:
            embedding = self._embed_model.get_agg_embedding_from_queries(_texts(query_bundle))
        query = self._query(query_bundle, embedding)
        return _scored(self._store.query(query, **self._search))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embedding = query_bundle.embedding
        if embedding is None:
            embedding = await self._embed_model.aget_agg_embedding_from_queries(_texts(query_bundle))
        query = self._query(query_bundle, embedding)
        return _scored(await self._store.aquery(query, **self._search))

    def _query(self, query_bundle: QueryBundle, embedding: list[float]) -> VectorStoreQuery:
        return VectorStoreQuery(
            query_embedding=embedding,
            query_str=query_bundle.query_str,
            similarity_top_k=self._k,
            filters=self._filters,
            mode=self._mode,
        )


def _mode(name: str) -> VectorStoreQueryMode:
    try:
        mode = VectorStoreQueryMode(name)
    except ValueError as error:
        message = f"unknown mode {name!r}: use mode default or mmr"
        raise InvalidInputError(message) from error
    check_mode(mode)
    return mode


def _texts(query_bundle: QueryBundle) -> list[str]:
    return query_bundle.embedding_strs or [query_bundle.query_str]  # the framework drops an empty query


def _scored(result: MultiGranularQueryResult) -> list[NodeWithScore]:
    """Return nodes with their scores and, in their metadata, their matches and neighbours."""
    found = []
    reasons = zip(result.matches, result.neighbours, strict=True)
    for node, score, why in zip(result.nodes or [], result.similarities or [], reasons, strict=True):
        if added := {name: own for name, own in zip(("matches", "neighbours"), why, strict=True) if own}:
            add_fields(node, added)
        found.append(NodeWithScore(node=node, score=score))
    return found
