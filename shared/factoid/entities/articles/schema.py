"""The SQLite file of an article store: its tables, and how it is told from other files.

While it is built it lies beside its final name, with what the build still needs; a finished file is only read.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from factoid.errors import StoreFormatError

APPLICATION_ID = 0x0FAC7A27
FORMAT = 1

# `body` is zlib of UTF-8. `form` is NULL where the name is the title or its base, which follow from the article.
TABLES = """
CREATE TABLE article (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, body BLOB NOT NULL, metadata TEXT);
CREATE TABLE name (
    key TEXT NOT NULL, kind INTEGER NOT NULL, article INTEGER NOT NULL, form TEXT, count INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
NAME_INDEX = "CREATE INDEX name_key ON name (key)"


def make_tables(connection: sqlite3.Connection) -> None:
    """Make an empty store in an empty database."""
    connection.executescript(
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}; BEGIN; {TABLES} COMMIT;"
    )


def check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is no article store of this version.

    Raises:
        StoreFormatError: It is another program's, another version's, damaged, or no database.
    """
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        message = f"{path} is no article store, or is damaged: {error}. Build it again with factoid build-articles"
        raise StoreFormatError(message) from error
    if application != APPLICATION_ID:
        message = f"{path} is no article store. Build one with factoid build-articles"
        raise StoreFormatError(message)
    if version != FORMAT:
        message = (
            f"{path} is an article store of format {version}, and this factoid reads format {FORMAT}: build it again"
        )
        raise StoreFormatError(message)
