"""The SQLite file of an article store, which is never changed once finished: its tables, and a connection."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factoid.entities.articles.article import Article
from factoid.errors import StoreFormatError, UnreadableFileError
from factoid.files.sqlite import connect
from factoid.forks import at_work, follow, refused_after_fork

APPLICATION_ID = 0x0FAC7A27
FORMAT = 1
_CACHE = 16 << 10  # KiB of pages that a reader keeps

# `body.text` is zlib of UTF-8, in a table of its own, so that looking up names reads no text.
TABLES = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE article (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, aliases TEXT NOT NULL, metadata TEXT NOT NULL, document_id TEXT
);
CREATE TABLE body (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE name (
    key TEXT NOT NULL, kind INTEGER NOT NULL, article INTEGER NOT NULL, form TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (key, kind, count DESC, article, form)
) WITHOUT ROWID;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
ARTICLE = "SELECT title, text, aliases, metadata, document_id FROM article LEFT JOIN body USING (id) WHERE id = ?"


def read_article(title: str, body: bytes, aliases: str, metadata: str, document_id: str | None) -> Article:
    """Return the article of a row of `ARTICLE`; raise a zlib.error, ValueError or TypeError if it is damaged."""
    text, names = zlib.decompress(body).decode(), tuple(json.loads(aliases))
    return Article(title, text, names, metadata=json.loads(metadata), document_id=document_id or "")


def identify(file: Path) -> tuple[int, int]:
    """Return the application id and the format in an SQLite header (https://www.sqlite.org/fileformat.html), or zeros."""
    with file.open("rb") as raw:
        head = raw.read(72)
    is_sqlite = head.startswith(b"SQLite format 3\0")
    return (int.from_bytes(head[68:]), int.from_bytes(head[60:64])) if is_sqlite else (0, 0)


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the values of the table `meta`, which are JSON."""
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM meta")}


def write_meta(connection: sqlite3.Connection, values: Mapping[str, Any]) -> None:
    """Write values to the table `meta`, over earlier ones."""
    rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


class ArticleFile:
    """A connection to a store that keeps reading its file when another one replaces it. Threads take turns."""

    def __init__(self, path: Path) -> None:
        self.path, self.version = path, 0  # the version counts the files that were read before
        self._inherited = False  # in use by another thread while this process was forked
        self._lock = threading.Lock()
        follow(self)
        self._open()

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a statement, or raise a StoreFormatError if the file is closed or damaged."""
        with at_work(), self._lock:
            if self._inherited:
                raise refused_after_fork(f"the article store {self.path}")
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise self._damaged(error) from error

    def reopen(self) -> None:
        """Switch to the file that is at the path now."""
        with at_work(), self._lock:
            before = self._connection
            self._open()
            before.close()
            self.version += 1

    def close(self) -> None:
        """Close the file, after any running query."""
        with at_work(), self._lock:
            if not self._inherited:
                self._connection.close()

    def before_fork(self) -> None:
        """Do nothing: the file never changes and has no locks, so the child may read it through this connection."""

    def after_fork(self, *, prepared: bool) -> None:
        """Make a new lock, in the child."""
        self._lock = threading.Lock()
        self._inherited = not prepared

    def _open(self) -> None:
        if not self.path.is_file():
            raise UnreadableFileError(f"there is no article store {self.path}. Build one with factoid build-articles")
        if identify(self.path) != (APPLICATION_ID, FORMAT):
            raise StoreFormatError(
                f"{self.path} is not an article store of format {FORMAT}. Build one with factoid build-articles"
            )
        address = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"  # nobody changes it: without locks
        connection = connect(address)
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
            self.meta, self.size = read_meta(connection), self.path.stat().st_size
        except (sqlite3.Error, ValueError, TypeError) as error:
            connection.close()
            raise self._damaged(error) from error
        self._connection = connection

    def _damaged(self, error: Exception) -> StoreFormatError:
        return StoreFormatError(f"{self.path} cannot be read: {error}. Build it again with factoid build-articles")
