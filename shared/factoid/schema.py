"""The file behind a store: what it holds and how it is opened. A file that is not a store's is never written to."""

from __future__ import annotations

import sqlite3
import time
from contextlib import ExitStack, closing
from pathlib import Path

from factoid.errors import StoreError, StoreFormatError

APPLICATION_ID = 0x0FAC701D
FORMAT = 1
FILE = "units.sqlite"

WAIT = 30  # seconds that a write waits for the write of another process

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    id TEXT PRIMARY KEY, text TEXT NOT NULL, title TEXT NOT NULL, section TEXT NOT NULL, metadata TEXT NOT NULL,
    digest TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE units (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, granularity TEXT NOT NULL,
    document_id TEXT NOT NULL, parent_id TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    title TEXT NOT NULL, section TEXT NOT NULL, metadata TEXT NOT NULL, vector BLOB
);
CREATE INDEX units_by_parent ON units (parent_id);
CREATE INDEX units_by_document ON units (document_id);
CREATE INDEX units_by_granularity ON units (granularity);
INSERT INTO meta VALUES ('generation', 0);
"""


def connect(path: Path | None) -> sqlite3.Connection:
    """Open the database of a store, or make it.

    Args:
        path: The store's folder, made if absent; None for a database in memory.

    Raises:
        StoreFormatError: The path is a file, a folder of something else, a damaged store or one of another version.
        StoreError: The folder cannot be made, or the file cannot be opened or written.
    """
    if path is not None:
        check_folder(path)
    target = ":memory:" if path is None else str(path / FILE)
    try:
        with ExitStack() as stack:
            connection = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=WAIT)
            stack.enter_context(closing(connection))
            connection.execute("BEGIN")  # one moment, while another process may be making the store
            made = _is_store(connection)
            connection.execute("COMMIT")
            if path is not None:
                use_wal(connection)
                connection.execute("PRAGMA synchronous = FULL")  # a committed add survives a power cut
            if not made:
                _make(connection)
            stack.pop_all()
    except sqlite3.OperationalError as error:
        message = f"{target} cannot be opened: {explain(error)}"
        raise StoreError(message) from error
    except sqlite3.DatabaseError as error:
        message = f"{target} cannot be opened as a store: {error}. Restore it from a backup or index again elsewhere"
        raise StoreFormatError(message) from error
    return connection


def explain(error: sqlite3.Error) -> str:
    """Return what SQLite reports, and what to do about it where that is known."""
    if "locked" in str(error):
        return f"{error}. Another process has been writing for {WAIT} seconds: try again when it is done"
    return str(error)


def check_folder(path: Path) -> None:
    """Refuse what is no store, and make the folder if it is absent."""
    if path.exists() and not path.is_dir():
        message = f"{path} is a file: a store is a folder"
        raise StoreFormatError(message)
    if path.is_dir() and any(path.iterdir()) and not (path / FILE).exists():
        message = f"{path} holds files but no {FILE}: it is not a store. Give an empty or new folder"
        raise StoreFormatError(message)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the folder {path} for a store: {error.strerror}"
        raise StoreError(message) from error


def _is_store(connection: sqlite3.Connection) -> bool:
    """Tell whether the database is a store already; an empty one is not yet. Only reads."""
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and (found, version) != (APPLICATION_ID, FORMAT):
        message = f"{FILE} is not a factoid store of format {FORMAT} (application {found:#x}, format {version})"
        raise StoreFormatError(message)
    return bool(tables)


def use_wal(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log, for which SQLite itself does not wait while another process makes the store."""
    end = time.monotonic() + WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if not _is_store(connection):  # another process may have made it in the meantime
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    connection.execute("COMMIT")
