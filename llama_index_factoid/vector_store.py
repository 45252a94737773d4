"""A LlamaIndex vector store that searches nodes at any granularity."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from fsspec import AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.simple import DEFAULT_VECTOR_STORE, NAMESPACE_SEP
from llama_index.core.vector_stores.types import (
    DEFAULT_PERSIST_DIR,
    DEFAULT_PERSIST_FNAME,
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from factoid.database import FILE
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreFormatError
from factoid.store import UnitStore
from llama_index_factoid.convert import Kind
from llama_index_factoid.filters import compile_filters
from llama_index_factoid.queries import Returns, find_hits
from llama_index_factoid.records import is_stand_in, to_match, to_node, to_units, to_vector

_PERSIST_PATH = f"{DEFAULT_PERSIST_DIR}/{DEFAULT_VECTOR_STORE}{NAMESPACE_SEP}{DEFAULT_PERSIST_FNAME}"


@dataclass
class MultiGranularQueryResult(VectorStoreQueryResult):
    """A query's result with, for each node, the units that made it a result, best first; none for units themselves."""

    matches: list[list[dict[str, Any]]] = field(default_factory=list)


class MultiGranularFaissVectorStore(BasePydanticVectorStore):
    """Passages, sentences and propositions with the embeddings that LlamaIndex made, in SQLite and FAISS.

    Made for the nodes of `MultiGranularNodeParser`: a query is compared with the nodes of one granularity and returns
    the k best distinct parents, their passages. A node of any other parser is a passage, and is found at every
    granularity as itself; a sentence or proposition whose passage is not here is its own parent. Scores are inner
    products, as plain floats: higher is better. Nodes come back equal to those added, apart from the embedding.

    An add that returns is on disk. Filters, `doc_ids` and `node_ids` apply before the search; an id in `node_ids`
    admits the node and the units under it. The async methods do the same without blocking the event loop.

    Args:
        path: The store's folder, made if absent; None keeps everything in memory until `persist`.
        granularity: What queries are compared with: "passage", "sentence" or "proposition".
        returns: "parents", or "units" for the nodes that were compared themselves.
        granularities: What can be searched.

    Raises:
        InvalidInputError: `granularity` is not one of `granularities`.
        StoreFormatError: The path holds something that is not a store of this version.
    """

    model_config = ConfigDict(extra="forbid")

    stores_text: bool = True
    flat_metadata: bool = False
    path: str | None = None
    granularity: Kind = "proposition"
    returns: Returns = "parents"
    granularities: tuple[Kind, ...] = ("passage", "sentence", "proposition")
    _store: UnitStore = PrivateAttr()

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        granularity: Kind = "proposition",
        returns: Returns = "parents",
        granularities: Sequence[Kind] = ("passage", "sentence", "proposition"),
        **fields: Any,
    ) -> None:
        fields |= {"path": path and str(path), "granularity": granularity, "returns": returns}
        super().__init__(**fields | {"granularities": granularities})
        if granularity not in self.granularities:
            message = (
                f"granularity={granularity!r} is not one of granularities={self.granularities}: choose one of them"
            )
            raise InvalidInputError(message)
        self._store = UnitStore(path, encoder=None, granularities=self.granularities)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return "MultiGranularFaissVectorStore"

    @property
    def client(self) -> UnitStore:
        """The store of the core that holds the nodes."""
        return self._store

    def close(self) -> None:
        """Save the index caches and close the store. Nodes are on disk when the call that added them returns."""
        self._store.close()

    # Nodes

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        """Add nodes with their embeddings; one with an id that is in the store replaces it.

        Metadata must survive JSON: strings as keys; strings, numbers, booleans, None, lists and dicts as values.

        Returns:
            The ids of the nodes, in order.

        Raises:
            InvalidInputError: A node has no embedding, or text or metadata that cannot be stored.
            EncoderMismatchError: Embeddings of another dimension than the store's.
        """
        units, vectors = [], []
        for node in nodes:
            made = to_units(node, self._store.granularities)
            units += made
            vectors += [to_vector(node)] * len(made)
        if len(sizes := {len(vector) for vector in vectors}) > 1:
            message = f"the embeddings have different dimensions, {sorted(sizes)}: use one embedding model"
            raise EncoderMismatchError(message)
        if units:
            self._store.add(units, vectors=vectors, keep_children=True)
        return [node.node_id for node in nodes]

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return nodes in the order of their ids, or all nodes, oldest first; those that pass the filters."""
        return [to_node(unit) for unit in self._store.get(self._matching(node_ids, filters))]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete all nodes of a document; a node without a source is its own."""
        self._store.delete([ref_doc_id])

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any) -> None:
        """Delete nodes by id, by filters, or by both at once, with the sentences and propositions under them.

        Raises:
            InvalidInputError: Neither is given, or an empty list of filters alone.
        """
        if node_ids is None and (filters is None or not filters.filters):
            message = "delete_nodes needs node_ids or filters; clear() deletes everything"
            raise InvalidInputError(message)
        self._store.delete(self._matching(node_ids, filters))

    def clear(self) -> None:
        """Delete all nodes. The store may then be filled with embeddings of another dimension."""
        self._store.clear()

    # Queries

    def query(
        self,
        query: VectorStoreQuery,
        *,
        granularity: str | None = None,
        returns: str | None = None,
        mmr_threshold: float | None = None,
        mmr_prefetch_k: int | None = None,
        mmr_prefetch_factor: float = 4.0,
        **unknown: Any,
    ) -> MultiGranularQueryResult:
        """Return the k best nodes, k being `similarity_top_k`, or all if there are fewer.

        Mode `mmr` chooses nodes that are near the query and, by the units that matched it, far from each other; their
        similarities are still those to the query. `index.as_retriever` hands options on as `vector_store_kwargs`.

        Args:
            query: The query, with its embedding; mode `default` or `mmr`.
            granularity: Instead of the store's own.
            returns: "parents" or "units", instead of the store's own.
            mmr_threshold: Weight of the nearness to the query, from 0 (only diversity counts) to 1 (none); by default
                the query's, else 0.5.
            mmr_prefetch_k: How many of the best nodes to choose from.
            mmr_prefetch_factor: The same as a multiple of k, where `mmr_prefetch_k` is not given.
            unknown: Refused.

        Raises:
            InvalidInputError: No embedding, k below 1, another mode, unknown options, or a granularity that the store
                does not search or has no nodes of.
            EncoderMismatchError: The embedding has another dimension than the store's.
        """
        if unknown:
            message = f"unknown options {sorted(unknown)}: expected granularity, returns or those of mmr"
            raise InvalidInputError(message)
        returns = returns or self.returns
        hits = find_hits(
            self._store,
            query,
            granularity=granularity or self.granularity,
            returns=returns,
            mmr_threshold=mmr_threshold,
            mmr_prefetch_k=mmr_prefetch_k,
            mmr_prefetch_factor=mmr_prefetch_factor,
        )
        nodes = [to_node(hit.unit) for hit in hits]
        return MultiGranularQueryResult(
            nodes=nodes,
            similarities=[hit.score for hit in hits],
            ids=[node.node_id for node in nodes],
            matches=[[to_match(match) for match in hit.matches if returns == "parents"] for hit in hits],
        )

    # Files

    def persist(self, persist_path: str = _PERSIST_PATH, fs: AbstractFileSystem | None = None) -> None:
        """Copy the store to a folder, made if absent; a store that is there is replaced.

        A store with a path of its own need not be persisted: what was added is on disk.

        Raises:
            InvalidInputError: `fs` is not the local file system.
            StoreFormatError: The path holds something that is not a store.
        """
        self._store.copy_to(_local(persist_path, fs))

    @classmethod
    def from_persist_path(cls, persist_path: str, fs: AbstractFileSystem | None = None, **options: Any) -> Self:
        """Open a persisted store in its place; options are those of the class.

        Raises:
            InvalidInputError: `fs` is not the local file system.
            StoreFormatError: There is no store.
        """
        path = _local(persist_path, fs)
        if not (path / FILE).exists():
            message = f"there is no store at {path}: a store is a folder that holds {FILE}"
            raise StoreFormatError(message)
        return cls(path, **options)

    @classmethod
    def from_persist_dir(
        cls,
        persist_dir: str = DEFAULT_PERSIST_DIR,
        namespace: str = DEFAULT_VECTOR_STORE,
        fs: AbstractFileSystem | None = None,
        **options: Any,
    ) -> Self:
        """Do as `from_persist_path` for the folder that `StorageContext.persist` was given."""
        path = str(Path(persist_dir) / f"{namespace}{NAMESPACE_SEP}{DEFAULT_PERSIST_FNAME}")
        return cls.from_persist_path(path, fs, **options)

    # The same for event loops

    async def async_add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """Do as `add`."""
        return await asyncio.to_thread(self.add, nodes, **options)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Do as `get_nodes`."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def adelete(self, ref_doc_id: str, **options: Any) -> None:
        """Do as `delete`."""
        await asyncio.to_thread(self.delete, ref_doc_id, **options)

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **options: Any
    ) -> None:
        """Do as `delete_nodes`."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **options)

    async def aclear(self) -> None:
        """Do as `clear`."""
        await asyncio.to_thread(self.clear)

    async def aquery(self, query: VectorStoreQuery, **options: Any) -> MultiGranularQueryResult:
        """Do as `query`."""
        return await asyncio.to_thread(self.query, query, **options)

    # The parts

    def _matching(self, node_ids: list[str] | None, filters: MetadataFilters | None) -> list[str]:
        passes = compile_filters(filters)
        if node_ids is None:
            return self._store.ids(lambda metadata: not is_stand_in(metadata) and passes(metadata))
        return [unit.id for unit in self._store.get(node_ids) if passes(dict(unit.metadata))]


def _local(path: str, fs: AbstractFileSystem | None) -> Path:
    if fs is None:
        return Path(path)
    if not isinstance(fs, LocalFileSystem):
        message = (
            f"a store is a folder of database files on a local disk, not on {type(fs).__name__}: persist it to a local "
            "folder and copy that, for example with fs.put(folder, target, recursive=True)"
        )
        raise InvalidInputError(message)
    return Path(fs._strip_protocol(path))
