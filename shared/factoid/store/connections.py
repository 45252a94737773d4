"""The connections of an open store: one that writes, and as many that read as there are threads reading."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.filters import register
from factoid.sqlite_file import FILE
from factoid.store.records import DamagedRowError
from factoid.store.schema import failure, open_reader, prepare

_IDLE = 8  # connections kept for the next reader


class Connections:
    """Connections to one database. A database in memory has only one, which threads use in turn.

    Args:
        path: The store's folder; None for a database in memory.
        read_only: Refuse to write, and leave the folder as it is.

    Raises:
        StoreError: See `factoid.store.schema`.
    """

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._lock = threading.RLock()  # of the writer; in memory, of everything
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._writer: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None  # of the writer
        if read_only:
            self._idle.append(self._reader())
        else:
            self._writer = prepare(path)
            register(self._writer)
            self._file = None if path is None else (path / FILE).stat()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one generation throughout the block, whatever is committed meanwhile."""
        if self.path is None:
            with self._lock, self._failures():
                yield self._writing_connection()
            return
        with self._failures():
            connection = self._taken()
            sound = False
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
                sound = True
            finally:
                self._put_back(connection, sound)  # one that was interrupted is closed, not used again

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Commit what the block writes as one, or nothing of it. Waits for the writes of other threads and processes."""
        with self._lock, self._failures():
            connection = self._writing_connection()
            self._check_place()
            try:
                connection.execute("BEGIN IMMEDIATE")  # within: Ctrl-C may come right after it
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Give the writing connection outside of any transaction, for VACUUM and backups."""
        with self._lock, self._failures():
            yield self._writing_connection()

    def close(self) -> None:
        """Close all connections, those in use when they are given back. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def _writing_connection(self) -> sqlite3.Connection:
        if self._writer is None:
            if self.read_only and not self._closed:
                message = f"the store at {self.path} was opened with read_only=True: open it without to write to it"
                raise StoreError(message)
            raise closed()
        return self._writer

    def _check_place(self) -> None:
        """Refuse to write to a file that has lost its name: what is committed there is gone when it is closed."""
        if self._file is None or self.path is None:
            return
        try:
            same = os.path.samestat((self.path / FILE).stat(), self._file)
        except OSError:
            same = False
        if not same:
            message = (
                f"the store at {self.path} was moved, deleted or replaced while it was open: open it again where it is"
            )
            raise StoreError(message)

    def _taken(self) -> sqlite3.Connection:
        if self._closed:
            raise closed()
        try:
            return self._idle.pop()
        except IndexError:
            return self._reader()

    def _reader(self) -> sqlite3.Connection:
        assert self.path is not None  # noqa: S101 - what is in memory has one connection
        connection = open_reader(self.path, read_only=self.read_only)
        register(connection)
        return connection

    def _put_back(self, connection: sqlite3.Connection, sound: bool) -> None:
        """Keep a connection for the next reader, or close it: after an error, among many, in a closed store."""
        if sound and len(self._idle) < _IDLE and not self._closed:
            self._idle.append(connection)
            if not self._closed:
                return
            while self._idle:  # closed at this very moment: nobody else would
                self._idle.pop().close()
            return
        connection.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if self._closed:
                raise closed() from error
            place = f"the store in {self.path or 'memory'}"
            raise failure(place, error) from error
        except DamagedRowError as error:
            message = (
                f"the store in {self.path or 'memory'} is damaged: {error}. Restore it from a backup, or index again"
            )
            raise StoreFormatError(message) from error
        except UnicodeEncodeError as error:
            message = f"a text, an id or a filter holds a lone surrogate, {error.object[error.start]!r}: it was decoded wrongly"
            raise InvalidInputError(message) from error


def closed() -> StoreError:
    """Return the error to raise where a closed store is used."""
    return StoreError("the store is closed: open it again by its folder")
