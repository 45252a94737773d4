"""A LlamaIndex vector store that searches nodes at any granularity."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from copy import copy
from functools import wraps
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, Unpack

import numpy as np
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.simple import DEFAULT_VECTOR_STORE, NAMESPACE_SEP
from llama_index.core.vector_stores.types import (
    DEFAULT_PERSIST_DIR,
    DEFAULT_PERSIST_FNAME,
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from factoid.framework import (
    DATABASE_FILE,
    All,
    CommonSearchKwargs,
    EncoderMismatchError,
    Filter,
    Granularity,
    IndexKwargs,
    InvalidInputError,
    ParentsOption,
    SearchOptions,
    StoreFormatError,
    Tree,
    Unit,
    UnitStore,
    check_list,
    check_names,
    local_folder,
    matches,
    option_names,
    parse_filter,
    to_matrix,
)
from llama_index_factoid.convert import (
    GranularityName,
    embedded_metadata,
    lone_node,
    stored_node,
    to_tree,
    to_unit,
    with_hits,
)
from llama_index_factoid.embeddings import LlamaIndexEncoder
from llama_index_factoid.versions import stale_ids

# Options of a query, and their names in the core.
QUERY_NAMES = {
    "doc_ids": "document_ids",
    "node_ids": "unit_ids",
    "mmr_threshold": "mmr",
    "mmr_prefetch_k": "fetch_k",
}
_TEXT_MODES = (VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE)
_MODES = (
    VectorStoreQueryMode.DEFAULT,
    VectorStoreQueryMode.HYBRID,
    VectorStoreQueryMode.MMR,
    *_TEXT_MODES,
)

T = TypeVar("T")


class StoreKwargs(IndexKwargs, total=False):
    """The options of `MultiGranularFaissVectorStore` that it does not name itself."""

    stores_text: bool
    flat_metadata: bool
    class_name: str


class PersistedKwargs(StoreKwargs, total=False):
    """The options of `MultiGranularFaissVectorStore.from_persist_dir`."""

    embed_model: BaseEmbedding | None
    granularity: GranularityName | Literal["mixed"] | Sequence[GranularityName] | None
    parents: ParentsOption
    granularities: Sequence[GranularityName] | None
    settings: Mapping[str, Any] | None


class QueryKwargs(CommonSearchKwargs, total=False):
    """The options of `MultiGranularFaissVectorStore.query`."""

    parents: ParentsOption | None
    doc_ids: Sequence[str] | None
    node_ids: Sequence[str] | None
    mmr: float | None
    mmr_threshold: float | None
    fetch_k: int | None
    mmr_prefetch_k: int | None
    matches: bool


_QUERY = option_names(QueryKwargs)
_OF_QUERIES = dict.fromkeys(
    ("k", "similarity_top_k", "filters", "filter", "mode", *_QUERY - {"granularity", "parents"}),
    "it is an option of MultiGranularRetriever, and of as_retriever(vector_store_kwargs={…})",
)
_OF_RETRIEVERS = dict.fromkeys(
    ("k", "similarity_top_k", "filters", "mode"),
    "it is an option of MultiGranularRetriever, and of as_retriever(…)",
)


def _threaded(method: Callable[..., T]) -> Callable[..., Coroutine[Any, Any, T]]:
    """Return an async method that runs another one in a thread."""

    @wraps(method)
    async def call(*args: Any, **options: Any) -> T:
        return await asyncio.to_thread(method, *args, **options)

    return call


class MultiGranularFaissVectorStore(BasePydanticVectorStore):
    """Stores nodes with the embeddings that LlamaIndex made, in SQLite and FAISS.

    Made for the nodes of `MultiGranularNodeParser`: a query is compared with the nodes of one
    granularity, or of several, and returns the k best distinct parents, their passages. A node of
    any other parser is a passage; a sentence or proposition without a stored passage is its own
    parent. Higher scores are better. Nodes come back equal to those added, apart from the
    embedding; units that the core, the command line or LangChain stored come back as nodes of our
    parsers would. Nodes are on disk when `add` returns. The async methods work in threads.

    Filters, `doc_ids` and `node_ids` apply before the search; an id in `node_ids` admits the node
    and the units under it. Empty ones admit nothing, but for the `node_ids` of a query, which the
    framework's own retriever always sends.

    Attributes:
        path: The store's folder, made if absent; None keeps everything in memory until `persist`.
        embed_model: The model that embeds the nodes. The store remembers its name, and refuses
            another one when it is opened again. Without it nobody notices a query that another
            model of the same dimension has embedded.
        granularity: What queries are compared with, as in `factoid.store.SearchOptions`; by default
            the finest that the store holds.
        parents: What queries return, as there; by default passages, and documents that are one.
            Documents are only in stores that the core, the command line or LangChain filled.
        granularities: What can be searched; None for the granularities of the nodes.
        settings: The settings of `factoid.UnitStore`, here or as options of their own, such as
            `index` and `similarity`.

    Raises:
        InvalidInputError: A setting is out of range. An unknown one is a TypeError.
        StoreFormatError: The path holds something that is not a store of this version.
        EncoderMismatchError: The store was filled with the embeddings of another model.
    """

    model_config = ConfigDict(extra="forbid")

    stores_text: bool = True
    flat_metadata: bool = False
    path: str | None = None
    embed_model: BaseEmbedding | None = Field(default=None, exclude=True, repr=False)
    granularity: GranularityName | Literal["mixed"] | tuple[GranularityName, ...] | None = None
    parents: ParentsOption = "auto"
    granularities: tuple[GranularityName, ...] | None = Field(default=None, min_length=1)
    settings: dict[str, Any] = Field(default_factory=dict)
    _store: UnitStore = PrivateAttr()

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        embed_model: BaseEmbedding | None = None,
        granularity: GranularityName | Literal["mixed"] | Sequence[GranularityName] | None = None,
        parents: ParentsOption = "auto",
        granularities: Sequence[GranularityName] | None = None,
        settings: Mapping[str, Any] | None = None,
        **options: Unpack[StoreKwargs],
    ) -> None:
        of_class = type(self).model_fields.keys() | {"class_name"}
        of_store = option_names(IndexKwargs)
        check_names(type(self).__name__, options, of_class | of_store, elsewhere=_OF_QUERIES)
        check_names(f"settings of {type(self).__name__}", settings or (), of_store)
        fields: dict[str, Any] = {
            "granularity": granularity,
            "parents": parents,
            "granularities": granularities,
        }
        store_settings: dict[str, Any] = dict(settings or {})
        for name, value in options.items():
            if name in of_store:
                store_settings[name] = value
            if name in of_class and name != "class_name":
                fields[name] = value
        fields["settings"] = store_settings
        folder = None if path is None else str(local_folder(path))
        super().__init__(**fields | {"path": folder, "embed_model": embed_model})
        encoder = None if self.embed_model is None else LlamaIndexEncoder(self.embed_model)
        self._store = UnitStore(
            folder, encoder=encoder, granularities=self.granularities, **self.settings
        )

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return "MultiGranularFaissVectorStore"

    @property
    def client(self) -> UnitStore:
        """The store of the core that holds the nodes."""
        return self._store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return copy(self)  # shares the open store, and the model that embeds

    def close(self) -> None:
        """Save the index caches and close the store.

        Nodes are on disk when the call that added them returns.
        """
        self._store.close()

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Add nodes with their embeddings, and return their ids.

        A node whose id is in the store replaces the stored one. Nodes of a source that has changed
        replace all of its earlier version: those whose SOURCE has the same id and another hash, and
        those whose metadata have the same `file_path` and another `file_size` or
        `last_modified_date`.

        Raises:
            InvalidInputError: A node has no embedding, or text or metadata that cannot be stored.
            EncoderMismatchError: The embeddings have another dimension than the store's, or other
                metadata in them, or the store was filled with late chunking, where a node's
                embedding depends on its passage.
        """
        if self._store.late_chunking:
            raise EncoderMismatchError(
                "this store was filled with late_chunking=True, and LlamaIndex embeds each node by "
                "itself: add documents with UnitStore or MultiGranularFAISS, or use another store"
            )
        check_list(nodes, "nodes", BaseNode)
        nodes = list(nodes)
        embeddings = []
        for node in nodes:
            if not isinstance(node, BaseNode):
                raise InvalidInputError(f"expected nodes, got {type(node).__name__}")
            if node.embedding is None:
                raise InvalidInputError(
                    f"node {node.node_id!r} has no embedding: add nodes through VectorStoreIndex, "
                    "or put the embedding model last in the IngestionPipeline"
                )
            embeddings.append(node.embedding)
        vectors = to_matrix(embeddings, len(nodes))
        units = list(map(to_unit, nodes))
        stale = stale_ids(self._store, nodes, units)
        embedded = embedded_metadata(nodes)
        ids = self._store.add(units, vectors=vectors, keep_children=True, embed_metadata=embedded)
        if stale:
            self._store.delete(unit_ids=stale)
        return ids

    async_add = _threaded(add)

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Return the nodes that filters let a query return.

        They are those of some ids, in that order, or all, oldest first.
        """
        tree = to_tree(filters)
        ids = self._store.ids(tree) if node_ids is None else node_ids
        return self._nodes(self._units(ids, tree), tree)

    aget_nodes = _threaded(get_nodes)

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete all nodes of a document; a node without a source is its own."""
        self._store.delete(document_ids=[ref_doc_id])

    adelete = _threaded(delete)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any
    ) -> None:
        """Delete nodes by id, by filters, or by both at once.

        The sentences and propositions under them go with them. An id that no node has, but a
        document whose text is stored, means all of the document: queries return such documents.

        Raises:
            InvalidInputError: Neither is given, or only an empty list of filters.
        """
        tree = to_tree(filters)
        if node_ids is not None:
            units = self._units(node_ids, None)
            chosen = [unit for unit in units if tree is None or matches(tree, unit.metadata)]
            whole = []
            for unit in chosen:
                if unit.granularity is Granularity.DOCUMENT:
                    whole.append(unit.id)
            self._store.delete(
                unit_ids=[
                    unit.id for unit in chosen if unit.granularity is not Granularity.DOCUMENT
                ]
            )
            if whole:
                self._store.delete(document_ids=whole)
            return
        if tree is None:
            raise InvalidInputError(
                "delete_nodes needs node_ids or filters; clear() deletes everything"
            )
        self._store.delete(filter=tree)

    adelete_nodes = _threaded(delete_nodes)

    def clear(self) -> None:
        """Delete all nodes. The store may then be filled with embeddings of another dimension."""
        self._store.clear()

    aclear = _threaded(clear)

    def query(  # type: ignore[override]  # options are named: a wrong one is an error
        self, query: VectorStoreQuery, **options: Unpack[QueryKwargs]
    ) -> VectorStoreQueryResult:
        """Return the k best nodes, k being `similarity_top_k`, or all if there are fewer.

        Modes `default` and `hybrid` rank by the similarity of the best unit and its passage and, if
        the query has a text, by its words: weighed by `weights` or `lexical`, else by `alpha`, the
        share of vectors; `lexical=0` leaves the words out. Modes `text_search` and `sparse` rank
        passages by words alone (BM25) and need no embedding. Mode `mmr` chooses nodes that are near
        the query and, by the units that matched it, far from each other. `index.as_retriever`
        passes options on as `vector_store_kwargs`.

        Args:
            query: The query, with its embedding, its text, or both, as the mode needs them.
            options: Those of `factoid.store.SearchOptions`, but `doc_ids` and `node_ids` in place
                of the query's, `mmr_threshold` for `mmr`, and `mmr_prefetch_k` for `fetch_k`. In
                mode `mmr` the defaults are the query's threshold, else 0.5, and four times k. None
                counts as absent. `matches=True` puts `matches` and `neighbours` into the metadata,
                as `MultiGranularRetriever` describes.

        Raises:
            InvalidInputError: There is no embedding, k or an option is out of range, the mode is
                unknown, or the store does not search the granularity or has no nodes of it. An
                unknown option is a TypeError.
            EncoderMismatchError: The embedding has another dimension than the store's.
        """
        search = self._search_options(query, options, owner=f"{type(self).__name__}.query")
        with_matches = search.pop("matches", False)
        if search.get("lexical") == 1:
            # It refuses None.
            hits = self._store.search(query.query_str, **search)  # type: ignore[arg-type]
        elif query.query_embedding is None:
            raise InvalidInputError(
                "the query is empty or has no embedding: give query_embedding, or use a retriever "
                "with an embedding model"
            )
        else:
            vector = np.asarray(query.query_embedding, np.float32)
            hits = self._store.search_by_vector(vector, text=query.query_str, **search)
        nodes = self._nodes([hit.unit for hit in hits], search.get("filter"))
        if with_matches:
            nodes = with_hits(nodes, hits, matches=search["parents"] != "unit")
        scores = map(attrgetter("score"), hits)
        ids = map(attrgetter("unit.id"), hits)
        return VectorStoreQueryResult(nodes=nodes, similarities=list(scores), ids=list(ids))

    aquery = _threaded(query)

    def check_options(
        self, query: VectorStoreQuery, options: Mapping[str, Any], *, owner: str
    ) -> None:
        """Refuse options that `query` would refuse; `owner` is the class that takes them.

        Raises:
            InvalidInputError: An option is unknown or out of range.
        """
        search = self._search_options(query, options, owner=owner)
        for name in ("k", "matches"):
            search.pop(name, None)
        self._store.compared_granularities(SearchOptions(**search))

    def _search_options(
        self, query: VectorStoreQuery, options: Mapping[str, Any], *, owner: str
    ) -> dict[str, Any]:
        """Return the arguments of the core's search, apart from the vector."""
        check_names(owner, options, _QUERY, elsewhere=_OF_RETRIEVERS)
        search: dict[str, Any] = {
            "granularity": self.granularity,
            "parents": self.parents,
            "k": query.similarity_top_k,
        }
        for name, value in options.items():
            if value is not None:
                search[QUERY_NAMES.get(name, name)] = value
        if query.filters is not None:
            search["filter"] = both_filters(search.get("filter"), to_tree(query.filters))
        search.setdefault("document_ids", query.doc_ids)
        # A VectorStoreIndex gives its retriever an empty list of node ids where the store keeps the
        # nodes.
        search.setdefault("unit_ids", query.node_ids or None)
        if query.mode == VectorStoreQueryMode.MMR:
            threshold = 0.5
            if query.mmr_threshold is not None:
                threshold = query.mmr_threshold
            search.setdefault("mmr", threshold)
            search.setdefault("fetch_k", 4 * query.similarity_top_k)
        if query.mode not in _MODES:
            raise InvalidInputError(
                "this store does not answer mode "
                f"{str(getattr(query.mode, 'value', query.mode))!r}: use mode default, hybrid, "
                "text_search, sparse or mmr"
            )
        if query.mode in _TEXT_MODES:
            search["lexical"] = 1
        elif query.alpha is not None and not search.keys() & {"weights", "lexical"}:
            search["lexical"] = 1 - query.alpha
        return search

    def persist(self, persist_path: str, fs: AbstractFileSystem | None = None) -> None:
        """Copy the store to a local folder, made if absent; an existing store there is replaced.

        `StorageContext.persist` calls this. A store with a path of its own need not be persisted:
        its nodes are on disk.

        Raises:
            InvalidInputError: The file system is not the local one.
            StoreFormatError, StoreError: The path holds something else, or the copy cannot be
                written.
        """
        if not isinstance(fs, LocalFileSystem | None):
            raise InvalidInputError(
                f"a store persists to a local folder, got {persist_path!r}: send it elsewhere "
                "with store.client.save_to(url), and fetch it with "
                "factoid.UnitStore.load_from(url, path, encoder=None)"
            )
        self._store.copy_over(persist_path)

    @classmethod
    def from_persist_dir(
        cls,
        persist_dir: str = DEFAULT_PERSIST_DIR,
        namespace: str = DEFAULT_VECTOR_STORE,
        **options: Unpack[PersistedKwargs],
    ) -> Self:
        """Open the store in a folder that `StorageContext.persist` wrote.

        Options are those of the class.

        Raises:
            StoreFormatError: There is no store.
        """
        folder = Path(persist_dir, f"{namespace}{NAMESPACE_SEP}{DEFAULT_PERSIST_FNAME}")
        if not (folder / DATABASE_FILE).exists():
            raise StoreFormatError(
                f"there is no store at {folder}: a store is a folder that holds {DATABASE_FILE}"
            )
        return cls(folder, **options)

    def _units(self, ids: Sequence[str], condition: Filter | None) -> list[Unit]:
        """Return the units with these ids that a filter lets a query return.

        Where no unit has an id, it means the document.
        """
        units = {unit.id: unit for unit in self._store.get(ids, filter=condition)}
        others = [name for name in ids if name not in units]
        if others:
            for unit in self._store.get(others, filter=condition, documents=True):
                units[unit.id] = unit
        return [units[name] for name in ids if name in units]

    def _nodes(self, units: Sequence[Unit], condition: Filter | None) -> list[BaseNode]:
        """Return units as nodes; with a filter, without anything that they hold of other nodes."""
        nodes = []
        for unit in units:
            if condition is None:
                nodes.append(stored_node(unit))
            else:
                nodes.append(lone_node(unit))
        return nodes


def both_filters(condition: Filter | None, tree: Tree | None) -> Filter | None:
    """Return a filter that holds where two hold; None is no filter."""
    if condition is None or tree is None:
        if condition is None:
            return tree
        return condition
    if callable(condition):
        test = condition
        return lambda metadata: bool(test(metadata)) and matches(tree, metadata)
    return All((parse_filter(condition), tree))
