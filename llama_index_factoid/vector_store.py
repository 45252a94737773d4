"""A LlamaIndex vector store that searches nodes at any granularity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from fsspec import AbstractFileSystem
from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.simple import DEFAULT_VECTOR_STORE, NAMESPACE_SEP
from llama_index.core.vector_stores.types import (
    DEFAULT_PERSIST_DIR,
    DEFAULT_PERSIST_FNAME,
    MetadataFilters,
    VectorStoreQuery,
)

from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.store import UnitStore
from llama_index_factoid.asynchronous import AsyncTwins
from llama_index_factoid.convert import Kind, granularity_of
from llama_index_factoid.filters import compile_filters, matching_ids
from llama_index_factoid.persistence import fetch, remove_with, save
from llama_index_factoid.queries import QueryOptions, Returns, run
from llama_index_factoid.records import checked_nodes, is_stand_in, stand_ins_of, to_node, to_units, to_vector
from llama_index_factoid.results import MultiGranularQueryResult

_PERSIST_PATH = f"{DEFAULT_PERSIST_DIR}/{DEFAULT_VECTOR_STORE}{NAMESPACE_SEP}{DEFAULT_PERSIST_FNAME}"


class MultiGranularFaissVectorStore(AsyncTwins):
    """Passages, sentences and propositions with the embeddings that LlamaIndex made, in SQLite and FAISS.

    Made for the nodes of `MultiGranularNodeParser`: a query is compared with the nodes of one granularity, or of several,
    and returns the k best distinct parents, their passages. A node of any other parser is a passage, and is found at every
    granularity as itself; a sentence or proposition whose passage is not here is its own parent. Scores are plain floats:
    higher is better. Nodes come back equal to those added, apart from the embedding.

    An add that returns is on disk. Filters, `doc_ids` and `node_ids` apply before the search; an id in `node_ids`
    admits the node and the units under it. The async methods do the same without blocking the event loop.

    Args:
        path: The store's folder, made if absent; None keeps everything in memory until `persist`.
        granularity: What queries are compared with: "passage", "sentence" or "proposition", several of them, or "mixed"
            for all that can be searched.
        returns: "parents", or "units" for the nodes that were compared themselves.
        granularities: What can be searched.
        index: The kind of index, a FAISS factory string such as "HNSW32" or "IVF1024,SQ8", or a dict with one for each
            granularity; "auto" goes by the number of vectors. None for what the store was told before, else "auto".
        similarity: "inner_product" or "cosine"; None for what the store was told before, else inner product.
        shards: Cut each index into parts that are searched side by side.
        dtype: How vectors are kept on disk, "float32" or, in half the space, "float16"; chosen when the store is made.
        device: Where indexes are searched: "cpu", "cuda", "cuda:1", or several GPUs that share the work.
        gpu_shard: Several GPUs hold a part of each index instead of a copy.
        gpu_float16: GPUs hold exact indexes in half precision; hits are scored again with the exact vectors.
        mmap: Leave the index files on disk, and read only what a search touches.
        read_only: Refuse writes and leave the folder untouched.

    Raises:
        InvalidInputError: `granularity` is not among `granularities`, or a setting is unknown.
        StoreFormatError: The path holds something that is not a store of this version.
    """

    model_config = ConfigDict(extra="forbid")

    stores_text: bool = True
    flat_metadata: bool = False
    path: str | None = None
    granularity: Kind | Literal["mixed"] | tuple[Kind, ...] = "proposition"
    returns: Returns = "parents"
    granularities: tuple[Kind, ...] = ("passage", "sentence", "proposition")
    index: str | dict[str, str] | None = None
    similarity: str | None = None
    shards: int | None = None
    dtype: str | None = None
    device: str | tuple[str, ...] = "cpu"
    gpu_shard: bool = False
    gpu_float16: bool = False
    mmap: bool = False
    read_only: bool = False
    _store: UnitStore = PrivateAttr()

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        granularity: str | Sequence[str] = "proposition",
        returns: Returns = "parents",
        granularities: Sequence[Kind] = ("passage", "sentence", "proposition"),
        index: str | Mapping[str, str] | None = None,
        similarity: str | None = None,
        shards: int | None = None,
        dtype: str | None = None,
        device: str | Sequence[str] = "cpu",
        gpu_shard: bool = False,
        gpu_float16: bool = False,
        mmap: bool = False,
        read_only: bool = False,
        **fields: Any,
    ) -> None:
        fields |= {"path": None if path is None else str(path), "granularity": granularity, "returns": returns}
        fields |= {"granularities": granularities, "index": index, "similarity": similarity, "shards": shards}
        fields |= {"gpu_shard": gpu_shard, "gpu_float16": gpu_float16}
        super().__init__(**fields | {"dtype": dtype, "device": device, "mmap": mmap, "read_only": read_only})
        asked = (self.granularity,) if isinstance(self.granularity, str) else self.granularity
        if not asked or not {*asked} <= {"mixed", *self.granularities}:
            message = f"granularity={self.granularity!r} is not one of granularities={self.granularities}: choose some of them"
            raise InvalidInputError(message)
        self._store = UnitStore(
            path,
            encoder=None,
            granularities=self.granularities,
            index=self.index,
            similarity=self.similarity,
            shards=self.shards,
            dtype=self.dtype,
            device=self.device,
            gpu_shard=self.gpu_shard,
            gpu_float16=self.gpu_float16,
            mmap=self.mmap,
            read_only=self.read_only,
        )

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
        for node in checked_nodes(nodes):
            made = to_units(node, self._store.granularities)
            units += made
            vectors += [to_vector(node)] * len(made)
        if len(sizes := {len(vector) for vector in vectors}) > 1:
            message = f"the embeddings have different dimensions, {sorted(sizes)}: use one embedding model"
            raise EncoderMismatchError(message)
        if units:
            self._store.add(units, vectors=vectors, keep_children=True)
            self._drop_stand_ins(nodes)
        return [node.node_id for node in nodes]

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return nodes in the order of their ids, or all nodes, oldest first; those that pass the filters.

        Raises:
            InvalidInputError: A filter cannot compare some stored value.
        """
        units = self._store.get(matching_ids(self._store, node_ids, filters))
        return [to_node(unit) for unit in units if not is_stand_in(unit)]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        """Delete all nodes of a document; a node without a source is its own.

        Raises:
            InvalidInputError: Not one id.
        """
        if not isinstance(ref_doc_id, str):
            message = f"delete takes the id of one document, got {ref_doc_id!r}"
            raise InvalidInputError(message)
        self._store.delete([ref_doc_id])

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_: Any) -> None:
        """Delete nodes by id, by filters, or by both at once, with the sentences and propositions under them.

        Raises:
            InvalidInputError: Neither is given, or an empty list of filters alone; a filter cannot compare some value.
        """
        if node_ids is not None:
            self._store.delete(unit_ids=matching_ids(self._store, node_ids, filters))
            return
        tree = compile_filters(self._store, filters)
        if tree is None:
            message = "delete_nodes needs node_ids or filters; clear() deletes everything"
            raise InvalidInputError(message)
        self._store.delete(filter=tree)

    def clear(self) -> None:
        """Delete all nodes. The store may then be filled with embeddings of another dimension."""
        self._store.clear()

    # Queries

    def query(self, query: VectorStoreQuery, **options: Any) -> MultiGranularQueryResult:
        """Return the k best nodes, k being `similarity_top_k`, or all if there are fewer.

        Mode `mmr` chooses nodes that are near the query and, by the units that matched it, far from each other; their
        similarities are still those to the query. `index.as_retriever` hands options on as `vector_store_kwargs`.

        Args:
            query: The query, with its embedding; mode `default` or `mmr`.
            options: Those that are given:

                * `granularity`, `returns`: Instead of the store's own.
                * `fusion`: For several granularities, "rrf" (reciprocal rank fusion, the default) or "max".
                * `min_score`: Only nodes with at least this similarity.
                * `expand`: Give so many sentences before and after each match, and those it stands in, as `neighbours`;
                  around a passage, passages.
                * `parameters`: For approximate indexes, such as {"nprobe": 32} or {"efSearch": 128}.
                * `refine`: For compressed indexes: so many candidates per result are scored again exactly.
                * `mmr_threshold`: Weight of the nearness to the query, from 0 (only diversity counts) to 1 (none); by
                  default the query's, else 0.5.
                * `mmr_prefetch_k`: How many of the best nodes to choose from.
                * `mmr_prefetch_factor`: The same as a multiple of k, where `mmr_prefetch_k` is not given; 4 by default.

        Raises:
            InvalidInputError: No embedding, k below 1, another mode, unknown options, a filter that cannot compare some
                stored value, or a granularity that the store does not search or has no nodes of.
            EncoderMismatchError: The embedding has another dimension than the store's.
        """
        return self.query_batch([query], **options)[0]

    def query_batch(self, queries: Sequence[VectorStoreQuery], **options: Any) -> list[MultiGranularQueryResult]:
        """Do as `query` for several queries; those that differ in nothing but their embedding are one search."""
        chosen = QueryOptions.of(options, granularity=self.granularity, returns=self.returns)
        return run(self._store, queries, chosen)

    # Files

    def persist(self, persist_path: str = _PERSIST_PATH, fs: AbstractFileSystem | None = None) -> None:
        """Copy the store to a folder, made if absent; a store that is there is replaced.

        A store with a path of its own need not be persisted: what was added is on disk.

        Args:
            persist_path: The folder, or the URL of one. `StorageContext.persist` names it like a file,
                `default__vector_store.json`.
            fs: The file system that it is on, any of fsspec's; None for the local one, or that of the URL.

        Raises:
            StoreFormatError: The path holds something that is not a store.
            StoreError: The copy cannot be written.
        """
        save(self._store, persist_path, fs)

    @classmethod
    def from_persist_path(cls, persist_path: str, fs: AbstractFileSystem | None = None, **options: Any) -> Self:
        """Open a persisted store: a local one in its place, one of another file system as a local copy.

        Args:
            persist_path: Where `persist` put it.
            fs: The file system that it is on; None for the local one, or that of a URL.
            options: Those of the class. For another file system, `path` is the folder to make the copy in; without it the
                copy lies in a temporary folder, which goes with the store, and with it what is added.

        Raises:
            StoreFormatError: There is no store, or one that has not come whole.
            InvalidInputError: `path` is there, and not empty.
        """
        folder, temporary = fetch(persist_path, fs, options.pop("path", None))
        store = cls(folder, **options)
        if temporary:
            remove_with(store, folder)
        return store

    @classmethod
    def from_persist_dir(
        cls,
        persist_dir: str = DEFAULT_PERSIST_DIR,
        namespace: str = DEFAULT_VECTOR_STORE,
        fs: AbstractFileSystem | None = None,
        **options: Any,
    ) -> Self:
        """Do as `from_persist_path` for the folder that `StorageContext.persist` was given."""
        path = f"{str(persist_dir).rstrip('/')}/{namespace}{NAMESPACE_SEP}{DEFAULT_PERSIST_FNAME}"
        return cls.from_persist_path(path, fs, **options)

    # The parts

    def _drop_stand_ins(self, nodes: Sequence[BaseNode]) -> None:
        """Delete what stood in for nodes that have a granularity now, and had none before."""
        parted = [node.node_id for node in nodes if granularity_of(node) is not None]
        stale = self._store.get([own for each in parted for own in stand_ins_of(each, self._store.granularities)])
        if stale:
            self._store.delete(unit_ids=[unit.id for unit in stale])
