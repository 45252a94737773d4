"""Copy a store at one generation: to another folder, or to be sent elsewhere."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from factoid.errors import StoreError
from factoid.files.atomic import move_into_place, part_beside, sync_file, sync_folder
from factoid.files.sqlite import FILE, explain
from factoid.store.database.connections import Connections
from factoid.store.database.schema import check_folder, local_folder, prepare
from factoid.store.indexes.build import INDEXES, index_files, remove_index

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


def copy_to(store: UnitStore, path: str | Path) -> None:
    """Make another folder a copy of this store. A store there stays valid until the copy is complete, which then replaces it.

    The folder is created if absent; the store's own is left alone.

    Raises:
        StoreFormatError: The path holds something other than a store.
        StoreError: The copy cannot be written.
    """
    store.views.save()
    target = local_folder(path)
    if store.path is not None and target.exists() and store.path.samefile(target):
        return
    try:
        if (target / FILE).exists():
            with closing(prepare(target)) as database:  # its open readers see one commit like any other
                _back_up(store.connections, database, target)
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return
        if target.exists():
            check_folder(target)
        with new_folder(target) as part:
            snapshot(store.connections, part)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot copy the store to {target}: {explain(error)}") from error


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a folder to fill, which then replaces one that is absent or empty."""
    with part_beside(target, folder=True) as part:
        yield part
        sync_folder(part)
        with suppress(FileNotFoundError):
            target.rmdir()  # not every system renames over an empty folder
        move_into_place(part, target)


def snapshot(connections: Connections, folder: Path) -> list[Path]:
    """Write a store at one generation into an empty folder: its database, and then its index files."""
    database = folder / FILE
    with closing(sqlite3.connect(database, isolation_level=None)) as target:
        files = [database, *_back_up(connections, target, folder)]
        # One file, without a log beside it: it can be read from a read-only disk, and be sent alone. On a full disk SQLite raises
        # no error here, but stays in its mode.
        if target.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
            raise sqlite3.OperationalError("disk I/O error: the write-ahead log could not be carried into the database")
    for file in files:
        sync_file(file)
    return files


def _back_up(connections: Connections, target: sqlite3.Connection, folder: Path) -> list[Path]:
    """Copy a database at one generation into another, as one commit, and the index files beside it; return the latter."""
    copies: list[Path] = []
    with connections.reading() as source:
        try:
            source.values("SELECT value FROM meta")  # the first read fixes the generation
            for kind in INDEXES:
                remove_index(folder, kind)
            source.connection.backup(target)
        except sqlite3.Error as error:  # the target's, not the store's
            raise StoreError(f"cannot copy the store to {folder}: {explain(error)}") from error
        # Each names its generation, so those of an earlier one do no harm.
        for kind in INDEXES:
            for file in index_files(connections.path, kind) if connections.path else ():
                # Replaced or removed just now: the copy builds its own.
                with suppress(FileNotFoundError), part_beside(folder / file.name) as part:
                    shutil.copyfile(file, part)
                    copies.append(part.replace(folder / file.name))
    return copies
