"""A LlamaIndex retriever that says which facts made each result."""

from __future__ import annotations

from typing import Unpack

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.vector_stores.types import (
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from factoid.framework import (
    BY_TOKENS,
    EncoderMismatchError,
    InvalidInputError,
    token_vector_encoder,
)
from llama_index_factoid.embeddings import LlamaIndexEncoder
from llama_index_factoid.vector_store import MultiGranularFaissVectorStore, QueryKwargs


class MultiGranularRetriever(VectorIndexRetriever):
    """Retrieves passages by their facts.

    The k best distinct parents of the units nearest to the query. Each parent carries `matches` in
    its metadata, best first: `text`, `score`, `start_char_idx`, `end_char_idx`, `granularity` and
    `id` of the units that made it a result. With `expand`, parents and units also carry
    `neighbours`, the same without scores, in order of the text. Both are excluded from the texts
    that models get, and from the node's `hash`: a `QueryFusionRetriever` returns a node that
    several queries find once, with the matches of one of them.

    Args:
        store: A `MultiGranularFaissVectorStore`, or a `VectorStoreIndex` over one.
        embed_model: Embeds queries; None for the index's own or the store's, else that of
            `Settings`.
        k: The number of nodes; `similarity_top_k` is the framework's name for it.
        filters: Conditions on metadata, applied before the search.
        mode: As in `MultiGranularFaissVectorStore.query`.
        **options: Those of `MultiGranularFaissVectorStore.query`.

    Raises:
        InvalidInputError: The store is of another class, or an option is unknown or out of range.
        EncoderMismatchError: The store was opened with another embedding model.
    """

    def __init__(
        self,
        store: VectorStoreIndex | MultiGranularFaissVectorStore,
        embed_model: BaseEmbedding | None = None,
        *,
        k: int = 4,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        mode: str = VectorStoreQueryMode.DEFAULT,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[QueryKwargs],
    ) -> None:
        vector_store = store.vector_store if isinstance(store, VectorStoreIndex) else store
        if not isinstance(vector_store, MultiGranularFaissVectorStore):
            raise InvalidInputError(
                "MultiGranularRetriever needs a MultiGranularFaissVectorStore or a "
                f"VectorStoreIndex over one, got {type(vector_store).__name__}"
            )
        of_query = VectorStoreQuery(mode=VectorStoreQueryMode(mode), filters=filters, query_str="")
        vector_store.check_options(of_query, options, owner=type(self).__name__)
        known = vector_store.embed_model
        if not isinstance(store, VectorStoreIndex):
            store = VectorStoreIndex.from_vector_store(store, embed_model=embed_model or known)
        if similarity_top_k is None:
            similarity_top_k = k
        super().__init__(
            store,
            similarity_top_k=similarity_top_k,
            vector_store_query_mode=VectorStoreQueryMode(mode),
            filters=filters,
            callback_manager=callback_manager,
            embed_model=embed_model,
            vector_store_kwargs={**options, "matches": True},
        )
        stored = LlamaIndexEncoder(known or self._embed_model).name
        asked = LlamaIndexEncoder(self._embed_model).name
        if stored != asked:
            raise EncoderMismatchError(
                f"the store was opened with the embedding model {stored!r}, and the queries would "
                f"be embedded by {asked!r}: use the first one"
            )
        if options.get("rerank") == BY_TOKENS:  # the store may not know the model
            self._kwargs["rerank"] = token_vector_encoder(LlamaIndexEncoder(self._embed_model))
