"""A store made as small as its content."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.errors import StoreError
from factoid.files.sqlite import FILE
from factoid.store.indexes.build import INDEXES, index_files
from factoid.store.token_vectors import TokenVectorCache
from factoid.store.upkeep.stats import total_size

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """What `UnitStore.compact` did: the bytes of the database, the index files and the token vectors before and after."""

    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.before:,} bytes before, {self.after:,} after"


def compact(store: UnitStore, *, show_progress: bool = False) -> CompactReport:
    """Make the store as small as its content; needs about its size of free disk, and another time for temporary files.

    What no unit uses, what only old readers need and token vectors of texts that are no passage of the store are dropped, and
    indexes that hide vectors which were removed are built anew. Each step leaves a whole store, so that a call may be killed
    at any moment and made again. Searches of this and of other processes go on meanwhile; writes wait.

    Raises:
        StoreError: The store is read-only or closed, or the disk is full: SQLite writes the whole database once to the
            folder of temporary files (SQLITE_TMPDIR) and once beside the store.
    """
    connections, views = store.connections, store.views
    with connections.reading() as snapshot:
        before = _size(snapshot.connection, connections.path)
    with connections.transaction() as writing:
        writing.drop_all_unused()
        writing.forget_changes()
    views.refresh(renew=True, show_progress=show_progress)
    views.save()
    tokens = None if connections.path is None else TokenVectorCache(connections.path)
    if tokens and tokens.size():
        with connections.reading() as snapshot:
            passages = snapshot.connection.execute("SELECT text FROM units WHERE granularity = 'passage'")
            tokens.keep_only(text for (text,) in passages)
    with connections.alone() as connection:
        try:
            connection.execute("VACUUM")
        except sqlite3.OperationalError as error:
            if "full" not in str(error):
                raise
            raise StoreError(
                f"{error}: compact needs about {_size(connection, connections.path):,} free bytes, both where the store is "
                "and where temporary files go (SQLITE_TMPDIR). The store is as it was: free some space and run again"
            ) from error
        # Readers at work keep the log from being emptied now; the next checkpoint then does it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return CompactReport(before=before, after=_size(connection, connections.path))


def _size(connection: sqlite3.Connection, folder: Path | None) -> int:
    """Return the bytes of a store; of one in memory, those of its database."""
    if folder is None:
        pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return int(pages) * int(size)
    indexes = [file for kind in INDEXES for file in index_files(folder, kind)]
    return total_size([folder / FILE, folder / f"{FILE}-wal", *indexes]) + TokenVectorCache(folder).size()
