"""The connections of an open store: one writer, and one reader for each reading thread."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from factoid.errors import StoreError, StoreFormatError
from factoid.files.sqlite import FILE, committing
from factoid.store.database.records import DamagedRowError
from factoid.store.database.schema import failure, open_reader, prepare
from factoid.store.database.snapshot import Snapshot
from factoid.store.database.transaction import Transaction

_FAILURES = (sqlite3.Error, DamagedRowError, UnicodeDecodeError)


class Connections:
    """Connections to the database in a folder. A database in memory (no folder) has only one, which threads use in turn."""

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._lock = threading.RLock()  # the writer's; in memory, everyone's
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._writer: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None  # of the writer
        if read_only and path is not None:
            self._idle.append(open_reader(path, read_only=True))
        else:
            self._writer = prepare(path)
            self._file = None if path is None else (path / FILE).stat()

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Yield a snapshot that stays at one generation throughout the block, whatever is committed meanwhile."""
        connection, sound = None, False
        try:
            if self.path is None:
                with self._lock:
                    yield Snapshot(self._writing_connection())
                return
            if self._closed:
                raise _closed()
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = open_reader(self.path, read_only=self.read_only)
            connection.execute("BEGIN")
            yield Snapshot(connection)
            connection.execute("COMMIT")
            sound = True
        except _FAILURES as error:
            raise self._failure(error) from error
        finally:
            if connection is not None:
                if sound:
                    self._idle.append(connection)
                else:  # it was interrupted
                    connection.close()
                if self._closed:  # meanwhile: nobody else would close a returned connection
                    self._close_idle()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Commit all writes of the block together, or none. Waits for the writes of other threads and processes."""
        with self.alone() as connection:
            self._check_place()
            with committing(connection):
                yield connection

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Commit all writes of the block as one generation, or none of them."""
        with self.writing() as connection:
            writing = Transaction(connection)
            yield writing
            writing.finish()

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection outside of any transaction, for VACUUM and backups."""
        with self._lock:
            try:
                connection = self._writing_connection()
                if connection.in_transaction:  # left by a call that Ctrl-C ended, whose block is still in the traceback
                    connection.execute("ROLLBACK")
                yield connection
            except _FAILURES as error:
                raise self._failure(error) from error

    def check_writable(self) -> None:
        """Raise StoreError if the store is read-only or closed."""
        self._writing_connection()

    def close(self) -> None:
        """Close all connections; those in use close when they are returned. Closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._close_idle()
            if self._writer is not None:
                self._writer.close()
                self._writer = None

    def _writing_connection(self) -> sqlite3.Connection:
        if self._writer is None:
            if self.read_only and not self._closed:
                raise StoreError(
                    f"the store at {self.path} was opened with read_only=True: open it without that to write"
                )
            raise _closed()
        return self._writer

    def _check_place(self) -> None:
        """Refuse to write to a file that was moved or deleted: commits to it are lost when it is closed."""
        if self._file is None or self.path is None:
            return
        with suppress(OSError):
            if os.path.samestat((self.path / FILE).stat(), self._file):
                return
        raise StoreError(
            f"the store at {self.path} was moved, deleted or replaced while it was open: open it again where it is"
        )

    def _close_idle(self) -> None:
        with suppress(IndexError):  # another thread may have taken the last one meanwhile
            while True:
                self._idle.pop().close()

    def _failure(self, error: Exception) -> StoreError:
        """Return the error to raise instead of one of `_FAILURES`."""
        place = f"the store in {self.path or 'memory'}"
        if isinstance(error, sqlite3.Error):
            return _closed() if self._closed else failure(place, error)
        remedy = "Restore it from a backup, or let verify (factoid store verify) report what has to be added again"
        return StoreFormatError(f"{place} is damaged: {error}. {remedy}")


def _closed() -> StoreError:
    return StoreError("the store is closed: open it again by its folder")
