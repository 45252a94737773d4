"""The SQLite file of an article store, which is never changed once finished: its tables, and a connection."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factoid.entities.articles.names import NameKind
from factoid.errors import StoreError, StoreFormatError, UnreadableFileError
from factoid.files.sqlite import connect

APPLICATION_ID = 0x0FAC7A27
STAGING_ID = 0x0FAC7A28  # of an unfinished build
FORMAT = 1
_CACHE = 16 << 10  # KiB of pages that a reader keeps

# `body.text` is zlib of UTF-8, in a table of its own, so that looking up names reads no text. `outside` has the redirects
# whose articles are not in the store.
TABLES = f"""
PRAGMA store.application_id = {APPLICATION_ID};
PRAGMA store.user_version = {FORMAT};
CREATE TABLE store.article (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, metadata TEXT, document_id TEXT);
CREATE TABLE store.body (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE store.name (
    key TEXT NOT NULL, kind INTEGER NOT NULL, article INTEGER NOT NULL, form TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (key, kind, count DESC, article, form)
) WITHOUT ROWID;
CREATE TABLE store.outside (
    key TEXT NOT NULL, form TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (key, form)
) WITHOUT ROWID;
CREATE TABLE store.meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
# Names as they come, and as they are stored: of the forms of one article under one key, the first by kind and count has the sum
# of the counts. Others stay, since the way a name is written may decide, except for texts of links.
NAME_FORMS = "name_form (key TEXT NOT NULL, kind INTEGER, article INTEGER NOT NULL, form TEXT NOT NULL, count INTEGER)"
ADD_NAMES = f"""
INSERT INTO name SELECT key, kind, article, form, total * (form = best) FROM (
    SELECT *, FIRST_VALUE(form) OVER of_article AS best, SUM(count) OVER of_article AS total
    FROM (
        SELECT key, MIN(kind) AS kind, article, form, SUM(count) AS count
        FROM name_form WHERE key != '' GROUP BY key, article, form
    )
    WINDOW of_article AS (
        PARTITION BY key, article ORDER BY kind, count DESC, form ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    )
) WHERE form = best OR kind < {NameKind.ANCHOR:d}
"""  # noqa: S608


def identify(file: Path) -> tuple[int, int]:
    """Return the application id and the format in an SQLite header (https://www.sqlite.org/fileformat.html), or zeros."""
    with file.open("rb") as raw:
        head = raw.read(72)
    is_sqlite = head.startswith(b"SQLite format 3\0")
    return (int.from_bytes(head[68:]), int.from_bytes(head[60:64])) if is_sqlite else (0, 0)


def check_format(path: Path) -> None:
    """Refuse a file that is not an article store of this version."""
    if not path.is_file():
        raise UnreadableFileError(f"there is no article store {path}. Build one with factoid build-articles")
    application_id, version = identify(path)
    if (application_id, version) != (APPLICATION_ID, FORMAT):
        reasons = {
            STAGING_ID: "is an article store that is not finished: run its build again",
            APPLICATION_ID: f"is an article store of format {version}, this factoid reads {FORMAT}: build it again",
        }
        reason = reasons.get(application_id, "is not an article store. Build one with factoid build-articles")
        raise StoreFormatError(f"{path} {reason}")


def count_names(connection: sqlite3.Connection) -> dict[str, int]:
    """Return the number of names of each kind."""
    kinds = dict(connection.execute("SELECT kind, COUNT(*) FROM name GROUP BY kind"))
    return {kind.name.lower(): kinds.get(int(kind), 0) for kind in NameKind}


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
        self._process, self._lock, self._closed = os.getpid(), threading.Lock(), False
        self._open()

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a statement, or raise a StoreError if the file is closed or damaged."""
        self._follow_fork()
        with self._lock:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise self._damaged(error) from error

    def reopen(self) -> None:
        """Switch to the file that is at the path now."""
        self._follow_fork()
        with self._lock:
            before = self._connection
            self._open()
            before.close()
            self._closed, self.version = False, self.version + 1

    def close(self) -> None:
        """Close the file, after any running query."""
        self._follow_fork()
        with self._lock:
            self._closed = True
            self._connection.close()

    def _follow_fork(self) -> None:
        """Open the file again in a forked process."""
        if self._process != os.getpid():
            self._inherited = self._connection  # belongs to the parent: not even closed
            if not self._closed:
                self._open()
            self._process, self._lock, self.version = os.getpid(), threading.Lock(), self.version + 1

    def _open(self) -> None:
        check_format(self.path)
        connection = connect(f"{self.path.absolute().as_uri()}?mode=ro&immutable=1")  # nobody changes it: without locks
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
            self.meta, self.size = read_meta(connection), self.path.stat().st_size
        except (sqlite3.Error, ValueError) as error:
            connection.close()
            raise self._damaged(error) from error
        self._connection = connection

    def _damaged(self, error: Exception) -> StoreFormatError:
        return StoreFormatError(f"{self.path} cannot be read: {error}. Build it again with factoid build-articles")
