"""The connections of an open store: one writer, and one reader for each reading thread."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from factoid.errors import StoreError, StoreFormatError
from factoid.files.disk_errors import store_error
from factoid.files.sqlite import FILE, committing, drop_log, has_news, is_mixed
from factoid.forks import at_work, follow, refused_after_fork
from factoid.store.database.records import DamagedRowError
from factoid.store.database.schema import open_reader, open_writer
from factoid.store.database.snapshot import Snapshot
from factoid.store.database.transaction import Transaction
from factoid.store.database.vector_file import VectorFiles

_FAILURES = (sqlite3.Error, DamagedRowError, UnicodeDecodeError)


class Connections:
    """Connections to the database in a folder.

    A database in memory (no folder) has only one, which threads use in turn. Before a fork all
    connections to a file are closed; parent and children open new ones when they need them.
    """

    def __init__(self, path: Path | None, *, read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self.vector_files = VectorFiles(path)
        self._lock = threading.RLock()  # the writer's; in memory, everyone's
        self._idle: list[sqlite3.Connection] = []
        self.closed = False
        self._inherited = False  # in use by another thread while this process was forked
        self._writer: sqlite3.Connection | None = None
        self._file: os.stat_result | None = None  # that was opened
        self._had_log = True  # when a reader opened the store
        follow(self)
        with at_work():
            if read_only and path is not None:
                self._had_log = log_of(path).exists()
                try:
                    self._idle.append(open_reader(path, read_only=True))
                except BaseException:
                    self.close()  # leaves the folder as it was
                    raise
            else:
                self._writer = open_writer(path)
        if path is not None:
            self._file = (path / FILE).stat()

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """Yield a snapshot that stays at one generation throughout the block.

        What is committed meanwhile does not change it.
        """
        with at_work():
            connection = None
            sound = False
            try:
                if self.path is None:
                    with self._lock:
                        yield Snapshot(self._writing_connection(), self.vector_files)
                    return
                self._check_usable()
                connection = self._reader(self.path)
                connection.execute("BEGIN")
                yield Snapshot(connection, self.vector_files)
                connection.execute("COMMIT")
                if is_mixed(connection):
                    raise self._written_elsewhere()
                sound = True
            except _FAILURES as error:
                if connection is not None and is_mixed(connection):
                    raise self._written_elsewhere() from error
                raise self._failure(error) from error
            finally:
                if connection is not None:
                    if sound:
                        self._idle.append(connection)
                    else:  # it was interrupted
                        connection.close()
                    if self.closed:  # meanwhile: nobody else would close a returned connection
                        self._close_idle()

    @contextmanager
    def raw_transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all writes of the block together, or none, without a new generation.

        Waits for the writes of other threads and processes.
        """
        with self.outside_transaction() as connection:
            self._check_place()
            with committing(connection):
                yield connection

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Commit all writes of the block as one generation, or none of them."""
        with self.raw_transaction() as connection:
            transaction = Transaction(connection, self.vector_files)
            yield transaction
            transaction.finish()

    def sweep_vectors(self) -> None:
        """Remove files of vectors that are no longer the store's.

        After it was compacted or cleared.
        """
        with self.raw_transaction() as connection:
            self.vector_files.sweep(Snapshot(connection, self.vector_files).meta.get("vectors"))

    @contextmanager
    def outside_transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection outside of any transaction, for VACUUM and backups."""
        with at_work(), self._lock:
            try:
                connection = self._writing_connection()
                # A call that Ctrl-C ended left it open: its block is still in the traceback.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                yield connection
            except _FAILURES as error:
                raise self._failure(error) from error

    def check_writable(self) -> None:
        """Raise StoreError if the store is read-only or closed."""
        with at_work(), self._lock:  # after a fork this opens the file
            self._writing_connection()

    def close(self) -> None:
        """Close all connections; those in use close when they are returned.

        Closing twice is harmless.
        """
        if self._inherited:
            self.closed = True  # the connections are its parent's
            return
        with at_work(), self._lock:
            self.closed = True
            self._close_all()
            if self.path is not None and not self._had_log:
                self._had_log = True
                drop_log(self.path / FILE)  # the folder is again as the reader found it

    def before_fork(self) -> None:
        """Close the connections to a file. A database in memory goes on in the child, as a copy."""
        if self.path is not None:
            self._close_all()

    def after_fork(self, *, prepared: bool) -> None:
        """Make a new lock, in the child.

        If other threads were at work, refuse to be used: files could be damaged.
        """
        self._lock = threading.RLock()
        self.vector_files.after_fork()
        self._inherited = not prepared
        self._had_log = True  # the parent cleans up

    def _reader(self, path: Path) -> sqlite3.Connection:
        """Return a connection for reading that sees all that was committed."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if not has_news(connection):
                    return connection
                connection.close()
        connection = open_reader(path, read_only=self.read_only)
        try:
            # Indexes of one store must not be used with the database of another.
            self._check_place()
        except BaseException:
            connection.close()
            raise
        return connection

    def _written_elsewhere(self) -> StoreError:
        return StoreError(
            f"the store at {self.path} was written elsewhere while it was read here from a "
            "read-only disk: try again"
        )

    def _check_usable(self) -> None:
        if self.closed:
            raise _closed()
        if self._inherited:
            raise refused_after_fork(f"the store in {self.path or 'memory'}")

    def _writing_connection(self) -> sqlite3.Connection:
        self._check_usable()
        if self._writer is None:
            if self.read_only or self.path is None:
                raise StoreError(
                    f"the store at {self.path} was opened with read_only=True: open it without "
                    "that to write"
                )
            self._check_place()  # otherwise a new store could be made where this one was
            self._writer = open_writer(self.path)  # after a fork
        return self._writer

    def _close_all(self) -> None:
        self._close_idle()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _check_place(self) -> None:
        """Refuse a file that was moved, deleted or replaced.

        Commits to it would be lost when it is closed.
        """
        if self._file is None or self.path is None:
            return
        with suppress(OSError):
            if os.path.samestat((self.path / FILE).stat(), self._file):
                return
        raise StoreError(
            f"the store at {self.path} was moved, deleted or replaced while it was open: open it "
            "again where it is"
        )

    def _close_idle(self) -> None:
        with suppress(IndexError):  # another thread may have taken the last one meanwhile
            while True:
                self._idle.pop().close()

    def _failure(self, error: Exception) -> StoreError:
        """Return the error to raise instead of one of `_FAILURES`."""
        place = f"the store in {self.path or 'memory'}"
        if isinstance(error, sqlite3.Error):
            if self.closed:
                return _closed()
            return store_error(place, error)
        remedy = (
            "Restore it from a backup, or let verify (factoid store verify) report what has to be "
            "added again"
        )
        return StoreFormatError(f"{place} is damaged: {error}. {remedy}")


def log_of(path: Path) -> Path:
    """Return the write-ahead log of the database in a folder."""
    return path / f"{FILE}-wal"


def _closed() -> StoreError:
    return StoreError("the store is closed: open it again by its folder")
