"""The tables of a store, and how its file is opened. A file that is not a store's is never written to."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from factoid.errors import StoreError, StoreFormatError
from factoid.filters import SCHEMA as METADATA
from factoid.sqlite_file import APPLICATION_ID, FILE, FORMAT, READABLE, WAIT, explain, use_wal
from factoid.store.migrate import migrate

# `documents` has a row for every document that units name; its text is NULL where only units were added.
# `changes` names the units that were removed or altered by a commit, and `commits` the last unit that it had: by both a
# reader brings what it holds of an earlier generation up to date.
TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, text TEXT, title TEXT NOT NULL DEFAULT '',
    section TEXT NOT NULL DEFAULT '', metadata TEXT NOT NULL DEFAULT '{{}}', digest TEXT NOT NULL DEFAULT ''
);
{METADATA.strip().rstrip(";")};
CREATE TABLE vectors (row INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE units (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, granularity TEXT NOT NULL,
    document INTEGER NOT NULL, parent_id TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    title TEXT NOT NULL, section TEXT NOT NULL, metadata INTEGER NOT NULL, vector INTEGER, payload TEXT NOT NULL
);
CREATE INDEX units_by_parent ON units (parent_id);
CREATE INDEX units_by_document ON units (document, granularity, start);
CREATE INDEX units_by_granularity ON units (granularity);
CREATE INDEX units_by_metadata ON units (metadata);
CREATE INDEX units_by_vector ON units (vector) WHERE vector IS NOT NULL;
CREATE TABLE commits (generation INTEGER PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE changes (generation INTEGER, row INTEGER, PRIMARY KEY (generation, row)) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0);
INSERT INTO commits VALUES (0, 0)
"""  # noqa: S608


_HEADER = 100  # bytes of SQLite's own at the beginning of a file
_PAGE = 8192  # five vectors of 384 dimensions to a page; SQLite's own 4096 leaves a quarter of it empty


def prepare(path: Path | None) -> sqlite3.Connection:
    """Open the database of a store for writing, or make it; one of an earlier format is brought to this one.

    Args:
        path: The store's folder, made if absent; None for a database in memory.

    Raises:
        StoreFormatError: The path is a file, a folder of something else, a damaged store or one of another version.
        StoreError: The folder cannot be made, or the file cannot be opened or written.
    """
    if path is not None:
        check_folder(path)
        check_length(path / FILE)
    target = ":memory:" if path is None else str(path / FILE)
    try:
        with ExitStack() as stack:
            connection = _connected(stack, target)
            connection.execute("BEGIN")  # one moment, while another process may be making the store
            found = _format(connection)
            connection.execute("COMMIT")
            if path is not None:
                connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a database that is still to be made
                use_wal(connection)
                connection.execute("PRAGMA synchronous = FULL")  # a committed add survives a power cut
            if found != FORMAT:
                _make(connection)
            stack.pop_all()
    except sqlite3.Error as error:
        if path is not None and not os.access(path, os.W_OK):
            message = f"{path} is read-only, and was opened for writing ({error}): open it with read_only=True"
            raise StoreError(message) from error
        raise failure(target, error, "opened") from error
    return connection


