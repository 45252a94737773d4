"""The SQLite file of an article store: its tables, and how it is told from other files.

While it is built it lies beside its final name, with what the build still needs in a second file; a finished file is only
read. Bodies stand apart from titles, so that looking names up reads no text.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from factoid.errors import StoreFormatError

APPLICATION_ID = 0x0FAC7A27
UNFINISHED_ID = 0x0FAC7A28  # of the file while it is built
FORMAT = 2

# `body.text` is zlib of UTF-8. Names stand in the order of their keys, and within a key by `rank`, the most telling first.
# `name.form` is NULL where it follows: for a title and its base from the article, for other kinds where it is the key.
# `outside` has the redirects whose articles are not in the store.
TABLES = """
CREATE TABLE article (id INTEGER PRIMARY KEY, title TEXT NOT NULL, metadata TEXT, document_id TEXT);
CREATE TABLE body (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE name (
    key TEXT NOT NULL, rank INTEGER NOT NULL, kind INTEGER NOT NULL, article INTEGER NOT NULL, form TEXT,
    count INTEGER NOT NULL, PRIMARY KEY (key, rank)
) WITHOUT ROWID;
CREATE TABLE outside (key TEXT NOT NULL, form TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (key, form)) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


def make_tables(connection: sqlite3.Connection) -> None:
    """Make an empty store, not yet finished, in an empty database, within the transaction that is open."""
    connection.execute(f"PRAGMA application_id = {UNFINISHED_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    for statement in filter(str.strip, TABLES.split(";")):
        connection.execute(statement)


def mark_finished(connection: sqlite3.Connection) -> None:
    """Tell that the store is whole."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def check_format(connection: sqlite3.Connection, path: Path, *, any_version: bool = False) -> None:
    """Refuse a database that is no article store of this version, or of any.

    Raises:
        StoreFormatError: It is another program's, another version's, damaged, or no database.
    """
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        message = f"{path} is no article store, or is damaged: {error}. Build it again with factoid build-articles"
        raise StoreFormatError(message) from error
    if application == UNFINISHED_ID:
        message = f"{path} is an article store that is not finished: run what builds it again"
        raise StoreFormatError(message)
    if application != APPLICATION_ID:
        message = f"{path} is no article store. Build one with factoid build-articles"
        raise StoreFormatError(message)
    if version != FORMAT and not any_version:
        message = (
            f"{path} is an article store of format {version}, and this factoid reads format {FORMAT}: build it again"
        )
        raise StoreFormatError(message)
