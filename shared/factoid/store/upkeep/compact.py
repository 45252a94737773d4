"""Shrink a store to its content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factoid.store.indexes.build import INDEXES, remove_indexes
from factoid.store.token_vectors import TOKENS, TokenVectorCache

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


def compact(store: UnitStore, *, progress: bool | None = None) -> None:
    """Shrink the store to its content; needs about its size of free disk, and the same again for temporary files.

    Data that only old readers need and token vectors of texts that are not passages of the store are dropped, and indexes are
    rebuilt. Each step leaves a whole store. Searches of this and other processes continue meanwhile; writes wait.

    Raises:
        StoreError: The store is read-only or closed, or the disk fails or is full: SQLite writes the whole database once to the
            folder of temporary files (SQLITE_TMPDIR) and once beside the store.
    """
    with store.connections.transaction() as writing:
        writing.forget_changes()
        writing.compact_vectors()
    store.connections.sweep_vectors()
    store.indexes.forget()
    if store.path is not None:
        remove_indexes(store.path, INDEXES)
    store.indexes.refresh(progress=progress)
    store.indexes.save()
    if store.path is not None and (store.path / TOKENS).exists():
        with store.connections.reading() as snapshot:
            texts = snapshot.connection.execute("SELECT text FROM units WHERE granularity = 'passage'")
            TokenVectorCache(store.path).keep_only(text for (text,) in texts)
    with store.connections.alone() as connection:
        connection.execute("VACUUM")
        # Active readers keep the log from being emptied now; the next checkpoint then does it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
