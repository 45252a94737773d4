"""A LlamaIndex retriever that says which facts made each result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.embeddings.utils import resolve_embed_model
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.settings import Settings
from llama_index.core.vector_stores.types import MetadataFilters, VectorStoreQuery, VectorStoreQueryMode

from factoid.encode import with_heading
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.store.options import SearchOptions
from factoid.units import Hit, whole_number
from llama_index_factoid.convert import scored_nodes, to_core
from llama_index_factoid.embeddings import EmbeddingEncoder
from llama_index_factoid.vector_store import TEXT_MODES, MultiGranularFaissVectorStore

# Cosine of two vectors of one text. Servers and precisions differ by thousandths, metadata updated since by tenths, and
# models of different weights have next to nothing in common.
_SAME_MODEL = 0.8


class MultiGranularRetriever(BaseRetriever):
    """Retrieves passages by their facts: the k best distinct parents of the units nearest to the query.

    Each parent carries `matches` in its metadata, best first: `text`, `score`, `start_char_idx`, `end_char_idx`,
    `granularity` and `id` of the units that made it a result. With `expand`, parents and units also carry `neighbours`,
    the same without scores, in order of the text. Both are excluded from the texts that models get, and from the node's
    `hash`: a `QueryFusionRetriever` returns a node that several queries find once, with the matches of one of them.

    Args:
        store: A `MultiGranularFaissVectorStore`, or a `VectorStoreIndex` over one.
        embed_model: Embeds queries; None for the index's own, else that of `Settings`.
        k: The number of nodes; `similarity_top_k` is the framework's name for it.
        filters: Conditions on metadata, applied before the search.
        mode: As in `MultiGranularFaissVectorStore.query`.
        **options: Those of `MultiGranularFaissVectorStore.query`, also in a dict as `search_kwargs`.

    Raises:
        InvalidInputError: The store is of another class, or an option is unknown or out of range.
        EncoderMismatchError: On the first query, if another model embedded the nodes. Unless the store knows the model by
            name, a node is embedded again and compared.
    """

    def __init__(
        self,
        store: VectorStoreIndex | MultiGranularFaissVectorStore,
        embed_model: BaseEmbedding | None = None,
        *,
        k: int = 4,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        mode: str = VectorStoreQueryMode.HYBRID,
        callback_manager: CallbackManager | None = None,
        search_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(callback_manager)
        vector_store = store.vector_store if isinstance(store, VectorStoreIndex) else store
        if not isinstance(vector_store, MultiGranularFaissVectorStore):
            raise InvalidInputError(
                "MultiGranularRetriever needs a MultiGranularFaissVectorStore or a VectorStoreIndex over one, "
                f"got {type(vector_store).__name__}"
            )
        if embed_model is None and isinstance(store, VectorStoreIndex):
            embed_model = store._embed_model
        self._store = vector_store
        self._embed_model = resolve_embed_model(embed_model or Settings.embed_model)
        self._model_checked = False
        self._k = whole_number("k", k if similarity_top_k is None else similarity_top_k)
        self._filters = filters
        self._mode: Any = mode
        self._search = options | dict(search_kwargs or {})
        query = VectorStoreQuery(similarity_top_k=self._k, filters=filters, mode=mode)  # type: ignore[arg-type]  # refuses unknown modes
        search = vector_store.search_options(query, self._search)
        del search["k"]
        SearchOptions(**search).kinds(vector_store.client.granularities)

    @property
    def similarity_top_k(self) -> int:
        """How many nodes are returned; may be set, as with the framework's retriever."""
        return self._k

    @similarity_top_k.setter
    def similarity_top_k(self, k: int) -> None:
        self._k = whole_number("similarity_top_k", k)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embedding = None
        if texts := self._texts(query_bundle):
            embedding = self._embed_model.get_agg_embedding_from_queries(texts)
        return self._answer(query_bundle, embedding)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        embedding = None
        if texts := self._texts(query_bundle):
            embedding = await self._embed_model.aget_agg_embedding_from_queries(texts)
        return await asyncio.to_thread(self._answer, query_bundle, embedding)

    def _texts(self, bundle: QueryBundle) -> list[str]:
        """Return the texts of a query to embed: none if it has an embedding, or is answered by its words."""
        if bundle.embedding is not None or self._mode in TEXT_MODES:
            return []
        return bundle.embedding_strs or [bundle.query_str]  # the framework drops an empty query

    def _answer(self, bundle: QueryBundle, embedding: list[float] | None) -> list[NodeWithScore]:
        """Return the nodes for a query, by its own embedding or that of the model."""
        options = {"query_str": bundle.query_str, "filters": self._filters, "mode": self._mode}
        vector = bundle.embedding if embedding is None else embedding
        hits = self._store.search(VectorStoreQuery(vector, self._k, **options), **self._search)
        if embedding is not None and not self._model_checked:
            self._check_model(hits)
        return scored_nodes(hits)

    def _check_model(self, hits: Sequence[Hit]) -> None:
        """Refuse a model whose vectors for a stored node's texts all differ from the node's own."""
        if not hits:
            return
        client = self._store.client
        name, recorded = EmbeddingEncoder(self._embed_model).name, client.stats()["encoder"]
        if name != recorded:
            node_id = (hits[0].matches or hits)[0].unit.id
            nodes, stored = self._store.get_nodes([node_id]), client.vectors([node_id]).get(node_id)
            if not nodes or stored is None or not stored.any():  # no content words, as some encoders see it
                return
            # The texts that may have been embedded: the framework's, the bare one, and the core's.
            modes = [nodes[0].get_content(mode) for mode in (MetadataMode.EMBED, MetadataMode.NONE)]
            texts = list(dict.fromkeys([*modes, with_heading(to_core(nodes[0]))]))
            vectors = np.asarray(self._embed_model.get_text_embedding_batch(texts))
            norms = np.linalg.norm(stored) * np.linalg.norm(vectors, axis=1)
            cosine = float((vectors @ stored / np.where(norms > 0, norms, 1)).max())
            if cosine < _SAME_MODEL:
                raise EncoderMismatchError(
                    f"the nodes of this store were embedded by {repr(recorded) if recorded else 'another model'}, the query "
                    f"by {name!r}: it gives node {node_id!r} a vector whose cosine with the stored one is {cosine:.2f}. Use "
                    "the model of the nodes; if you made their vectors from other texts yourself, give the store the model: "
                    "MultiGranularFaissVectorStore(path, embed_model=...)"
                )
        self._model_checked = True
