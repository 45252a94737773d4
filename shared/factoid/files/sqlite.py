"""Identify, open and write SQLite files."""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from factoid.errors import StoreError, StoreFormatError
from factoid.files.disk_errors import WAIT, explain_disk_error, is_damage
from factoid.files.regular import is_special, open_regular

# Of a store. It is here because the cache of propositions, which is in the same file, needs it,
# too.
APPLICATION_ID = 0x0FAC701D
FORMAT = 1  # of the tables in `factoid.store.database.schema`
FILE = "units.sqlite"
SENT = f"{FILE}.sent"  # a copy that is sent elsewhere, as long as that takes

_NEW_FILE = "name another one, or delete it: it is a cache, and is made again"

# Statistics, which a user's ANALYZE makes, are no harm.
_OBJECTS = """SELECT type, name, tbl_name, sql FROM sqlite_master
    WHERE sql IS NOT NULL AND name NOT IN ('sqlite_stat1', 'sqlite_stat4')
    AND coalesce(?1 = tbl_name, TRUE)"""


class _Connection(sqlite3.Connection):
    """A connection whose errors are SQLite's, even if a damaged name is not UTF-8."""

    # what it reads, if it was opened as a file that nobody writes to
    frozen: _FrozenFile | None = None

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Do what the base class does."""
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError as error:
            raise sqlite3.DatabaseError(
                "malformed: SQLite's message about it is not UTF-8"
            ) from error


@dataclass(frozen=True, slots=True)
class _FrozenFile:
    """A database that could only be read as one that nobody writes to.

    Its state is that when it was opened.
    """

    file: Path
    state: tuple[int, int]

    @classmethod
    def of(cls, file: Path) -> _FrozenFile:
        """Return a file as it is now."""
        return cls(file, cls._state(file))

    @staticmethod
    def _state(file: Path) -> tuple[int, int]:
        status = file.stat()
        return status.st_size, status.st_mtime_ns

    def is_written(self) -> bool:
        """Return whether the file itself has changed."""
        try:
            return self._state(self.file) != self.state
        except OSError:
            return False  # it was removed: what is open stays as it was

    def has_news(self) -> bool:
        """Return whether a new connection would see more than one opened before."""
        return self.is_written() or _has_log(self.file)


def connect(target: str | Path) -> sqlite3.Connection:
    """Open a database for any thread, with transactions begun by hand.

    The target is a path, ":memory:" or a `file:` URI.
    """
    uri = str(target).startswith("file:")
    if not uri:
        _refuse_special_files(Path(target))
    options: dict[str, Any] = {"timeout": WAIT, "uri": uri, "factory": _Connection}
    connection: sqlite3.Connection = sqlite3.connect(
        target, isolation_level=None, check_same_thread=False, **options
    )
    # detects more damaged pages, instead of reading garbage
    connection.execute("PRAGMA cell_size_check = ON")
    # a file from a stranger calls no functions of this process
    connection.execute("PRAGMA trusted_schema = OFF")
    # What is deleted is overwritten: not every SQLite is built so. FAST would leave it in pages
    # that become free, which hold most of it. Deletions take a fifth longer, additions and
    # replacements do not.
    connection.execute("PRAGMA secure_delete = ON").fetchall()
    return connection


def connect_read_only(
    file: Path, check: Callable[[sqlite3.Connection], object]
) -> sqlite3.Connection:
    """Open a database that may be on a read-only disk.

    `check` reads from it, and raises if it is a foreign one. A disk that is read-only here may be
    written elsewhere: ask `has_news` before each use, and `is_mixed` after it.
    """
    _refuse_special_files(file)
    address = f"{file.absolute().as_uri()}?mode=ro"
    connection = connect(address)
    try:
        try:
            check(connection)
        except sqlite3.OperationalError:
            if _has_log(file):
                raise
            # A write-ahead log cannot be made here, and without a log nobody can be writing yet.
            connection.close()
            frozen = _FrozenFile.of(file)
            connection = connect(f"{address}&immutable=1")
            if isinstance(connection, _Connection):
                connection.frozen = frozen
            check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_special_files(file: Path) -> None:
    """Raise a DatabaseError if a database or its log is a pipe or a device.

    SQLite would wait for its other end.
    """
    for ending in ("", "-wal", "-shm", "-journal"):
        path = file.with_name(f"{file.name}{ending}")
        if is_special(path):
            raise sqlite3.DatabaseError(f"{path.name} is not a regular file")


def has_news(connection: sqlite3.Connection) -> bool:
    """Return whether a read-only connection misses what was written later."""
    frozen = connection.frozen if isinstance(connection, _Connection) else None
    return frozen is not None and frozen.has_news()


def is_mixed(connection: sqlite3.Connection) -> bool:
    """Return whether a read-only connection may have read a mixed file.

    A part of it is then older than the rest.
    """
    frozen = connection.frozen if isinstance(connection, _Connection) else None
    return frozen is not None and frozen.is_written()


def _has_log(file: Path) -> bool:
    """Return whether a database has a write-ahead log that is not empty."""
    with suppress(FileNotFoundError):
        return file.with_name(f"{file.name}-wal").stat().st_size > 0
    return False


def drop_log(file: Path) -> None:
    """Remove the empty log that a reader left beside a database, and its index.

    They stay if somebody else has it open. A connection that can write does that when it is closed;
    one that only reads does not.
    """
    with (
        suppress(sqlite3.Error),
        closing(connect(f"{file.absolute().as_uri()}?mode=rw")) as connection,
    ):
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()


def is_empty(
    connection: sqlite3.Connection, content: str, *known: tuple[int, int], upgrade: str = _NEW_FILE
) -> bool:
    """Return whether a database has no tables yet; only reads.

    Args:
        connection: The database.
        content: What it should hold.
        known: The application ids and formats that it may have, its own first.
        upgrade: What to do about one of another format.

    Raises:
        StoreFormatError: It has another application id and format than those known.
    """
    application_id, version, tables, file = connection.execute(
        """SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_master), d.file
        FROM pragma_application_id AS a, pragma_user_version AS v, pragma_database_list AS d
        WHERE d.seq = 0"""
    ).fetchone()
    if (application_id, version) not in known and (application_id, version, tables) != (0, 0, 0):
        expected, newest = known[0]
        if application_id == expected:
            raise StoreFormatError(
                f"{file} is a {content} of format {version}, and this version of factoid reads "
                f"format {newest}: {upgrade}"
            )
        raise StoreFormatError(
            f"{file} is not a {content} of format {newest} (application {application_id:#x}, "
            f"format {version}): name another one"
        )
    return not tables


def identify(file: Path) -> tuple[int, int]:
    """Return the application id and the format in an SQLite header, or zeros.

    See https://www.sqlite.org/fileformat.html.
    """
    with open_regular(file) as raw:
        head = raw.read(72)
    is_sqlite = head.startswith(b"SQLite format 3\0")
    if is_sqlite:
        return (int.from_bytes(head[68:]), int.from_bytes(head[60:64]))
    return (0, 0)


def check_objects(
    connection: sqlite3.Connection, content: str, *statements: str, table: str | None = None
) -> None:
    """Raise a DatabaseError if a file holds other tables than those of statements.

    A file from a stranger may have views in place of tables, which never end, or triggers, which
    write.
    """
    unknown = set(connection.execute(_OBJECTS, [table])) - _objects(statements)
    if unknown:
        names = ", ".join(sorted(repr(name)[:60] for _, name, *_ in unknown))
        raise sqlite3.DatabaseError(
            f"it holds what no {content} has ({names}): another program made or changed it"
        )


@cache
def _objects(statements: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(";".join(statements))
        return frozenset(connection.execute(_OBJECTS, [None]))


def row_checksum(*values: object) -> int:
    """Return the checksum of a row.

    SQLite does not notice a bit that flips within a value, or a value of another type.
    """
    if bytes in map(type, values):  # whose checksum is much shorter than what represents them
        values = tuple(map(_shortened, values))
    return zlib.crc32(repr(values).encode())


def _shortened(value: object) -> object:
    if isinstance(value, bytes):
        return zlib.crc32(value)
    return value


def any_text(content: bytes) -> str:
    """Decode a text even if it is not UTF-8.

    The `text_factory` of a connection that reads damaged rows.
    """
    return content.decode(errors="replace")


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Tell whether a database has a table."""
    return (
        connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [name]).fetchone()
        is not None
    )


