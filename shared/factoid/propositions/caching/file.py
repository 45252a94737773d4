"""The file in which propositions are kept: one entry for each passage and propositionizer."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from factoid.errors import InvalidInputError, StoreError
from factoid.propositions.caching.claimants import claimant, has_ended
from factoid.propositions.caching.schema import connect, failure
from factoid.propositions.protocol import CachedPropositions, NoPropositions, check_outputs
from factoid.units import Unit

_KEY_VERSION = 1  # raise when `passage_key` changes, so that no entry of before is found
_CHUNK = 500  # keys in one SQL statement


class PropositionCache:
    """What propositionizers returned, on disk; a context manager, safe under several threads and processes.

    An entry is found again by the passage's text, title and section and the propositionizer's name, which tells all
    else that its output depends on (model, revision, prompt). Failures that another try would not mend are entries too.

    The file is opened on first use, and again in processes that are forked or given the cache by pickling. On a
    read-only file system it can be read, and what is not in it is an error.

    Args:
        path: A file, made if absent, or the folder of a store, which keeps a cache in its database.

    Raises:
        InvalidInputError: The path is none.
        StoreFormatError: On use, if the path holds something else, a damaged cache or one of another version.
        StoreError: On use, if the file cannot be opened, read or written, for example on a full disk, or after `close`.
    """

    def __init__(self, path: str | Path) -> None:
        if not isinstance(path, str | os.PathLike):
            message = f"expected the path of a cache's file, a str or Path, got {path!r:.80}"
            raise InvalidInputError(message)
        self.path = Path(path).absolute()  # the file may be opened again from another folder
        self._start()

    def _start(self) -> None:
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._writable = False
        self._closed = False
        _close_before_forks()
        with _forking:
            _caches.add(self)

    def __repr__(self) -> str:
        return f"PropositionCache({str(self.path)!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_lock"):  # not so if the constructor has failed
            self.close()

    def close(self) -> None:
        """Close the file, for good. What was put is on disk already."""
        with self._lock:
            self._closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def get(self, name: str, passages: Sequence[Unit]) -> list[list[str] | None]:
        """Return the propositions of each passage, or None where the cache has none.

        Failures come back as `NoPropositions` with their reason.

        Args:
            name: The propositionizer's name.
            passages: Any number of passages; a few thousand at a time keep memory small.
        """
        keys = [passage_key(name, passage) for passage in passages]
        with self._reading() as connection:
            found = _find(connection, keys)
        return [_read(*found[key]) if key in found else None for key in keys]

    def put(self, name: str, passages: Sequence[Unit], outputs: Sequence[list[str]]) -> None:
        """Keep the propositions of passages, all in one transaction. Transient failures are left out.

        An entry that is there stays, unless it is a failure.

        Raises:
            PropositionizerError: Another number of outputs than of passages, or anything but lists of strings.
        """
        check_outputs(outputs, len(passages))
        keys = [passage_key(name, passage) for passage in passages]
        kept = [
            (key, name, json.dumps(texts), getattr(texts, "reason", None))
            for key, texts in zip(keys, outputs, strict=True)
            if not getattr(texts, "transient", False)
        ]
        sql = """INSERT INTO propositions (key, name, output, reason) VALUES (?, ?, ?, ?) ON CONFLICT (key)
            DO UPDATE SET output = excluded.output, reason = excluded.reason WHERE propositions.output = '[]'"""
        if keys:
            with self._writing() as connection:
                connection.executemany(sql, kept)
                connection.executemany("DELETE FROM claims WHERE key = ?", [(key,) for key in keys])

    def count(self, name: str | None = None, *, failures: bool = False) -> int:
        """Return the number of entries.

        Args:
            name: Those of one propositionizer only.
            failures: Only passages without propositions.
        """
        where, parameters = _where(name, failures)
        with self._reading() as connection:
            return int(connection.execute(f"SELECT count(*) FROM propositions{where}", parameters).fetchone()[0])  # noqa: S608

    def forget(self, name: str | None = None, *, failures: bool = False) -> int:
        """Drop entries, all or those chosen as in `count`, so that their passages are asked again; return how many."""
        where, parameters = _where(name, failures)
        with self._writing() as connection:
            connection.execute("DELETE FROM claims")
            return connection.execute(f"DELETE FROM propositions{where}", parameters).rowcount  # noqa: S608

    def claim(
        self, name: str, passages: Sequence[Unit], *, seen: dict[tuple[bytes, float], float], patience: float
    ) -> tuple[dict[int, list[str]], list[int]]:
        """Choose what to work on, so that several processes divide the passages among them.

        Args:
            name: The propositionizer's name.
            passages: Passages that were not in the cache.
            seen: When claims of others were first met; empty at first, kept here from call to call.
            patience: Seconds after which a claim that was met, and was not renewed since, counts for nothing. One whose
                process is seen to have ended does so at once.

        Returns:
            (position → propositions of passages that others have done meanwhile, positions of those claimed now). What
            is in neither is claimed by others: ask again later.

        Raises:
            StoreError: The cache is read-only, and some passages are not in it.
        """
        keys = [passage_key(name, passage) for passage in passages]
        with self._writing() as connection:  # looked up and claimed in one transaction: no two processes claim the same
            found = _find(connection, keys)
            claims = _select(connection, "SELECT key, at, owner FROM claims", keys)
            now = time.monotonic()
            ended = {owner for owner in {owner for _, owner in claims.values()} if has_ended(owner)}

            def is_free(key: bytes) -> bool:
                if key not in claims:
                    return True
                at, owner = claims[key]
                return owner in ended or now - seen.setdefault((key, at), now) >= patience

            own = [position for position, key in enumerate(keys) if key not in found and is_free(key)]
            stamps = [(keys[each], time.time(), claimant()) for each in own]
            connection.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", stamps)
        return {position: _read(*found[key]) for position, key in enumerate(keys) if key in found}, own

    def renew(self, name: str, passages: Sequence[Unit]) -> None:
        """Show that the work on what this process has claimed goes on."""
        keys = [passage_key(name, passage) for passage in passages]
        with self._writing() as connection:
            stamps = [(time.time(), key, claimant()) for key in keys]
            connection.executemany("UPDATE claims SET at = ? WHERE key = ? AND owner = ?", stamps)

    def release(self, name: str, passages: Sequence[Unit]) -> None:
        """Give up this process's claims, so that nobody waits for them."""
        keys = [passage_key(name, passage) for passage in passages]
        with self._writing() as connection:
            connection.executemany(
                "DELETE FROM claims WHERE key = ? AND owner = ?", [(key, claimant()) for key in keys]
            )

    # The parts

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._opened()
            try:
                yield connection
            except sqlite3.Error as error:
                self._disconnect()  # a file that is put right is then read anew
                raise failure(self.path, error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Commit what the block writes, or nothing of it."""
        with self._reading() as connection:
            if not self._writable:
                message = f"the cache {self.path} is read-only, and what is not in it cannot be added: copy the file elsewhere"
                raise StoreError(message)
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            message = f"the cache {self.path} is closed: use it before close(), or open another PropositionCache"
            raise StoreError(message)
        if self._connection is None:
            self._connection, self._writable = connect(self.path)
        return self._connection


def passage_key(name: str, passage: Unit) -> bytes:
    """Return the key of an entry: a digest of everything that a propositionizer's output depends on.

    Raises:
        InvalidInputError: The name is not a string, or empty.
    """
    if not isinstance(name, str) or not name:
        message = f"expected the name of a propositionizer (model and revision, prompt version), got {name!r}"
        raise InvalidInputError(message)
    content = json.dumps([_KEY_VERSION, name, passage.text, passage.title, passage.section])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def _find(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, tuple[str, str | None]]:
    return _select(connection, "SELECT key, output, reason FROM propositions", keys)


def _select(connection: sqlite3.Connection, sql: str, keys: Sequence[bytes]) -> dict[bytes, Any]:
    """Return the rest of each row by key; a value alone where it is one."""
    rows: list[tuple[Any, ...]] = []
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        rows += connection.execute(f"{sql} WHERE key IN ({', '.join('?' * len(chunk))})", chunk)
    return {key: rest if len(rest) > 1 else rest[0] for key, *rest in rows}


def _read(output: str, reason: str | None) -> list[str]:
    texts: list[str] = json.loads(output)
    return CachedPropositions(texts) if texts or reason is None else NoPropositions(reason, cached=True)


def _where(name: str | None, failures: bool) -> tuple[str, list[str]]:
    conditions = (["name = ?"] if name is not None else []) + (["output = '[]'"] if failures else [])
    return f" WHERE {' AND '.join(conditions)}" if conditions else "", [name] if name is not None else []


# A connection to SQLite must not be carried over a fork: it is closed before, and opened anew on either side.
_caches: WeakSet[PropositionCache] = WeakSet()
_forking = threading.Lock()
_held: list[PropositionCache] = []


@cache
def _close_before_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)


def _hold() -> None:
    _forking.acquire()
    for each in _caches:
        each._lock.acquire()
        _held.append(each)
        each._disconnect()


def _release() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()
