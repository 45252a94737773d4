"""A store copied as it is at one generation: to another folder, or to be sent elsewhere."""

from __future__ import annotations

import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from factoid.errors import StoreError
from factoid.sqlite_file import FILE, explain, use_wal
from factoid.store.connections import Connections
from factoid.store.index_files import index_files, remove_index
from factoid.store.schema import check_folder, prepare
from factoid.store.syncing import sync_file, sync_folder
from factoid.units import Granularity


def copy_to(connections: Connections, path: str | Path) -> None:
    """Make another folder a copy of a store. What is there counts until the copy is complete, and never after.

    Args:
        connections: Of the store.
        path: A folder; made if absent. The store's own is left alone.

    Raises:
        StoreFormatError: The path holds something that is not a store.
        StoreError: The copy cannot be written.
    """
    target = Path(path)
    if connections.path is not None and target.exists() and connections.path.samefile(target):
        return
    try:
        if (target / FILE).exists():
            _replace(connections, target)
            return
        if target.exists():
            check_folder(target)
        with beside(target) as part:
            snapshot(connections, part)
            sync_folder(part)
            with suppress(FileNotFoundError):
                target.rmdir()  # it is empty, and not every system renames over an empty folder
            part.replace(target)
        sync_folder(target.absolute().parent)
    except (OSError, sqlite3.Error) as error:
        raise _failure(target, error) from error


def snapshot(connections: Connections, folder: Path) -> list[Path]:
    """Write a store at one generation into an empty folder, as one database file and its index files.

    Returns:
        The files, the database first.

    Raises:
        sqlite3.Error, OSError: The files cannot be written.
    """
    database = folder / FILE
    with closing(sqlite3.connect(database, isolation_level=None)) as target:
        with connections.reading() as source:
            _back_up(source, target, folder)
            copied = _copy_indexes(connections.path, folder)
        # One file, without a log beside it: it can be read from a read-only disk, and be sent alone.
        target.execute("PRAGMA journal_mode = DELETE")
    for file in (database, *copied):
        sync_file(file)
    return [database, *copied]


def _replace(connections: Connections, folder: Path) -> None:
    """Replace the content of a store as one commit, which its open readers see like any other."""
    with closing(prepare(folder)) as target:
        for kind in Granularity:
            remove_index(folder, kind)
        with connections.reading() as source:
            _back_up(source, target, folder)
            _copy_indexes(connections.path, folder)
        use_wal(target)
        target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _back_up(source: sqlite3.Connection, target: sqlite3.Connection, folder: Path) -> None:
    """Copy a database at one generation into another, as one commit."""
    try:
        source.execute("SELECT value FROM meta").fetchall()  # the generation is chosen by what is read first
        if _page_size(source) != _page_size(target):
            # SQLite changes it only where there is no log, and therefore only while nobody else has the target open.
            target.execute("PRAGMA journal_mode = DELETE")
        source.backup(target)
    except sqlite3.Error as error:
        raise _failure(folder, error) from error


def _copy_indexes(source: Path | None, folder: Path) -> list[Path]:
    """Copy index files: caches that name their generation, so that those of an earlier one do no harm."""
    copied: list[Path] = []
    if source is None:
        return copied
    for file in (file for kind in Granularity for file in index_files(source, kind)):
        with suppress(FileNotFoundError):  # replaced or removed just now: the copy builds its own
            # Under a name of its own first: whoever stops half way leaves no file that looks whole.
            part = folder / f"{file.name}.{secrets.token_hex(4)}.part"
            shutil.copyfile(file, part)
            copied.append(part.replace(folder / file.name))
    return copied


def _page_size(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_size").fetchone()[0])


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """Give a folder beside another, to be renamed to it; what is left of it goes."""
    whole = target.absolute()
    part = whole.with_name(f".{whole.name}.{secrets.token_hex(4)}.part")
    part.mkdir(mode=0o777, parents=True)
    try:
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _failure(target: Path, error: OSError | sqlite3.Error) -> StoreError:
    reason = explain(error) if isinstance(error, sqlite3.Error) else f"{error.strerror or error}"
    return StoreError(f"cannot copy the store to {target}: {reason}")
