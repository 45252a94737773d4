"""The documents of `MultiGranularFAISS`: added, looked up, changed and deleted, each sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from factoid.filters import Filter
from factoid.propositions import Report
from langchain_factoid.convert import stored_document
from langchain_factoid.indexing import Indexer
from langchain_factoid.querying import Querying
from langchain_factoid.streaming import text_documents


class Documents(Querying):
    """What changes the documents of a store, and gives them back by id."""

    _indexer: Indexer

    @property
    def last_report(self) -> Report | None:
        """What became of the passages of the latest call that has ended; None before the first."""
        return self._indexer.last_report

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        **options: Any,
    ) -> list[str]:
        """Do as `add_documents` for texts and their metadata."""
        return self.add_documents(text_documents(texts, metadatas), ids, **options)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        **options: Any,
    ) -> list[str]:
        """Do as `add_texts`."""
        return await self.aadd_documents(text_documents(texts, metadatas), ids, **options)

    def add_documents(
        self,
        documents: Iterable[Document],
        ids: Iterable[str | None] | None = None,
        *,
        batch_size: int = 100,
        show_progress: bool = False,
        **options: Any,
    ) -> list[str]:
        """Add documents; one with an id that is in the store replaces the stored one with all its units.

        Args:
            documents: Any iterable of documents, read once; no more than a batch is held at a time. Those of white space
                only are stored, but no search finds them.
            ids: Their ids; None for each document's own id or, without one, an id made from content and metadata. Of
                equal ids the last document counts.
            batch_size: Documents that are decomposed, embedded and committed together. A call that is interrupted has
                added whole batches.
            show_progress: Show a progress bar over documents.
            options: None so far; an unknown one is a TypeError.

        Returns:
            One id for each document, in order.

        Raises:
            InvalidInputError: Not documents, another number of ids, lone surrogates in a text, or metadata that JSON
                would change: of a list before any work, else after the batches before.
            EncoderMismatchError: The embeddings have another dimension than the store's.
            StoreError: The store is read-only or closed.
        """
        return self._indexer.add(documents, ids, batch_size=batch_size, show_progress=show_progress, **options)

    async def aadd_documents(
        self,
        documents: Iterable[Document],
        ids: Iterable[str | None] | None = None,
        *,
        batch_size: int = 100,
        show_progress: bool = False,
        **options: Any,
    ) -> list[str]:
        """Do as `add_documents`. The iterable is read in threads."""
        return await self._indexer.aadd(documents, ids, batch_size=batch_size, show_progress=show_progress, **options)

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents, or units, with these ids, in this order; unknown ids are left out."""
        return [stored_document(unit) for unit in self._store.get(ids)]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Do as `get_by_ids`."""
        return await asyncio.to_thread(self.get_by_ids, ids)

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Filter | None = None,  # noqa: A002 - as in the searches
        **options: Any,
    ) -> bool:
        """Delete documents with all their units, or single units; unknown ids are ignored.

        Args:
            ids: Of documents or units. None deletes nothing, as in LangChain's `InMemoryVectorStore`: `clear` deletes all.
            filter: Delete the documents whose metadata pass, in place of ids.
            options: None so far; an unknown one is a TypeError.

        Raises:
            InvalidInputError: Both ids and a filter, or a filter without any condition.
        """
        if ids is None and filter is None:
            ids = ()
        self._store.delete(ids, filter=filter, **options)
        return True

    async def adelete(self, ids: Sequence[str] | None = None, **options: Any) -> bool:
        """Do as `delete`."""
        return await asyncio.to_thread(self.delete, ids, **options)

    def update_metadata(
        self,
        changes: Mapping[str, Any],
        *,
        ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in the searches
    ) -> int:
        """Set keys of the metadata of documents and of their units, without embedding anything again.

        Args:
            changes: Keys and their new values; others stay as they are.
            ids: Of documents or units; None with a filter.
            filter: Change the documents whose metadata pass, in place of ids.

        Returns:
            The number of documents and units changed.

        Raises:
            InvalidInputError: Neither ids nor a filter, or both; a filter without any condition; metadata that JSON
                would change.
        """
        return self._store.update_metadata(changes, ids=ids, filter=filter)

    async def aupdate_metadata(
        self,
        changes: Mapping[str, Any],
        *,
        ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in the searches
    ) -> int:
        """Do as `update_metadata`."""
        return await asyncio.to_thread(self.update_metadata, changes, ids=ids, filter=filter)

    def clear(self) -> None:
        """Delete all documents, and what is kept of a costly propositionizer; other embeddings may then fill the store."""
        self._store.clear()

    async def aclear(self) -> None:
        """Do as `clear`."""
        await asyncio.to_thread(self.clear)
