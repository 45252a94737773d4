"""A cache of propositions.

A table with one entry for each passage and propositionizer, in a file or in a store.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from factoid.errors import InvalidInputError, StoreFormatError
from factoid.files import sqlite
from factoid.files.sqlite import FILE, row_checksum
from factoid.forks import at_work
from factoid.propositions.protocol import CachedPropositions, NoPropositions, check_outputs
from factoid.units import Unit

APPLICATION_ID = 0x0FAC70CA
FORMAT = 1

# The checksum covers all values before it, but the row's number.
SQL = (
    "CREATE TABLE IF NOT EXISTS propositions (\n"
    "    row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, name TEXT NOT NULL, "
    "output TEXT NOT NULL, reason TEXT,\n"
    "    checksum INTEGER NOT NULL\n"
    ")"
)
_COLUMNS = "key, name, output, reason"
_KEY_VERSION = 1  # raise when `passage_key` changes, so that earlier entries are not found
_GET = "SELECT row, name, output, reason, checksum FROM propositions WHERE key = ?"
# An existing entry stays, unless it is a failure.
_PUT = f"""INSERT INTO propositions ({_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key)
    DO UPDATE SET (output, reason, checksum) = (excluded.output, excluded.reason, excluded.checksum)
    WHERE propositions.output = '[]'"""  # noqa: S608
# by name and failures
_CHOSEN = "FROM propositions WHERE (?1 IS NULL OR name = ?1) AND (NOT ?2 OR output = '[]')"
_STORE = (sqlite.APPLICATION_ID, sqlite.FORMAT)
_TABLE = sqlite.CacheTable(
    "propositions", "propositions", SQL, _COLUMNS, APPLICATION_ID, FORMAT, hosts=(_STORE,)
)

logger = logging.getLogger(__name__)


class PropositionCache:
    """Stores the outputs of propositionizers on disk, for several threads and processes at once.

    The key of an entry consists of the passage's text, title and section and the propositionizer's
    name, which must identify everything else that its output depends on (model, revision, prompt).
    Failures are entries too, except transient ones. The file is open only while it is used, and may
    be read-only. An entry that has changed on disk counts as missing, and is logged.

    Args:
        path: A file, created if absent, or the folder of a store, which has a cache in its
            database.

    Raises:
        InvalidInputError: The path is a URL.
        StoreFormatError: On use, if the path holds something else, a damaged cache or one of
            another version.
        StoreError: On use, if the file cannot be opened, read or written, for example on a full
            disk.
    """

    def __init__(self, path: str | Path) -> None:
        if "://" in str(path):
            raise InvalidInputError(f"a cache of propositions is a local file, got {path!r}")
        self.path = Path(path).absolute()  # the working folder may change

    def get(self, name: str, passages: Sequence[Unit]) -> list[list[str] | None]:
        """Return the propositions of each passage.

        `NoPropositions` for a failure, None if the cache has no entry.
        `name` is the propositionizer's.
        """
        keys = [passage_key(name, passage) for passage in passages]
        with self._opened() as connection:
            rows = [connection.execute(_GET, [key]).fetchone() for key in keys]
        damaged = 0
        outputs: list[list[str] | None] = []
        for key, row in zip(keys, rows, strict=True):
            if row is None:
                outputs.append(None)
            else:
                output = _read(key, *row)
                damaged += output is None
                outputs.append(output)
        if damaged:
            logger.warning(
                "%d entries of %s have changed on disk: their passages are asked again",
                damaged,
                self.path,
            )
        return outputs

    def put(
        self, name: str, passages: Sequence[Unit | bytes], outputs: Sequence[list[str]]
    ) -> None:
        """Store the propositions of passages in one transaction. Transient failures are left out.

        An existing entry stays, unless it is a failure. A `passage_key` may be given instead of a
        passage. Outputs that are not one list of strings for each passage raise
        `PropositionizerError`.
        """
        check_outputs(outputs, len(passages))
        keys = []
        for passage in passages:
            if isinstance(passage, bytes):
                keys.append(passage)
            else:
                keys.append(passage_key(name, passage))
        rows = []
        for key, texts in zip(keys, outputs, strict=True):
            if not getattr(texts, "transient", False):
                row = (key, name, json.dumps(texts), getattr(texts, "reason", None))
                rows.append((*row, row_checksum(*row)))
        if rows:
            with self._opened() as connection, sqlite.committing(connection):
                _drop_damaged(connection, [row[0] for row in rows])
                connection.executemany(_PUT, rows)
                _check_stored(connection, [row[0] for row in rows])

    def count(self, name: str | None = None, *, failures: bool = False) -> int:
        """Return the number of entries.

        All, or those of one propositionizer, or only passages without propositions.
        """
        with self._opened() as connection:
            return int(
                connection.execute(f"SELECT count(*) {_CHOSEN}", [name, failures]).fetchone()[0]
            )

    def forget(self, name: str | None = None, *, failures: bool = False) -> int:
        """Drop all entries, or those chosen as in `count`, and return how many.

        Their passages are decomposed again.
        """
        with self._opened() as connection, sqlite.committing(connection):
            return connection.execute(f"DELETE {_CHOSEN}", [name, failures]).rowcount

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the cache for a block; raise the errors of the class."""
        file = self.path / FILE if self.path.is_dir() else self.path
        if self.path.is_dir() and (not file.exists() or not file.stat().st_size):
            raise StoreFormatError(
                f"{self.path} is a folder without {FILE}: a cache is a file, or the folder of a "
                "store"
            )
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with at_work(), closing(_TABLE.open(file)) as connection:
                yield connection
        except (sqlite3.Error, OSError) as error:
            remedy = (
                "Name another file; if this one is a damaged cache, move it away, and its passages "
                "are asked again"
            )
            if file.name == FILE:
                remedy = "Restore the store from a backup"
            raise _TABLE.failure(self.path, error, remedy) from error


def passage_key(name: str, passage: Unit) -> bytes:
    """Return the key of an entry.

    A digest of everything that a propositionizer's output depends on.

    Raises:
        InvalidInputError: The name is not a string, or empty.
    """
    if not isinstance(name, str) or not name:
        raise InvalidInputError(
            "expected the name of a propositionizer (model and revision, prompt version), got "
            f"{name!r}"
        )
    content = json.dumps([_KEY_VERSION, name, passage.search_text, passage.title, passage.section])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def _read(
    key: bytes, _: int, name: str, output: str, reason: str | None, written: int
) -> list[str] | None:
    """Return the output in an entry; None if it is not as written, or no list of strings."""
    if row_checksum(key, name, output, reason) != written:
        return None
    try:
        texts = json.loads(output)
    except (TypeError, ValueError, RecursionError):
        return None
    if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        return None
    if texts or reason is None:
        return CachedPropositions(texts)
    return NoPropositions(reason, cached=True)


def damaged_entries(connection: sqlite3.Connection) -> list[int]:
    """Return the rows of entries in a database that differ from what was written.

    None if it has no cache.
    """
    return _TABLE.damaged_rows(connection)


def delete_entries(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    """Delete entries by their rows."""
    for row in rows:  # of which there are none where there is no table
        connection.execute("DELETE FROM propositions WHERE row = ?", [row])


def _drop_damaged(connection: sqlite3.Connection, keys: Sequence[bytes]) -> None:
    """Delete the entries of some keys that cannot be read, so that others take their places."""
    for key in keys:
        entry = connection.execute(_GET, [key]).fetchone()
        if entry is not None and _read(key, *entry) is None:
            delete_entries(connection, [entry[0]])


def _check_stored(connection: sqlite3.Connection, keys: Sequence[bytes]) -> None:
    """Raise a DatabaseError if an entry is not found by its key.

    Its passage would be asked again each time.
    """
    for key in keys:
        if connection.execute(_GET, [key]).fetchone() is None:
            raise sqlite3.DatabaseError("malformed: an entry that was just written is not found")


Cache = PropositionCache | str | Path | None
"""A cache, or the path of its file, made if absent; None for no cache."""