@contextmanager
def committing(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit all that the block writes, or nothing."""
    try:
        connection.execute("BEGIN IMMEDIATE")  # inside the try: Ctrl-C may come right after it
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def use_wal(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log.

    Wait while another process makes the store, which SQLite itself does not.
    """
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


@dataclass(frozen=True, slots=True)
class CacheTable:
    """A table of what a model has returned, in a file of its own or in that of a host.

    Its last column is the checksum of the others except the row's number (see `row_checksum`).
    """

    content: str  # what it holds
    name: str
    sql: str  # that creates it
    columns: str  # that the checksum covers
    application_id: int
    version: int
    # application id and format of other files that may have the table
    hosts: tuple[tuple[int, int], ...] = ()

    def open(self, file: Path, *, read_only: bool = False) -> sqlite3.Connection:
        """Open a file for writing, with the table, or for reading if it is not writable.

        Raise if it is a foreign one.
        Texts that are not UTF-8 are read, too: their checksum tells that they are damaged.
        """
        writable = not read_only and is_writable(file)
        connection = connect(file) if writable else connect_read_only(file, self._is_empty)
        try:
            self._is_empty(connection)  # before anything is written
            if has_table(connection, self.name):
                check_objects(connection, f"cache of {self.content}", self.sql, table=self.name)
            if writable:
                self._prepare(connection)
            elif not has_table(connection, self.name):
                # One of this connection alone, without entries, stands in for it.
                connection.execute(
                    self.sql.replace("CREATE TABLE IF NOT EXISTS", "CREATE TEMP TABLE", 1)
                )
            connection.text_factory = any_text
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        use_wal(connection)
        # survives a kill; a power cut may cost the last commits
        connection.execute("PRAGMA synchronous = NORMAL")
        if not has_table(connection, self.name):
            with committing(connection):
                if self._is_empty(connection):  # otherwise a host, or another process was faster
                    connection.execute(f"PRAGMA application_id = {self.application_id}")
                    connection.execute(f"PRAGMA user_version = {self.version}")
                connection.execute(self.sql)

    def damaged_rows(self, connection: sqlite3.Connection) -> list[int]:
        """Return the numbers of rows that differ from what was written.

        None if there is no table.
        """
        if not has_table(connection, self.name):
            return []
        sql = f"SELECT rowid, checksum, {self.columns} FROM {self.name}"  # noqa: S608
        rows = connection.execute(sql)
        result = []
        for row, written, *values in rows:
            if row_checksum(*values) != written:
                result.append(row)
        return result

    def failure(self, path: Path, error: sqlite3.Error | OSError, remedy: str) -> StoreError:
        """Return the error to raise instead of one of SQLite or the system.

        The remedy is for a damaged file.
        """
        if isinstance(error, sqlite3.Error) and is_damage(error):
            return StoreFormatError(
                f"{path} cannot be read as a cache of {self.content}: {error}. {remedy}"
            )
        return StoreError(f"the cache {path} cannot be used: {explain_disk_error(error)}")

    def _is_empty(self, connection: sqlite3.Connection) -> bool:
        return is_empty(
            connection, f"cache of {self.content}", (self.application_id, self.version), *self.hosts
        )


def is_writable(file: Path) -> bool:
    """Tell whether a file can be written or, if it is absent, made."""
    return os.access(file.parent, os.W_OK) and (not file.exists() or os.access(file, os.W_OK))
