"""How a cache of propositions is opened: in a file of its own, or in a store's database beside its units."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from factoid.errors import StoreError, StoreFormatError
from factoid.sqlite_file import APPLICATION_ID as STORE_ID
from factoid.sqlite_file import FILE, READABLE, WAIT, explain, use_wal

APPLICATION_ID = 0x0FAC70CA
FORMAT = 1

_TABLES = """
CREATE TABLE IF NOT EXISTS propositions (
    row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, name TEXT NOT NULL, output TEXT NOT NULL, reason TEXT
);
CREATE TABLE IF NOT EXISTS claims (key BLOB PRIMARY KEY, at REAL NOT NULL, owner TEXT NOT NULL) WITHOUT ROWID
"""
_KNOWN = {(APPLICATION_ID, FORMAT), *((STORE_ID, version) for version in READABLE)}


def connect(path: Path) -> tuple[sqlite3.Connection, bool]:
    """Open a cache, or make it.

    Args:
        path: A file, made if absent, or the folder of a store, which keeps a cache in its database.

    Returns:
        (connection, whether it can be written). What lies on a read-only file system is opened for reading.

    Raises:
        StoreFormatError: The path holds something else, a damaged cache or one of another version.
        StoreError: The file cannot be made or opened.
    """
    file = path / FILE if path.is_dir() else path
    if path.is_dir() and (not file.exists() or not file.stat().st_size):
        message = f"{path} is a folder without {FILE}: a cache is a file, or the folder of a store"
        raise StoreFormatError(message)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        writable = os.access(file.parent, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))
        if not writable and not file.exists():
            message = f"the cache {file} is not there and cannot be made: {file.parent} is read-only"
            raise StoreError(message)
        return (_open(file) if writable else _open_read_only(file)), writable
    except (sqlite3.DatabaseError, OSError) as error:
        raise failure(path, error) from error


def failure(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """Return the error to raise where SQLite reports one."""
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        is_store = path.is_dir() or path.name == FILE
        remedy = (
            "Restore the store from a backup"
            if is_store
            else "Name another file; if this one is a damaged cache, move it away, and what it held is asked for anew"
        )
        message = f"{path} cannot be read as a cache of propositions: {error}. {remedy}"
        return StoreFormatError(message)
    reason = explain(error) if isinstance(error, sqlite3.Error) else str(error.strerror)
    return StoreError(f"the cache {path} cannot be used: {reason}")


def _open(file: Path) -> sqlite3.Connection:
    with ExitStack() as stack:
        connection = _connected(stack, str(file))
        connection.execute("BEGIN")  # one moment, while another process may be making the cache
        _check(connection, file)  # before anything is written
        connection.execute("COMMIT")
        use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")  # survives a kill; a power cut may cost the last commits
        if not _tables(connection) or not _owned(connection):
            connection.execute("BEGIN IMMEDIATE")
            if _check(connection, file):  # another process may have made it in the meantime
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
            if not _owned(connection):
                connection.execute("DROP TABLE IF EXISTS claims")  # of an earlier version; it holds nothing lasting
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute("COMMIT")
        stack.pop_all()
    return connection


def _open_read_only(file: Path) -> sqlite3.Connection:
    with ExitStack() as stack:
        address = f"{file.absolute().as_uri()}?mode=ro"
        try:
            connection = _connected(stack, address)
            empty = _check(connection, file)
        except sqlite3.OperationalError:
            log = file.with_name(f"{file.name}-wal")
            if log.exists() and log.stat().st_size:
                raise
            # A write-ahead log cannot be made here, and without one nobody can be writing.
            connection = _connected(stack, f"{address}&immutable=1")
            empty = _check(connection, file)
        if empty or not _tables(connection):
            message = f"{file} holds no propositions, and none can be added: it is read-only"
            raise StoreError(message)
        stack.pop_all()
    return connection


def _connected(stack: ExitStack, target: str) -> sqlite3.Connection:
    uri = target.startswith("file:")
    connection = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=WAIT, uri=uri)
    return stack.enter_context(closing(connection))


def _check(connection: sqlite3.Connection, file: Path) -> bool:
    """Refuse what is no cache; tell whether the file is still empty. Only reads."""
    version = (_pragma(connection, "application_id"), _pragma(connection, "user_version"))
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version not in _KNOWN and not (empty and version == (0, 0)):
        message = (
            f"{file} is not a cache of propositions of format {FORMAT} (application {version[0]:#x}, format "
            f"{version[1]}): name another file"
        )
        raise StoreFormatError(message)
    return empty


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _tables(connection: sqlite3.Connection) -> bool:
    sql = "SELECT count(*) FROM sqlite_master WHERE name IN ('propositions', 'claims')"
    return bool(connection.execute(sql).fetchone()[0] == 2)


def _owned(connection: sqlite3.Connection) -> bool:
    """Tell whether claims say whose they are."""
    return bool(
        connection.execute("SELECT count(*) FROM pragma_table_info('claims') WHERE name = 'owner'").fetchone()[0]
    )
