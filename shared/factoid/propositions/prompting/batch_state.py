"""What is known of batches at OpenAI: a small SQLite file, so that no request is ever submitted twice."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from factoid.errors import StoreError, StoreFormatError
from factoid.units import Granularity, Unit, content_id, make_unit

APPLICATION_ID = 0x0FAC70BA
FORMAT = 1

_TABLES = """
CREATE TABLE batches (
    key TEXT PRIMARY KEY, name TEXT NOT NULL, made REAL NOT NULL, requests INTEGER NOT NULL, file_id TEXT, batch_id TEXT,
    status TEXT NOT NULL, completed INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT ''
);
CREATE TABLE requests (
    custom_id TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, title TEXT NOT NULL, section TEXT NOT NULL,
    batch TEXT REFERENCES batches (key), reason TEXT NOT NULL DEFAULT ''
);
CREATE INDEX requests_by_batch ON requests (batch)
"""
# A batch is first all of these in turn, here; then what the server says; then collected.
PLANNED, UPLOADING, UPLOADED, CREATING, COLLECTED = "planned", "uploading", "uploaded", "creating", "collected"


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch.

    Attributes:
        key: Our own name for it, which the server keeps in its metadata.
        made: When it was planned, in seconds since 1970.
        requests: Number of requests in it.
        file_id: The server's id of its file; None before the upload.
        batch_id: The server's id; None before it is created.
        status: The server's word: validating, in_progress, finalizing, completed, failed, expired, cancelling,
            cancelled; before it, planned, uploading, uploaded, creating; after it, collected.
        completed: Requests that the server has answered.
        error: Why the batch as a whole failed, in the server's words.
    """

    key: str
    made: float
    requests: int
    file_id: str | None
    batch_id: str | None
    status: str
    completed: int
    error: str


class BatchState:
    """The batches and requests of one propositionizer, in an open file; every method commits.

    Args:
        connection: As `opened` gives it.
        name: The propositionizer's name.
    """

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def add(self, passages: Iterable[Unit]) -> int:
        """Note passages to be asked; return how many were not known."""
        rows = [(custom_id(self._name, each), self._name, each.text, each.title, each.section) for each in passages]
        before = self._connection.total_changes
        with self._connection:
            self._connection.executemany(
                "INSERT OR IGNORE INTO requests (custom_id, name, text, title, section) VALUES (?, ?, ?, ?, ?)", rows
            )
        return self._connection.total_changes - before

    def waiting(self) -> list[tuple[str, Unit]]:
        """Return ids and passages that are in no batch."""
        return self._requests("batch IS NULL AND name = ?", self._name)

    def drop(self, ids: Iterable[str]) -> None:
        """Forget requests whose answer is known from elsewhere."""
        with self._connection:
            self._connection.executemany("DELETE FROM requests WHERE custom_id = ?", [(each,) for each in ids])

    def passages(self, batch: Batch) -> list[tuple[str, Unit]]:
        """Return ids and passages of a batch."""
        return self._requests("batch = ?", batch.key)

    def plan(self, ids: Sequence[str]) -> None:
        """Put requests into a new batch."""
        key = uuid4().hex
        with self._connection:
            self._connection.execute(
                "INSERT INTO batches (key, name, made, requests, status) VALUES (?, ?, ?, ?, ?)",
                (key, self._name, time.time(), len(ids), PLANNED),
            )
            self._connection.executemany("UPDATE requests SET batch = ? WHERE custom_id = ?", [(key, id) for id in ids])  # noqa: A001

    def batches(self, *, collected: bool = False) -> list[Batch]:
        """Return batches, oldest first; those that are collected only if asked for."""
        rows = self._connection.execute(
            "SELECT key, made, requests, file_id, batch_id, status, completed, error FROM batches "
            "WHERE name = ? AND (? OR status != ?) ORDER BY made, key",
            (self._name, collected, COLLECTED),
        )
        return [Batch(*row) for row in rows]

    def update(self, batch: Batch) -> Batch:
        """Keep what became of a batch."""
        with self._connection:
            self._connection.execute(
                "UPDATE batches SET file_id = ?, batch_id = ?, status = ?, completed = ?, error = ? WHERE key = ?",
                (batch.file_id, batch.batch_id, batch.status, batch.completed, batch.error, batch.key),
            )
        return batch

    def collect(self, batch: Batch, answered: Iterable[str], returned: Mapping[str, str]) -> None:
        """Note that a batch is done: drop the requests that have an answer, and free the others with a reason."""
        with self._connection:
            self._connection.executemany("DELETE FROM requests WHERE custom_id = ?", [(each,) for each in answered])
            self._connection.executemany(
                "UPDATE requests SET batch = NULL, reason = ? WHERE custom_id = ?",
                [(reason, each) for each, reason in returned.items()],
            )
            self._connection.execute("UPDATE batches SET status = ? WHERE key = ?", (COLLECTED, batch.key))

    def _requests(self, where: str, value: str) -> list[tuple[str, Unit]]:
        sql = f"SELECT custom_id, text, title, section FROM requests WHERE {where} ORDER BY rowid"  # noqa: S608
        return [(each, _passage(*rest)) for each, *rest in self._connection.execute(sql, (value,))]


def custom_id(name: str, passage: Unit) -> str:
    """Return the id of a request: the same propositionizer and passage, the same id."""
    return content_id("request", name, passage.text, passage.title, passage.section)


@contextmanager
def opened(path: Path, name: str) -> Iterator[BatchState]:
    """Open a file of batches, made if absent, for one process at a time.

    Raises:
        StoreError: Another process is at work on it, or it cannot be opened.
        StoreFormatError: The path holds something else.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=5)) as connection:
            _is_empty(connection, path)  # before anything is locked that is not ours
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # is given back when the file is closed, or by a kill
            connection.execute("PRAGMA synchronous = FULL")  # a batch that is forgotten would be paid for twice
            _make(connection, path)
            yield BatchState(connection, name)
    except sqlite3.OperationalError as error:
        reason = "another process is at work on it" if "locked" in str(error) else str(error)
        message = f"the file of batches {path} cannot be used: {reason}"
        raise StoreError(message) from error
    except sqlite3.DatabaseError as error:
        message = f"{path} is not a file of batches, or is damaged: {error}. Name another file"
        raise StoreFormatError(message) from error


def _make(connection: sqlite3.Connection, path: Path) -> None:
    with connection:
        connection.execute("BEGIN EXCLUSIVE")
        if _is_empty(connection, path):
            for statement in _TABLES.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")


def _is_empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Tell whether the file is new; refuse one that is something else."""
    version = tuple(
        int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")
    )
    empty = not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if version != (APPLICATION_ID, FORMAT) and not (empty and version == (0, 0)):
        message = f"{path} is not a file of batches of format {FORMAT}: name another file"
        raise StoreFormatError(message)
    return empty


def _passage(text: str, title: str, section: str) -> Unit:
    return make_unit(
        text,
        Granularity.PASSAGE,
        document_id="",
        parent_id="",
        start=0,
        end=len(text),
        title=title,
        section=section,
    )
