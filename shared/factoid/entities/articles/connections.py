"""Connections to a file that is only read, for any number of threads and for processes that are forked."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factoid.entities.articles.schema import check_format
from factoid.errors import StoreError, StoreFormatError, UnreadableFileError

_CACHE = 16 << 10  # KiB of pages that a connection keeps


class Connections:
    """As many connections to an article store as are in use at once; each serves one thread at a time.

    When another file has taken the place of the one that was opened, no connection is added: SQLite opens files by their
    names only. Threads then wait for each other for those that there are, and go on reading what was opened.

    Args:
        path: The file. It is opened as one that nobody changes, which spares all locks.

    Raises:
        UnreadableFileError: There is no such file.
        StoreFormatError: It is no article store of this version, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            message = f"there is no article store {path}. Build one with factoid build-articles"
            raise UnreadableFileError(message)
        self._closed = False
        self._process = os.getpid()
        self._idle: deque[sqlite3.Connection] = deque()
        self._inherited: deque[sqlite3.Connection] = deque()
        self._returned = threading.Condition()
        self._number = 0  # of connections of this process
        self._opened = self._identity()
        first = self._open()
        if first is None:
            message = f"{path} was replaced while it was opened: open it again"
            raise StoreError(message)
        self._idle.append(first)

    @property
    def size(self) -> int:
        """Size of the file in bytes."""
        return 0 if self._opened is None else self._opened[2]

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a statement.

        Raises:
            StoreError: It is closed; or another file lies at the path by now, in a process that was forked while all
                connections were in use.
            StoreFormatError: The file is damaged.
        """
        connection = self._take()
        try:
            return connection.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error
        finally:
            self._idle.append(connection)
            if self._closed:  # meanwhile
                self.close()
            with self._returned:
                self._returned.notify()

    def close(self) -> None:
        """Close what is not in use now, and the rest when it is done."""
        self._leave_to_parent()
        self._closed = True
        with self._returned:
            self._returned.notify_all()
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread closed the last
                return

    def _take(self) -> sqlite3.Connection:
        self._leave_to_parent()
        self._check_open()
        try:
            return self._idle.pop()
        except IndexError:
            return self._open() or self._next()

    def _leave_to_parent(self) -> None:
        """After a fork, take nothing over: what was open belongs to the parent, and is not even closed."""
        if self._process != os.getpid():
            self._inherited.extend(self._idle)
            self._returned, self._number = threading.Condition(), 0
            self._idle, self._process = deque(), os.getpid()

    def _next(self) -> sqlite3.Connection:
        """Return the next connection that another thread gives back."""
        with self._returned:
            if not self._number and self._inherited:
                # SQLite warns of connections that were forked since their locks get lost; these are without locks.
                self._idle.extend(self._inherited)
                self._number = len(self._inherited)
                self._inherited.clear()
            while self._number:
                self._check_open()
                try:
                    return self._idle.pop()
                except IndexError:
                    self._returned.wait()
        message = f"{self.path} was replaced since it was opened: open it again"
        raise StoreError(message)

    def _check_open(self) -> None:
        if self._closed:
            message = f"{self.path} is closed"
            raise StoreError(message)

    def _open(self) -> sqlite3.Connection | None:
        """Return a new connection; None if another file, or none, lies at the path by now."""
        if self._identity() != self._opened:
            return None
        try:
            connection = self._connect()
        except (UnreadableFileError, StoreFormatError):
            if self._identity() != self._opened:
                return None
            raise
        if self._identity() != self._opened:  # meanwhile
            connection.close()
            return None
        with self._returned:
            self._number += 1
        return connection

    def _connect(self) -> sqlite3.Connection:
        try:
            address = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            message = f"{self.path} cannot be opened: {error}"
            raise UnreadableFileError(message) from error
        try:
            check_format(connection, self.path)
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise self._damaged(error) from error
            raise
        return connection

    def _damaged(self, error: sqlite3.Error) -> StoreFormatError:
        return StoreFormatError(f"{self.path} cannot be read: {error}. Build it again with factoid build-articles")

    def _identity(self) -> tuple[int, int, int] | None:
        try:
            state = self.path.stat()
        except OSError:
            return None
        return state.st_dev, state.st_ino, state.st_size
