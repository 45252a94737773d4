"""A LlamaIndex retriever that says which facts made each result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.indices.vector_store.base import VectorStoreIndex
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.settings import Settings
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from typing_extensions import override

from factoid.framework import (
    BY_TOKENS,
    AddReport,
    Answer,
    Document,
    EncoderMismatchError,
    ExistingStore,
    ExistingStoreKwargs,
    InvalidInputError,
    check_list,
    check_names,
    option_names,
    plain_metadata,
    text_field,
    to_matrix,
    token_vector_encoder,
)
from llama_index_factoid.convert import (
    HEADING,
    retrieved,
    stored_node,
    text_of,
    to_tree,
    with_hits,
    without_query,
)
from llama_index_factoid.embeddings import LlamaIndexEncoder
from llama_index_factoid.existing import collection_of
from llama_index_factoid.vector_store import (
    QUERY_NAMES,
    MultiGranularFaissVectorStore,
    QueryKwargs,
    both_filters,
)

_LAMBDA = 0.5  # of mode "mmr", as over a store of ours
# The options that the retriever names itself.
_OWN_OPTIONS = {
    "k",
    "similarity_top_k",
    "filters",
    "mode",
    "embed_model",
    "vectorstore",
    "indexing",
    "callback_manager",
}
_ELSEWHERE = {"vector_store_kwargs": "give its options by name, beside k"}


class MultiGranularRetriever(VectorIndexRetriever):
    """Retrieves passages by their facts.

    The k best distinct parents of the units nearest to the query. Each parent carries `matches` in
    its metadata, best first: `text`, `score`, `start_char_idx`, `end_char_idx`, `granularity` and
    `id` of the units that made it a result. With `expand`, parents and units also carry
    `neighbours`, the same without scores, in order of the text. Both are excluded from the texts
    that models get, and from the node's `hash`: a `QueryFusionRetriever` returns a node that
    several queries find once, with the matches of one of them.

    Over a vector store of another make, `MultiGranularRetriever(vectorstore=ChromaVectorStore(…))`,
    it takes the same options as far as every store can do them, and `add_documents` fills the
    store. Where the store could not answer completely, nodes have `complete` False and the store's
    remedy under `note` in their metadata.

    Args:
        store: A `MultiGranularFaissVectorStore`, or a `VectorStoreIndex` over one.
        embed_model: Embeds queries, and what `add_documents` adds; None for the index's own or the
            store's, else that of `Settings`.
        vectorstore: Any other vector store of LlamaIndex's, or an index over one, in place of
            `store`: see docs/existing-stores.md.
        indexing: How `add_documents` writes into `vectorstore`: the options of
            `factoid.existing.ExistingStore`.
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
        store: VectorStoreIndex | MultiGranularFaissVectorStore | None = None,
        embed_model: BaseEmbedding | None = None,
        *,
        vectorstore: BasePydanticVectorStore | VectorStoreIndex | None = None,
        indexing: ExistingStoreKwargs | None = None,
        k: int = 4,
        similarity_top_k: int | None = None,
        filters: MetadataFilters | None = None,
        mode: str = VectorStoreQueryMode.DEFAULT,
        callback_manager: CallbackManager | None = None,
        **options: Unpack[QueryKwargs],
    ) -> None:
        check_names(
            type(self).__name__,
            options,
            option_names(QueryKwargs) | _OWN_OPTIONS,
            elsewhere=_ELSEWHERE,
        )
        query_mode = _query_mode(mode)
        self._existing: ExistingStore | None = None
        if similarity_top_k is None:
            similarity_top_k = k
        if vectorstore is not None and store is None:
            self._existing = _over(vectorstore, embed_model, indexing or {})
            self._options = _existing_options(options, filters, query_mode)
            self._existing.check_options(self._options)
            self._similarity_top_k = similarity_top_k
            BaseRetriever.__init__(self, callback_manager=callback_manager or CallbackManager())
            return
        if store is None or vectorstore is not None:
            raise InvalidInputError(
                "MultiGranularRetriever takes a MultiGranularFaissVectorStore, or vectorstore=… "
                "for a vector store of another make"
            )
        vector_store = store.vector_store if isinstance(store, VectorStoreIndex) else store
        if not isinstance(vector_store, MultiGranularFaissVectorStore):
            raise InvalidInputError(
                "MultiGranularRetriever needs a MultiGranularFaissVectorStore or a "
                f"VectorStoreIndex over one, got {type(vector_store).__name__}"
            )
        of_query = VectorStoreQuery(mode=query_mode, filters=filters, query_str="")
        vector_store.check_options(of_query, options, owner=type(self).__name__)
        known = vector_store.embed_model
        if not isinstance(store, VectorStoreIndex):
            store = VectorStoreIndex.from_vector_store(store, embed_model=embed_model or known)
        super().__init__(
            store,
            similarity_top_k=similarity_top_k,
            vector_store_query_mode=query_mode,
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

    @property
    def existing(self) -> ExistingStore:
        """What is over `vectorstore`: it deletes, verifies and returns documents.

        Raises:
            InvalidInputError: The retriever has a store of ours.
        """
        if self._existing is None:
            raise InvalidInputError("this retriever has a store: use its methods")
        return self._existing

    def add_documents(self, documents: Sequence[BaseNode]) -> AddReport:
        """Add documents, or nodes of another parser, to `vectorstore`, with all their units.

        A document whose id is there replaces the one that is, and one that has not changed is
        skipped.
        """
        check_list(documents, "documents", BaseNode)
        return self.existing.add_documents(list(map(_core, documents)))

    async def aadd_documents(self, documents: Sequence[BaseNode]) -> AddReport:
        """Do the same as `add_documents` without blocking the event loop."""
        check_list(documents, "documents", BaseNode)
        return await self.existing.aadd_documents(list(map(_core, documents)))

    def add_existing(self) -> AddReport:
        """Add the facts of what `vectorstore` holds already, each of its rows as a document.

        The rows themselves stay as they are.
        """
        return self.existing.add_existing()

    def delete(self, ref_doc_ids: Sequence[str]) -> None:
        """Delete documents from `vectorstore` with all their units; unknown ids are ignored."""
        self.existing.delete(ref_doc_ids)

    @override
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._existing is None:
            nodes: list[NodeWithScore] = super()._retrieve(query_bundle)
            return nodes
        vector = None
        if query_bundle.embedding is not None:
            vector = to_matrix([query_bundle.embedding], 1)[0]
        answer = self._existing.search(
            query_bundle.query_str, self._similarity_top_k, vector=vector, **self._options
        )
        return _nodes(answer, matches=self._options["parents"] != "unit")

    @override
    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._existing is None:
            nodes: list[NodeWithScore] = await super()._aretrieve(query_bundle)
            return nodes
        embedding = query_bundle.embedding
        encoder = self._existing.encoder
        if embedding is None and isinstance(encoder, LlamaIndexEncoder):
            embedding = await encoder.embed_model.aget_query_embedding(query_bundle.query_str)
        vector = None
        if embedding is not None:
            vector = to_matrix([embedding], 1)[0]
        answer = await self._existing.asearch(
            query_bundle.query_str, self._similarity_top_k, vector=vector, **self._options
        )
        return _nodes(answer, matches=self._options["parents"] != "unit")


def _over(
    vectorstore: object, embed_model: BaseEmbedding | None, indexing: ExistingStoreKwargs
) -> ExistingStore:
    """Return what searches a vector store of another make."""
    inner = vectorstore.vector_store if isinstance(vectorstore, VectorStoreIndex) else vectorstore
    if isinstance(inner, MultiGranularFaissVectorStore):
        raise InvalidInputError(
            "MultiGranularFaissVectorStore is no vector store of another make: give it, or the "
            "index over it, without vectorstore="
        )
    if embed_model is None and isinstance(vectorstore, VectorStoreIndex):
        embed_model = vectorstore._embed_model
    encoder = LlamaIndexEncoder(embed_model or Settings.embed_model)
    check_names("indexing", indexing, option_names(ExistingStoreKwargs))
    return ExistingStore(collection_of(vectorstore), encoder, **indexing)


def _query_mode(mode: str) -> VectorStoreQueryMode:
    """Return a mode of queries by its name.

    Raises:
        InvalidInputError: LlamaIndex has no such mode.
    """
    try:
        return VectorStoreQueryMode(mode)
    except ValueError as error:
        raise InvalidInputError(
            f"there is no mode {mode!r}: use default, hybrid, text_search, sparse or mmr"
        ) from error


def _existing_options(
    options: Mapping[str, Any], filters: MetadataFilters | None, mode: VectorStoreQueryMode
) -> dict[str, Any]:
    """Return the options of a search of a store of another make."""
    search: dict[str, Any] = {"parents": "auto"}
    for name, value in options.items():
        if value is not None and name != "matches":
            search[QUERY_NAMES.get(name, name)] = value
    condition = both_filters(search.get("filter"), to_tree(filters))
    if condition is not None:
        search["filter"] = condition
    if mode in (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE):
        search["lexical"] = 1
    elif mode == VectorStoreQueryMode.MMR:
        search.setdefault("mmr", _LAMBDA)
    elif mode not in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID):
        raise InvalidInputError(
            f"over a store of another make there is no mode {mode.value!r}: use default, hybrid, "
            "text_search, sparse or mmr"
        )
    return search


def _core(node: BaseNode) -> Document:
    """Return a document or node as the core takes it, with its metadata."""
    metadata = plain_metadata(node.metadata)
    title, section = (text_field(metadata, key) for key in HEADING)
    return Document(text_of(node), title, section, node.node_id, metadata)


def _nodes(answer: Answer, *, matches: bool) -> list[NodeWithScore]:
    """Return what was found as nodes; those of an incomplete answer say so."""
    nodes: list[BaseNode] = [stored_node(hit.unit) for hit in answer.hits]
    nodes = with_hits(nodes, answer.hits, matches=matches)
    results = []
    for node, hit in zip(nodes, answer.hits, strict=True):
        if not answer.complete:
            lasting, fields = without_query(node)
            node = retrieved(lasting, fields | {"complete": False, "note": answer.note})
        results.append(NodeWithScore(node=node, score=hit.score))
    return results
