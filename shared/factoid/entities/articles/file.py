"""The SQLite file of an article store, which is never changed once finished.

It has tables, and a connection.
"""

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
from factoid.files.sqlite import check_objects, connect, identify, row_checksum
from factoid.forks import at_work, follow, refused_after_fork

APPLICATION_ID = 0x0FAC7A27
FORMAT = 1
_CACHE = 16 << 10  # KiB of pages that a reader keeps

MOST_BYTES = 32 << 20  # of a stored text; unpacking stops there
_LEAST_ROW = 4  # bytes of a row in a file

# `body.text` is zlib of UTF-8, in a table of its own, so that looking up names reads no text. Every
# row has a checksum. That of a name also covers the title of its article and the number of names of
# its key, so that none is lost unnoticed.
TABLES = (
    "\n"
    "CREATE TABLE article (\n"
    "    id INTEGER PRIMARY KEY, title TEXT NOT NULL, aliases TEXT NOT NULL, "
    "metadata TEXT NOT NULL, document_id TEXT,\n"
    "    checksum INTEGER NOT NULL\n"
    ");\n"
    "CREATE TABLE body (id INTEGER PRIMARY KEY, text BLOB NOT NULL, checksum INTEGER NOT NULL);\n"
    "CREATE TABLE name (\n"
    "    key TEXT NOT NULL, kind INTEGER NOT NULL, article INTEGER NOT NULL, form TEXT NOT NULL, "
    "count INTEGER NOT NULL,\n"
    "    checksum INTEGER NOT NULL, PRIMARY KEY (key, kind, count DESC, article, form)\n"
    ") WITHOUT ROWID;\n"
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;\n"
)
MARKS = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
HEAD = "id, title, aliases, metadata, document_id, article.checksum"  # what `check_head` takes
# for `read_article`
ARTICLES = f"""SELECT {HEAD}, text, body.checksum
    FROM article LEFT JOIN body USING (id)"""  # noqa: S608
ARTICLE = f"{ARTICLES} WHERE id = ?"
_META = {
    "articles": int,
    "names": dict,
    "redirects": int,
    "links": int,
    "words": int,
    "duplicates": str,
    "keys": dict,
}


def check_head(
    number: int, title: str, aliases: str, metadata: str, document_id: str | None, written: int
) -> None:
    """Raise a ValueError unless a row of `HEAD` is as it was written."""
    try:
        intact = head_checksum(number, title, aliases, metadata, document_id) == written
    except TypeError as error:
        raise ValueError(f"its row has a value of another type: {error}") from error
    if not intact:
        raise ValueError("its row differs from what was written")


def read_aliases(text: str) -> tuple[str, ...]:
    """Return the aliases of an article; raise a ValueError for anything else."""
    if text == "[]":  # as in most rows
        return ()
    aliases = _parsed(text)
    if not (isinstance(aliases, list) and all(isinstance(alias, str) for alias in aliases)):
        raise ValueError(f"its aliases are {text!r:.60}")
    return tuple(aliases)


def read_metadata(text: str) -> dict[str, Any]:
    """Return the metadata of an article; raise a ValueError for anything else."""
    if text == "{}":
        return {}
    metadata = _parsed(text)
    if not isinstance(metadata, dict):
        raise ValueError(f"its metadata are {text!r:.60}")
    return metadata


def read_article(*row: Any) -> Article:
    """Return the article of a row of `ARTICLES`; raise a ValueError if it is damaged."""
    *head, body, written = row
    check_head(*head)
    number, title, aliases, metadata, document_id, _ = head
    return Article(
        title,
        read_body(number, body, written),
        read_aliases(aliases),
        metadata=read_metadata(metadata),
        document_id=document_id or "",
    )


def read_body(number: int, body: bytes, written: int) -> str:
    """Return the text of an article.

    Raise a ValueError if it is damaged, or longer than MOST_BYTES.
    """
    if not isinstance(body, bytes) or body_checksum(number, body) != written:
        raise ValueError("its text differs from what was written")
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"its text cannot be unpacked: {error}") from error
    if len(text) > MOST_BYTES:
        raise ValueError(f"its text has more than {MOST_BYTES >> 20} MiB")
    if not unpacking.eof:
        raise ValueError("its text is cut short")
    return text.decode()


def head_checksum(
    number: int, title: str, aliases: str, metadata: str, document_id: str | None
) -> int:
    """Return the checksum of a row of `article`.

    Raise a TypeError or ValueError for values of other types.
    """
    if document_id is None:
        document_id = ""
    texts = (title, aliases, metadata, document_id, f"{number:d}")
    return zlib.crc32("\0".join(texts).encode())


def body_checksum(number: int, body: bytes) -> int:
    """Return the checksum of a row of `body`."""
    return zlib.crc32(body, number & 0xFFFFFFFF)


