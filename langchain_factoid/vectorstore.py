"""A LangChain vector store that searches documents at any granularity."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from factoid.propositions import PropositionCache, Propositionizer, Report
from factoid.propositions.decompose import Policy, check_policy
from factoid.store import GRANULARITIES, UnitStore
from factoid.units import Granularity
from langchain_factoid.convert import from_texts, stored_document
from langchain_factoid.decomposer import Decomposer
from langchain_factoid.embeddings import EmbeddingsEncoder
from langchain_factoid.indexing import Indexer
from langchain_factoid.searching import GranularSearch


class MultiGranularFAISS(GranularSearch):
    """Documents that are found by their passages, sentences or propositions, in SQLite and FAISS.

    An added document is one passage, whatever its length, and the parent of its sentences and propositions. A search
    scores documents by their best unit of one granularity and returns the k best documents, equal to those added.
    Scores are inner products, as plain floats: higher is better.

    Every search takes these options:

    * `granularity`: "passage", "sentence" or "proposition" (the default).
    * `filter`: A dict of conditions (see `factoid.filters`), or a callable that gets a document's metadata as a dict.
      Filters apply before the search: k matching documents are found if there are k.

    The async methods do the same without blocking the event loop.

    Metadata must survive JSON: strings as keys; strings, numbers, booleans, None, lists and dicts as values.

    Args:
        embedding: Embeds documents and queries. Where its vectors are not of unit length, longer ones score higher.
        propositionizer: Any object with a `propositionize` method; None for `SyntaxPropositionizer`.
        granularities: What is embedded and can be searched.
        path: The store's folder, made if absent; None keeps everything in memory.
        unsupported: What becomes of propositions that their passage does not support: "drop", "keep", or "sentence" to
            put the sentence in their place.
        cache: Keeps what the propositionizer returns, so that it is asked only what is new: a
            `factoid.PropositionCache`, or the path of its file, to share between stores. Without one, a store on disk
            keeps what costly propositionizers return, and one in memory nothing.

    Raises:
        InvalidInputError: Unknown granularity or policy.
        StoreFormatError: The path holds something that is not a store of this version.
        EncoderMismatchError: The store was built with other embeddings.
    """

    def __init__(
        self,
        embedding: Embeddings,
        *,
        propositionizer: Propositionizer | None = None,
        granularities: Sequence[str] = GRANULARITIES,
        path: str | Path | None = None,
        unsupported: Policy = "drop",
        cache: PropositionCache | str | Path | None = None,
    ) -> None:
        check_policy(unsupported)  # before a store is made
        self._encoder = EmbeddingsEncoder(embedding)
        self._store = UnitStore(path, encoder=self._encoder, granularities=granularities)
        self._decomposer = Decomposer(propositionizer, unsupported=unsupported, cache=cache, store=self._store.path)
        self._indexer = Indexer(self._store, self._encoder, self._decomposer)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> Self:
        """Return a store that holds these texts; options are those of the class."""
        store = cls(embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> Self:
        """Do as `from_texts`."""
        store = await asyncio.to_thread(cls, embedding, **options)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings given."""
        return self._encoder.embeddings

    @property
    def granularities(self) -> tuple[Granularity, ...]:
        """What can be searched."""
        return self._store.granularities

    @property
    def last_report(self) -> Report | None:
        """What became of the passages of the latest call that has ended; None before the first."""
        return self._indexer.last_report

    def close(self) -> None:
        """Save the indexes and close the store. Documents are on disk when the call that added them returns."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Documents

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> list[str]:
        """Do as `add_documents` for texts and their metadata."""
        return self.add_documents(from_texts(texts, metadatas), ids, **options)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> list[str]:
        """Do as `add_texts`."""
        return await self.aadd_documents(from_texts(texts, metadatas), ids, **options)

    def add_documents(
        self,
        documents: Sequence[Document],
        ids: Sequence[str | None] | None = None,
        *,
        batch_size: int = 100,
        **options: Any,
    ) -> list[str]:
        """Add documents; one with an id that is in the store replaces the stored one with all its units.

        Args:
            documents: Documents. Those of white space only are stored, but no search finds them.
            ids: Their ids; None for each document's own id or, without one, an id made from content and metadata. Of
                equal ids the last document counts.
            batch_size: Documents that are decomposed, embedded and committed together. A call that is interrupted has
                added whole batches.
            options: None so far; an unknown one is a TypeError.

        Returns:
            One id for each document, in order.

        Raises:
            InvalidInputError: Before any work: not documents, another number of ids, lone surrogates in a text, or
                metadata that JSON would change.
            EncoderMismatchError: The embeddings have another dimension than the store's.
        """
        return self._indexer.add(documents, ids, batch_size=batch_size, **options)

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        ids: Sequence[str | None] | None = None,
        *,
        batch_size: int = 100,
        **options: Any,
    ) -> list[str]:
        """Do as `add_documents`."""
        return await self._indexer.aadd(documents, ids, batch_size=batch_size, **options)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents, or units, with these ids, in this order; unknown ids are left out."""
        return [stored_document(unit) for unit in self._store.get(ids)]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Do as `get_by_ids`."""
        return await asyncio.to_thread(self.get_by_ids, ids)

    def delete(self, ids: Sequence[str] | None = None, **options: Any) -> bool:
        """Delete documents with all their units, or single units; unknown ids are ignored.

        None deletes nothing, as in LangChain's `InMemoryVectorStore`.
        """
        self._store.delete(() if ids is None else ids, **options)
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **options: Any) -> bool:
        """Do as `delete`."""
        return await asyncio.to_thread(self.delete, ids, **options)
