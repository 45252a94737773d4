"""A cache of propositions: a table with one entry for each passage and propositionizer, in a file or in a store."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from factoid.errors import InvalidInputError, StoreFormatError
from factoid.files import sqlite
from factoid.files.sqlite import FILE
from factoid.forks import at_work
from factoid.propositions.protocol import CachedPropositions, NoPropositions, check_outputs
from factoid.units import Unit

APPLICATION_ID = 0x0FAC70CA
FORMAT = 1

SQL = """CREATE TABLE IF NOT EXISTS propositions (
    row INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, name TEXT NOT NULL, output TEXT NOT NULL, reason TEXT
)"""
_KEY_VERSION = 1  # raise when `passage_key` changes, so that earlier entries are not found
_GET = "SELECT output, reason FROM propositions WHERE key = ?"
# An existing entry stays, unless it is a failure.
_PUT = """INSERT INTO propositions (key, name, output, reason) VALUES (?, ?, ?, ?) ON CONFLICT (key)
    DO UPDATE SET output = excluded.output, reason = excluded.reason WHERE propositions.output = '[]'"""
_CHOSEN = "FROM propositions WHERE (?1 IS NULL OR name = ?1) AND (NOT ?2 OR output = '[]')"  # by name and failures
_STORE = (sqlite.APPLICATION_ID, sqlite.FORMAT)
_TABLE = sqlite.CacheTable("propositions", "propositions", SQL, APPLICATION_ID, FORMAT, hosts=(_STORE,))


class PropositionCache:
    """Stores the outputs of propositionizers on disk, for several threads and processes at once.

    The key of an entry consists of the passage's text, title and section and the propositionizer's name, which must identify
    everything else that its output depends on (model, revision, prompt). Failures are entries too, except transient ones. The
    file is open only while it is used, and may be read-only.

    Args:
        path: A file, created if absent, or the folder of a store, which has a cache in its database.

    Raises:
        InvalidInputError: The path is a URL.
        StoreFormatError: On use, if the path holds something else, a damaged cache or one of another version.
        StoreError: On use, if the file cannot be opened, read or written, for example on a full disk.
    """

    def __init__(self, path: str | Path) -> None:
        if "://" in str(path):
            raise InvalidInputError(f"a cache of propositions is a local file, got {path!r}")
        self.path = Path(path).absolute()  # the working folder may change

    def get(self, name: str, passages: Sequence[Unit]) -> list[list[str] | None]:
        """Return the propositions of each passage: `NoPropositions` for a failure, None if the cache has no entry.

        `name` is the propositionizer's.
        """
        keys = [passage_key(name, passage) for passage in passages]
        with self._opened() as connection:
            rows = [connection.execute(_GET, [key]).fetchone() for key in keys]
        return [None if row is None else _read(*row) for row in rows]

    def put(self, name: str, passages: Sequence[Unit | bytes], outputs: Sequence[list[str]]) -> None:
        """Store the propositions of passages in one transaction. Transient failures are left out.

        An existing entry stays, unless it is a failure. A `passage_key` may be given instead of a passage. Outputs that are not
        one list of strings for each passage raise `PropositionizerError`.
        """
        check_outputs(outputs, len(passages))
        keys = [passage if isinstance(passage, bytes) else passage_key(name, passage) for passage in passages]
        rows = [
            (key, name, json.dumps(texts), getattr(texts, "reason", None))
            for key, texts in zip(keys, outputs, strict=True)
            if not getattr(texts, "transient", False)
        ]
        if rows:
            with self._opened() as connection, sqlite.committing(connection):
                connection.executemany(_PUT, rows)

    def count(self, name: str | None = None, *, failures: bool = False) -> int:
        """Return the number of entries: all, or those of one propositionizer, or only passages without propositions."""
        with self._opened() as connection:
            return int(connection.execute(f"SELECT count(*) {_CHOSEN}", [name, failures]).fetchone()[0])

    def forget(self, name: str | None = None, *, failures: bool = False) -> int:
        """Drop all entries, or those chosen as in `count`, so that their passages are decomposed again; return how many."""
        with self._opened() as connection, sqlite.committing(connection):
            return connection.execute(f"DELETE {_CHOSEN}", [name, failures]).rowcount

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the cache for a block; raise the errors of the class."""
        file = self.path / FILE if self.path.is_dir() else self.path
        if self.path.is_dir() and (not file.exists() or not file.stat().st_size):
            raise StoreFormatError(
                f"{self.path} is a folder without {FILE}: a cache is a file, or the folder of a store"
            )
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with at_work(), closing(_TABLE.open(file)) as connection:
                yield connection
        except (sqlite3.Error, OSError) as error:
            remedy = "Name another file; if this one is a damaged cache, move it away, and its passages are asked again"
            if file.name == FILE:
                remedy = "Restore the store from a backup"
            raise _TABLE.failure(self.path, error, remedy) from error


def passage_key(name: str, passage: Unit) -> bytes:
    """Return the key of an entry: a digest of everything that a propositionizer's output depends on.

    Raises:
        InvalidInputError: The name is not a string, or empty.
    """
    if not isinstance(name, str) or not name:
        raise InvalidInputError(
            f"expected the name of a propositionizer (model and revision, prompt version), got {name!r}"
        )
    content = json.dumps([_KEY_VERSION, name, passage.text, passage.title, passage.section])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def _read(output: str, reason: str | None) -> list[str]:
    texts = json.loads(output)
    return CachedPropositions(texts) if texts or reason is None else NoPropositions(reason, cached=True)


Cache = PropositionCache | str | Path | None
"""A cache, or the path of its file, made if absent; None for no cache."""