def name_checksum(
    title: str, key: str, kind: int, article: int, form: str, count: int, names: int
) -> int:
    """Return the checksum of a name, of which its key has several.

    Raise a TypeError or ValueError for values of other types.
    """
    numbers = f"{kind:d} {article:d} {count:d} {names:d}"
    return zlib.crc32("\0".join((key, form, title, numbers)).encode())


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the values of the table `meta`, which are JSON.

    Raise a ValueError if they are damaged.
    """
    rows = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    written = rows.pop("checksum", "")
    if written != str(row_checksum(*sorted(rows.items(), key=repr))):
        raise ValueError("the record of its content differs from what was written")
    return {key: _parsed(value) for key, value in rows.items()}


def write_meta(connection: sqlite3.Connection, values: Mapping[str, Any]) -> None:
    """Write values to the table `meta`, over earlier ones, with the checksum of all."""
    sql = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
    connection.executemany(
        sql, [(key, json.dumps(value, ensure_ascii=False)) for key, value in values.items()]
    )
    rows = connection.execute("SELECT key, value FROM meta WHERE key != 'checksum'").fetchall()
    connection.execute(sql, ["checksum", str(row_checksum(*sorted(rows, key=repr)))])


def article_of(place: object, row: Sequence[Any]) -> Article:
    """Return the article of a row of `ARTICLES`; raise a StoreFormatError if it is damaged."""
    try:
        return read_article(*row)
    except ValueError as error:
        raise damaged_article(place, row[1], error) from error


def damaged_article(place: object, title: object, error: ValueError) -> StoreFormatError:
    """Return the error for an article that cannot be read."""
    return StoreFormatError(
        f"the article {title!r:.100} of {place} is damaged: {error}. Build the store again"
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from error


def open_file(path: Path) -> sqlite3.Connection:
    """Return a connection that reads an article store; raise a FactoidError if there is none."""
    if not path.is_file():
        raise UnreadableFileError(
            f"there is no article store {path}. Build one with factoid build-articles"
        )
    if identify(path) != (APPLICATION_ID, FORMAT):
        raise StoreFormatError(
            f"{path} is not an article store of format {FORMAT}. Build one with factoid "
            "build-articles"
        )
    # nobody changes it: without locks
    return connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1")


def open_content(content: bytes) -> sqlite3.Connection:
    """Return a connection that reads an article store in memory."""
    connection = connect(":memory:")
    connection.deserialize(content)
    connection.execute("PRAGMA query_only = ON")
    return connection


class ArticleFile:
    """A connection to a store that keeps reading its file when another one replaces it.

    Threads take turns.

    Args:
        path: The file; None for a store in memory.
        content: The bytes of a store in memory.
    """

    def __init__(self, path: Path | None, content: bytes = b"") -> None:
        self.path = path
        self.content = content
        self.version = 0  # the number of files that were read before
        self._inherited = False  # in use by another thread while this process was forked
        self._lock = threading.Lock()
        follow(self)
        with at_work():
            self._open()

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        if self.path is None:
            return "memory"
        return str(self.path)

    def connect(self) -> sqlite3.Connection:
        """Return a new connection to what is at the path now, or to the content."""
        if self.path is None:
            return open_content(self.content)
        return open_file(self.path)

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a statement.

        Raise a StoreFormatError if the file is closed or damaged.
        """
        with at_work(), self._lock:
            if self._inherited:
                raise refused_after_fork(f"the article store in {self.place}")
            try:
                rows = self._connection.execute(sql, values).fetchmany(self.size // _LEAST_ROW)
                if len(rows) == self.size // _LEAST_ROW:  # pages that name each other
                    raise sqlite3.DatabaseError("it has more rows than it has room for")
                return rows
            except sqlite3.Error as error:
                raise self._damaged(error) from error

    def reopen(self, content: bytes = b"") -> None:
        """Switch to the file that is at the path now.

        In memory, to other content if there is some.
        """
        with at_work(), self._lock:
            if self.path is None:
                self.content = content or self.content
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
        """Do nothing.

        The file never changes and has no locks, so the child may read it through this connection.
        """

    def after_fork(self, *, prepared: bool) -> None:
        """Make a new lock, in the child."""
        self._lock = threading.Lock()
        self._inherited = not prepared

    def _open(self) -> None:
        connection = self.connect()
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
            check_objects(connection, "article store", TABLES)
            self.meta = read_meta(connection)
            self.size = len(self.content) if self.path is None else self.path.stat().st_size
            for name, kind in _META.items():
                if type(self.meta.get(name)) is not kind:
                    raise ValueError(f"its record of {name} is {self.meta.get(name)!r:.60}")
            if not all(type(count) is int for count in self.meta["names"].values()):
                raise ValueError(f"its record of names is {self.meta['names']!r:.60}")
        except (sqlite3.Error, ValueError) as error:
            connection.close()
            raise self._damaged(error) from error
        self._connection = connection

    def _damaged(self, error: Exception) -> StoreFormatError:
        problem = f"the article store in {self.place} cannot be read: {error}"
        return StoreFormatError(f"{problem}. Build it again with factoid build-articles")