def open_reader(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a store that is there, for reading.

    Args:
        path: The store's folder.
        read_only: Nothing may be written to the folder, so one that is on a read-only disk can be read, too.

    Raises:
        StoreFormatError: There is no store, or a damaged one or one of another version.
        StoreError: The file cannot be opened.
    """
    file = path / FILE
    if not file.is_file():
        message = f"there is no store at {path}: a store is a folder that holds {FILE}"
        raise StoreFormatError(message)
    check_length(file)
    try:
        with ExitStack() as stack:
            connection = _read_only(stack, file) if read_only else _connected(stack, str(file))
            if _format(connection) != FORMAT:
                message = (
                    f"the store at {path} is empty or of an earlier format: open it for writing once, which mends that"
                )
                raise StoreFormatError(message)
            connection.execute("PRAGMA query_only = ON")
            stack.pop_all()
    except sqlite3.Error as error:
        raise failure(str(file), error, "opened") from error
    return connection


def failure(target: str, error: sqlite3.Error, done: str = "used") -> StoreError:
    """Return the error to raise where SQLite reports one while something is done to the store."""
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        message = f"{target} cannot be {done} as a store: {error}. Restore it from a backup or index again elsewhere"
        return StoreFormatError(message)
    return StoreError(f"{target} cannot be {done}: {explain(error)}")


def check_folder(path: Path) -> None:
    """Refuse what is no store, and make the folder if it is absent."""
    try:
        if path.exists() and not path.is_dir():
            message = f"{path} is a file: a store is a folder"
            raise StoreFormatError(message)
        if path.is_dir() and any(path.iterdir()) and not (path / FILE).exists():
            message = f"{path} holds files but no {FILE}: it is not a store. Give an empty or new folder"
            raise StoreFormatError(message)
        if (path / FILE).is_file() and not (path / FILE).stat().st_size and any(path.glob("*.faiss")):
            message = f"{path / FILE} is empty, and there are indexes of what it held: restore it from a backup"
            raise StoreFormatError(message)
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the folder {path} for a store: {error.strerror}"
        raise StoreError(message) from error


def check_length(file: Path) -> None:
    """Refuse a database that is shorter than its own header says: SQLite would notice only when it comes to the gap.

    With a write-ahead log the header may speak of pages that still stand in the log, and with a journal of a process that
    was killed, SQLite will put back what was there before: nothing can be told then.
    """
    logs = [file.with_name(f"{file.name}-{kind}") for kind in ("wal", "journal")]
    try:
        if not file.is_file() or any(log.exists() and log.stat().st_size for log in logs):
            return
        with file.open("rb") as opened:
            header = opened.read(_HEADER)
        size = file.stat().st_size
    except OSError as error:
        message = f"{file} cannot be opened: {error.strerror}"
        raise StoreError(message) from error
    if 0 < size < _HEADER:  # SQLite would take it for a database that is still to be made
        message = (
            f"{file} is not a store, or what is left of a damaged one: it has {size} bytes. Restore it from a backup"
        )
        raise StoreFormatError(message)
    if not header.startswith(b"SQLite format 3\0"):
        return  # empty or foreign, which SQLite itself tells
    page = int.from_bytes(header[16:18], "big")
    expected = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    if header[24:28] == header[92:96] and size < expected:
        message = (
            f"{file} is damaged: it ends after {size:,} bytes, and its header speaks of {expected:,}. "
            "Restore it from a backup or index again elsewhere"
        )
        raise StoreFormatError(message)


def _connected(stack: ExitStack, target: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        target, isolation_level=None, check_same_thread=False, timeout=WAIT, uri=target.startswith("file:")
    )
    stack.enter_context(closing(connection))
    connection.execute("PRAGMA cell_size_check = ON")  # finds more damaged pages, instead of reading what is not there
    return connection


def _read_only(stack: ExitStack, file: Path) -> sqlite3.Connection:
    address = f"{file.absolute().as_uri()}?mode=ro"
    try:
        connection = _connected(stack, address)
        _format(connection)
    except sqlite3.OperationalError:
        log = file.with_name(f"{file.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # A write-ahead log cannot be made here, and without one nobody can be writing.
        connection = _connected(stack, f"{address}&immutable=1")
    return connection


def _format(connection: sqlite3.Connection) -> int:
    """Return the format of a store, 0 for an empty database. Only reads."""
    own = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not tables:
        return 0
    if own != APPLICATION_ID or version not in READABLE:
        newer = ", which a newer factoid reads" if own == APPLICATION_ID and version > FORMAT else ""
        message = f"{FILE} is not a factoid store of format {FORMAT} (application {own:#x}, format {version}{newer})"
        raise StoreFormatError(message)
    return version


def _make(connection: sqlite3.Connection) -> None:
    """Make the tables, or bring those of an earlier format to this one, as one commit."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _format(connection)  # another process may have been faster
        if found != FORMAT:
            migrate(connection, found, TABLES)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
