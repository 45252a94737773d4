"""Connections to a file that is only read, for any number of threads and for processes that are forked."""

from __future__ import annotations

import os
import sqlite3
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factoid.entities.articles.schema import check_format
from factoid.errors import StoreError, StoreFormatError, UnreadableFileError

_CACHE = 16 << 10  # KiB of pages that a connection keeps


class Connections:
    """As many connections to an article store as are in use at once; each serves one thread at a time.

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
        self._inherited: list[deque[sqlite3.Connection]] = []
        self._opened = self._identity()
        self._idle.append(self._open())

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a statement.

        Raises:
            StoreError: It is closed, or another file lies at the path by now.
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

    def close(self) -> None:
        """Close what is not in use now, and the rest when it is done."""
        self._closed = True
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # another thread closed the last
                return

    def _take(self) -> sqlite3.Connection:
        if self._closed:
            message = f"{self.path} is closed"
            raise StoreError(message)
        if self._process != os.getpid():  # forked: what was open belongs to the parent, and is not even closed
            self._inherited.append(self._idle)
            self._idle, self._process = deque(), os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def _open(self) -> sqlite3.Connection:
        if self._identity() != self._opened:
            message = f"{self.path} was replaced since it was opened: open it again"
            raise StoreError(message)
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

    def _identity(self) -> tuple[int, int, int]:
        try:
            state = self.path.stat()
        except OSError as error:
            message = f"{self.path} cannot be read: {error.strerror or error}"
            raise UnreadableFileError(message) from error
        return state.st_dev, state.st_ino, state.st_size
