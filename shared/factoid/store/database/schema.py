"""Define the tables of a store, and open its file.

A file that does not belong to a store is never written to.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.files import sqlite
from factoid.files.disk_errors import explain_disk_error, store_error
from factoid.files.sqlite import APPLICATION_ID, FILE, FORMAT
from factoid.filters import SCHEMA as METADATA
from factoid.propositions.cache import SQL as PROPOSITIONS
from factoid.store.database.snapshot import write_meta

# `documents` has a row for every document that units name; its text is NULL if only units were
# added. `changes` names the units that a commit removed or altered, and `commits` its last unit:
# with both a reader updates what it holds of an earlier generation. Every row that is read into an
# answer has a checksum, and `meta` has the number of units, which reveals a lost one.
# SQLite keeps the definition of a table as it was written, spaces included, and a store with other
# definitions is refused: a backslash breaks a line here without changing them.
_TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, text TEXT, \
title TEXT NOT NULL DEFAULT '',
    section TEXT NOT NULL DEFAULT '', \
metadata TEXT NOT NULL DEFAULT '{{}}', digest TEXT NOT NULL DEFAULT '',
    checksum INTEGER NOT NULL DEFAULT 0
);
{METADATA.strip().rstrip(";")};
CREATE TABLE vectors (row INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE);
CREATE TABLE units (
    checksum INTEGER NOT NULL, row INTEGER PRIMARY KEY AUTOINCREMENT, vector INTEGER,
    start INTEGER NOT NULL, "end" INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, \
granularity TEXT NOT NULL,
    document INTEGER NOT NULL, parent_id TEXT NOT NULL, title TEXT NOT NULL, section TEXT NOT NULL,
    metadata INTEGER NOT NULL, payload TEXT NOT NULL, visible TEXT NOT NULL
);
CREATE INDEX units_by_parent ON units (parent_id);
CREATE INDEX units_by_document ON units (document, granularity, start, metadata);
CREATE INDEX units_by_granularity ON units (granularity);
CREATE INDEX units_by_metadata ON units (metadata);
CREATE INDEX units_by_vector ON units (vector) WHERE vector IS NOT NULL;
CREATE TABLE commits (generation INTEGER PRIMARY KEY, last INTEGER NOT NULL);
CREATE TABLE changes (generation INTEGER, row INTEGER, PRIMARY KEY (generation, row)) WITHOUT ROWID
"""
_UPGRADE = (
    "export it with the version that made it (factoid store export), and import that file into a "
    "new store with this one (factoid store import)"
)
_PAGE = 8192
# KiB of the database that the writing connection keeps in memory: ids and digests come in no order,
# so each of them would otherwise be a page to read.
_CACHE = 32_768


def open_writer(path: Path | None) -> sqlite3.Connection:
    """Open the database in a folder for writing, creating it if absent; None for one in memory.

    Raises StoreError.
    """
    if path is not None:
        check_folder(path)
    target = ":memory:"
    if path is not None:
        target = str(path / FILE)
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(closing(sqlite.connect(target)))
            connection.execute("BEGIN")  # wait while another process may be creating the store
            is_new = _is_empty(connection)
            connection.execute("COMMIT")
            # Only a database that is yet to be created takes this.
            connection.execute(f"PRAGMA page_size = {_PAGE}")
            if path is not None:
                sqlite.use_wal(connection)
                connection.execute(f"PRAGMA cache_size = -{_CACHE}")
                # A committed add survives a power cut.
                connection.execute("PRAGMA synchronous = FULL")
            if is_new:
                _make(connection)
            stack.pop_all()
    except sqlite3.Error as error:
        if path is not None and not os.access(path, os.W_OK):
            raise StoreError(
                f"{path} is read-only, and was opened for writing ({error}): open it with "
                "read_only=True"
            ) from error
        raise store_error(target, error, "opened") from error
    return connection


def open_reader(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open an existing store for reading; with `read_only` also one on a read-only disk.

    Raises StoreError.
    """
    file = path / FILE
    if not file.is_file():
        raise StoreFormatError(
            f"there is no store at {path}: a store is a folder that holds {FILE}"
        )
    try:
        with ExitStack() as stack:
            if read_only:
                opened = sqlite.connect_read_only(file, _is_empty)
            else:
                opened = sqlite.connect(file)
            connection = stack.enter_context(closing(opened))
            if _is_empty(connection):
                raise StoreFormatError(
                    f"the store at {path} is empty: open it for writing once, which makes its "
                    "tables"
                )
            connection.execute("PRAGMA query_only = ON")
            stack.pop_all()
    except sqlite3.Error as error:
        raise store_error(str(file), error, "opened") from error
    return connection


def local_folder(path: str | Path) -> Path:
    """Return the path of a store from the root, since the working folder may change.

    A URL is refused: `Path` would make a local folder such as "s3:" of it.
    """
    if "://" in str(path):
        raise InvalidInputError(
            f"a store is a local folder, got {path!r}: send it elsewhere with "
            "UnitStore.save_to(url), and fetch it with UnitStore.load_from(url, folder, "
            "encoder=…), or with factoid store copy"
        )
    return Path(path).absolute()


def check_folder(path: Path) -> None:
    """Reject a path that is not a store, and create the folder if it is absent."""
    file = path / FILE
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = list(path.iterdir())
        if names and not file.exists():
            raise StoreFormatError(
                f"{path} holds files but no {FILE}: it is not a store. Give an empty or new folder"
            )
        if names and file.stat().st_size <= 1 and any(FILE not in name.name for name in names):
            # SQLite takes a file of one byte for an empty one. Alone it is what a process leaves
            # that was killed while it made the store.
            raise StoreFormatError(
                f"{file} is empty, and other files are beside it: it was cut short. Restore it "
                "from a backup, or index again into a new folder"
            )
        for name in names:
            if name.is_symlink():  # what is written there would be written elsewhere
                raise StoreFormatError(
                    f"{name} is a link: a store is written to only where its files are. Open it "
                    "with read_only=True, or copy it with copy_to"
                )
    except FileExistsError as error:
        raise StoreFormatError(f"{path} is a file: a store is a folder") from error
    except OSError as error:
        raise StoreError(
            f"cannot make the folder {path} for a store: {explain_disk_error(error)}"
        ) from error


def _is_empty(connection: sqlite3.Connection) -> bool:
    empty = sqlite.is_empty(connection, "factoid store", (APPLICATION_ID, FORMAT), upgrade=_UPGRADE)
    if not empty:
        sqlite.check_objects(connection, "store", _TABLES, PROPOSITIONS)
    return empty


def _make(connection: sqlite3.Connection) -> None:
    """Create the tables, in one commit."""
    with sqlite.committing(connection):
        if _is_empty(connection):  # another process may have been faster
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO commits VALUES (0, 0)")
            write_meta(connection, generation=0, units=0)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
