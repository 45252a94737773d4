"""A LangChain vector store that searches documents at any granularity."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from factoid.propositions import PropositionCache, Propositionizer
from factoid.propositions.decompose import Policy, check_policy
from factoid.store import UnitStore
from langchain_factoid.decomposer import Decomposer
from langchain_factoid.diverse_searching import DiverseSearch
from langchain_factoid.documents import Documents
from langchain_factoid.embeddings import EmbeddingsEncoder
from langchain_factoid.indexing import Indexer
from langchain_factoid.saving import Saving
from langchain_factoid.searching import DocumentSearch
from langchain_factoid.streaming import text_documents
from langchain_factoid.unit_searching import UnitSearch

_OF_ADDING = ("batch_size", "show_progress")


class MultiGranularFAISS(Documents, DocumentSearch, UnitSearch, DiverseSearch, Saving):
    """Documents that are found by their passages, sentences or propositions, in SQLite and FAISS.

    An added document is one passage, whatever its length, and the parent of its sentences and propositions. A search
    scores documents by their best unit of one granularity and returns the k best documents, equal to those added.
    Scores are plain floats: higher is better.

    Every search takes these options, and those of `similarity_search`:

    * `granularity`: "passage", "sentence" or "proposition" (the default, where the store searches it, else the finest
      that it does); several of them, or "mixed" for all, are fused.
    * `filter`: A dict of conditions, a callable that gets a document's metadata as a dict, or a tree (see
      `factoid.filters`). Filters apply before the search: k matching documents are found if there are k.

    The async methods do the same without blocking the event loop: they await the embeddings, and search in threads.

    Metadata must survive JSON: strings as keys; strings, numbers, booleans, None, lists and dicts as values.

    Args:
        embedding: Embeds documents and queries. Where its vectors are not of unit length, longer ones score higher,
            unless `similarity` is "cosine".
        propositionizer: Any object with a `propositionize` method; None for `SyntaxPropositionizer`.
        granularities: What is embedded and can be searched; None for what the store has embedded, and all for an empty
            one.
        path: The store's folder, made if absent; None keeps everything in memory.
        unsupported: What becomes of propositions that their passage does not support: "drop", "keep", or "sentence" to
            put the sentence in their place.
        cache: Keeps what the propositionizer returns, so that it is asked only what is new: a
            `factoid.PropositionCache`, or the path of its file, to share between stores. Without one, a store on disk
            keeps what costly propositionizers return, and one in memory nothing.
        index: The kind of index, a FAISS factory string such as "Flat", "HNSW32" or "IVF1024,SQ8", or one for each
            granularity in a dict; "auto" goes by the number of vectors. None for what the store was told before, else
            "auto". Compressed kinds are refined with the exact vectors.
        similarity: "inner_product" or "cosine"; None for what the store was told before, else inner product.
        shards: Cut each index into parts that are searched side by side (Dense X Retrieval, Appendix C, has 8).
        dtype: How vectors are kept on disk, "float32" or, in half the space, "float16"; chosen when the store is made.
        device: Where indexes are searched: "cpu", "cuda", "cuda:1", or a list of GPUs that share the work.
        gpu_shard: Several GPUs hold a part of each index instead of a copy, for indexes that are too large for one.
        gpu_float16: GPUs hold exact indexes in half precision; hits are scored again with the exact vectors.
        mmap: Leave the index files on disk, and read only what a search touches.
        read_only: Refuse changes and leave the folder untouched; it may lie on a read-only disk.

    Raises:
        InvalidInputError: Unknown granularity or policy, or a setting that the store cannot have.
        StoreFormatError: The path holds something that is not a store of this version.
        EncoderMismatchError: The store was built with other embeddings.
    """

    def __init__(
        self,
        embedding: Embeddings,
        *,
        propositionizer: Propositionizer | None = None,
        granularities: Sequence[str] | None = None,
        path: str | Path | None = None,
        unsupported: Policy = "drop",
        cache: PropositionCache | str | Path | None = None,
        index: str | Mapping[str, str] | None = None,
        similarity: str | None = None,
        shards: int | None = None,
        dtype: str | None = None,
        device: str | Sequence[str] = "cpu",
        gpu_shard: bool = False,
        gpu_float16: bool = False,
        mmap: bool = False,
        read_only: bool = False,
    ) -> None:
        check_policy(unsupported)  # before a store is made
        self._encoder = EmbeddingsEncoder(embedding)
        self._store = UnitStore(
            path,
            encoder=self._encoder,
            granularities=granularities,
            index=index,
            similarity=similarity,
            shards=shards,
            dtype=dtype,
            device=device,
            gpu_shard=gpu_shard,
            gpu_float16=gpu_float16,
            mmap=mmap,
            read_only=read_only,
        )
        try:
            self._decomposer = Decomposer(propositionizer, unsupported=unsupported, cache=cache, store=self._store.path)
        except BaseException:
            self._store.close()
            raise
        self._indexer = Indexer(self._store, self._encoder, self._decomposer)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        **options: Any,
    ) -> Self:
        """Return a store that holds these texts; options are those of the class and of `add_documents`."""
        return cls.from_documents(text_documents(texts, metadatas), embedding, ids=ids, **options)

    @classmethod
    async def afrom_texts(
        cls,
        texts: Iterable[str],
        embedding: Embeddings,
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        **options: Any,
    ) -> Self:
        """Do as `from_texts`."""
        return await cls.afrom_documents(text_documents(texts, metadatas), embedding, ids=ids, **options)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        ids: Iterable[str | None] | None = None,
        **options: Any,
    ) -> Self:
        """Return a store that holds these documents; options are those of the class and of `add_documents`."""
        adding = {name: options.pop(name) for name in _OF_ADDING if name in options}
        store = cls(embedding, **options)
        try:
            store.add_documents(documents, ids, **adding)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Embeddings,
        *,
        ids: Iterable[str | None] | None = None,
        **options: Any,
    ) -> Self:
        """Do as `from_documents`."""
        adding = {name: options.pop(name) for name in _OF_ADDING if name in options}
        store = await asyncio.to_thread(cls, embedding, **options)
        try:
            await store.aadd_documents(documents, ids, **adding)
        except BaseException:
            await store.aclose()
            raise
        return store

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings given."""
        return self._encoder.embeddings

    @property
    def store(self) -> UnitStore:
        """The core store, for what it alone can do: verify, compact, export."""
        return self._store

    def refresh(self, *, show_progress: bool = False) -> None:
        """Bring the indexes up to date now, and write them, so that the next search finds them ready."""
        self._store.refresh(show_progress=show_progress)

    async def arefresh(self, *, show_progress: bool = False) -> None:
        """Do as `refresh`."""
        await asyncio.to_thread(self.refresh, show_progress=show_progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
