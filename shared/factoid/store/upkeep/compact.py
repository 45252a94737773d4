"""Shrink a store to the size of its content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factoid.store.token_vectors import TokenVectorCache

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


def compact(store: UnitStore, *, show_progress: bool = False) -> None:
    """Shrink the store to its content; needs about its size of free disk, and the same again for temporary files.

    Rows that no unit uses, data that only old readers need and token vectors of texts that are not passages of the store are
    dropped, and indexes that hide removed vectors are rebuilt. Each step leaves a whole store, so a call may be killed at any
    moment and repeated. Searches of this and other processes continue meanwhile; writes wait.

    Raises:
        StoreError: The store is read-only or closed, or the disk is full: SQLite writes the whole database once to the
            folder of temporary files (SQLITE_TMPDIR) and once beside the store.
    """
    connections, views = store.connections, store.views
    with connections.transaction() as writing:
        writing.drop_all_unused()
        writing.forget_changes()
    views.refresh(renew=True, show_progress=show_progress)
    views.save()
    if store.path is not None:
        with connections.reading() as snapshot:
            TokenVectorCache(store.path).keep_only(
                snapshot.values("SELECT text FROM units WHERE granularity = 'passage'")
            )
    with connections.alone() as connection:
        connection.execute("VACUUM")
        # Active readers keep the log from being emptied now; the next checkpoint then does it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
