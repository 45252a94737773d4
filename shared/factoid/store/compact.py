"""A store made as small as its content."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from factoid.errors import StoreError
from factoid.sqlite_file import FILE
from factoid.store.connections import Connections
from factoid.store.index_files import index_files
from factoid.store.repair import drop_all_unused
from factoid.store.transaction import transaction
from factoid.store.views import Views
from factoid.units import Granularity


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport:
    """What `UnitStore.compact` did.

    Attributes:
        before: Bytes of the database and the index files, before.
        after: The same, after.
    """

    before: int
    after: int

    def __str__(self) -> str:
        return f"{self.before:,} bytes before, {self.after:,} after"


def compact(connections: Connections, views: Views, *, show_progress: bool = False) -> CompactReport:
    """Drop what no unit uses and what only old readers need, and give free space back to the disk.

    Each step leaves a whole store, so that a call may be killed at any moment and made again. Searches of this and of
    other processes go on meanwhile; writes wait.

    Args:
        connections: Of the store.
        views: Its indexes; those that are held or have files are brought up to date, and built anew where they hide
            vectors that were removed.
        show_progress: Show progress bars where indexes are built.

    Raises:
        StoreError: The store is read-only or closed, or the disk is full: SQLite writes the whole database once to the
            folder of temporary files (SQLITE_TMPDIR) and once beside the store.
    """
    with connections.reading() as connection:
        before = _size(connection, connections.path)
    with transaction(connections) as writing:
        drop_all_unused(writing)
        writing.forget_changes()
    views.renew(show_progress=show_progress)
    views.save()
    with connections.alone() as connection:
        try:
            connection.execute("VACUUM")
        except sqlite3.OperationalError as error:
            if "full" not in str(error):
                raise
            message = (
                f"{error}: compact needs about {_size(connection, connections.path):,} free bytes, both where the store is "
                "and where temporary files go (SQLITE_TMPDIR). The store is as it was: free some space and run again"
            )
            raise StoreError(message) from error
        # Readers at work keep the log from being emptied now; the next checkpoint then does it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return CompactReport(before=before, after=_size(connection, connections.path))


def _size(connection: sqlite3.Connection, folder: Path | None) -> int:
    """Return the bytes of a store; of one in memory, those of its database."""
    if folder is None:
        pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
        return int(pages) * int(size)
    files = [
        folder / FILE,
        folder / f"{FILE}-wal",
        *(file for kind in Granularity for file in index_files(folder, kind)),
    ]
    return sum(file.stat().st_size for file in files if file.exists())
