"""Shrink a store to the size of its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from factoid.store.indexes.build import INDEXES, remove_index
from factoid.store.token_vectors import TokenVectorCache
from factoid.store.upkeep.stats import stats

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """What `UnitStore.compact` did: bytes of the database, index files and token vectors before and after; 0 in memory."""

    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.before:,} bytes before, {self.after:,} after"


def compact(store: UnitStore, *, show_progress: bool = False) -> CompactReport:
    """Shrink the store to its content; needs about its size of free disk, and the same again for temporary files.

    Rows that no unit uses, data that only old readers need and token vectors of texts that are not passages of the store are
    dropped, and indexes are rebuilt. Each step leaves a whole store, so a call may be killed at any
    moment and repeated. Searches of this and other processes continue meanwhile; writes wait.

    Raises:
        StoreError: The store is read-only or closed, or the disk is full: SQLite writes the whole database once to the
            folder of temporary files (SQLITE_TMPDIR) and once beside the store.
    """
    connections, views = store.connections, store.views
    before = _size(store)
    with connections.transaction() as writing:
        writing.drop_all_unused()
        writing.forget_changes()
    views.forget()
    for name in INDEXES if store.path is not None else ():
        remove_index(store.path, name)
    views.refresh(show_progress=show_progress)
    views.save()
    tokens = None if store.path is None else TokenVectorCache(store.path)
    if tokens and tokens.size():
        with connections.reading() as snapshot:
            passages = snapshot.connection.execute("SELECT text FROM units WHERE granularity = 'passage'")
            tokens.keep_only(text for (text,) in passages)
    with connections.alone() as connection:
        connection.execute("VACUUM")
        # Active readers keep the log from being emptied now; the next checkpoint then does it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return CompactReport(before=before, after=_size(store))


def _size(store: UnitStore) -> int:
    size = stats(store)
    return size.bytes + sum(size.index_bytes.values()) + size.token_bytes
