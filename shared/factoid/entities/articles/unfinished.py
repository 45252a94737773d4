"""The files of a store that is being built: `NAME.building` will be the store, `NAME.spill` is needed until it is.

Both change in one transaction for each batch, which SQLite makes whole or not at all even when the machine loses power:
tables are only appended to, so that its rollback journal stays small, and a batch is a second's work, beside which the
disk's few hundredths do not count. What was interrupted goes on after the last batch.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

from factoid.entities.articles.batch import Batch
from factoid.entities.articles.report import EXAMPLES
from factoid.entities.articles.schema import APPLICATION_ID, UNFINISHED_ID, make_tables
from factoid.entities.articles.state import State, check_same, read_state
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.sqlite_file import explain

_CACHES = {"main": 96 << 10, "spill": 192 << 10}  # KiB of pages to keep in memory; SQLite sorts in as much as the first
_SPILL = """
CREATE TABLE spill.redirect (name TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE spill.alias (form TEXT NOT NULL, article INTEGER NOT NULL);
CREATE TABLE spill.link (target TEXT NOT NULL, form TEXT, count INTEGER NOT NULL);
CREATE TABLE spill.state (value TEXT NOT NULL)
"""


def building_path(path: Path) -> Path:
    """Return where a store lies while it is built."""
    return path.with_name(f"{path.name}.building")


def spill_path(path: Path) -> Path:
    """Return where the rest of a build lies."""
    return path.with_name(f"{path.name}.spill")


def remove_unfinished(path: Path) -> None:
    """Remove what an earlier build of a store left.

    Raises:
        StoreFormatError: A file of that name is something else.
    """
    building = building_path(path)
    if building.exists() and building.stat().st_size:
        _check_own(building)
    for file in (building, spill_path(path)):
        for ending in ("-journal", ""):
            file.with_name(file.name + ending).unlink(missing_ok=True)
    for journal in path.parent.glob(f"{_literal(building.name)}-mj*"):
        journal.unlink(missing_ok=True)


class Unfinished:
    """A store that is being built; a context manager.

    Args:
        path: Where the store will be.
        sources: Names of what it is read from.
        words: Words of an article to keep.

    Raises:
        StoreFormatError: There is another file where the store is to be built.
        InvalidInputError: There is an unfinished build of other sources or options.
        StoreError: The folder cannot be written.
    """

    def __init__(self, path: Path, sources: Sequence[str], words: int) -> None:
        self.path = path
        building = building_path(path)
        if building.exists() != spill_path(path).exists() or not all(sources):
            remove_unfinished(path)  # just begun, just ended, or of what cannot be gone on with
        elif building.exists() and building.stat().st_size:
            _check_own(building)
        known = self._open()
        if known is not None and not known.read_articles:  # nothing is lost by starting over
            self.connection.close()
            remove_unfinished(path)
            known = self._open()
        try:
            if known is not None:
                check_same(known, list(sources), words, path)
                self.state = known
            else:
                self.state = State(list(sources), words)
                self._make_tables()
        except BaseException:
            self.connection.close()
            raise

    def _open(self) -> State | None:
        """Open both files; return how far an earlier build came, None if there was none."""
        building = building_path(self.path)
        with _explained(self.path):
            self.connection = sqlite3.connect(building, isolation_level=None, timeout=0, check_same_thread=False)
            try:
                self.connection.execute("ATTACH ? AS spill", [str(spill_path(self.path))])
                for schema, size in _CACHES.items():
                    self.connection.execute(f"PRAGMA {schema}.cache_size = -{size}")
                    self.connection.execute(f"PRAGMA {schema}.synchronous = FULL")
                if not self.connection.execute("SELECT 1 FROM spill.sqlite_master WHERE name = 'state'").fetchone():
                    return None
                return read_state(self.connection.execute("SELECT value FROM spill.state").fetchone()[0], self.path)
            except BaseException:
                self.connection.close()
                raise

    def _make_tables(self) -> None:
        with self.transaction() as connection:
            make_tables(connection)
            for statement in _SPILL.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO spill.state VALUES ('')")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Change both files, and keep the state with them; all or nothing.

        Raises:
            StoreError: The disk is full or fails.
        """
        with _explained(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("UPDATE spill.state SET value = ?", [json.dumps(asdict(self.state))])
                self.connection.execute("COMMIT")
            except BaseException as error:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                if isinstance(error, UnicodeEncodeError):  # titles and texts are checked before, links are too many
                    message = f"a name holds a lone surrogate, {error.object!r}: it was decoded wrongly"
                    raise InvalidInputError(message) from error
                raise

    def write(self, batch: Batch, *, last: bool) -> None:
        """Add a batch of records, with `last` the last one of its source."""
        bodies, links = batch.bodies(), batch.link_rows()
        state = self.state
        with self.transaction() as connection:
            connection.executemany("INSERT INTO article VALUES (?, ?, ?, ?)", batch.articles)
            connection.executemany("INSERT INTO body VALUES (?, ?)", bodies)
            connection.executemany("INSERT INTO spill.alias VALUES (?, ?)", batch.aliases)
            connection.executemany("INSERT INTO spill.redirect VALUES (?, ?)", batch.redirects)
            connection.executemany("INSERT INTO spill.link VALUES (?, ?, ?)", links)
            state.source, state.records = (
                (state.source + 1, 0) if last else (state.source, state.records + batch.records)
            )
            state.read_articles += len(batch.articles)
            state.read_redirects += len(batch.redirects)
            state.aliases += len(batch.aliases)
            state.links += batch.links
            state.empty += batch.empty_count
            state.empty_examples = (state.empty_examples + batch.empty)[:EXAMPLES]

    def __enter__(self) -> Unfinished:
        return self

    def __exit__(self, *error: object) -> None:
        self.connection.close()


def _check_own(building: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{building.absolute().as_uri()}?mode=rw", uri=True, timeout=0)) as connection:
            (own,) = connection.execute("PRAGMA application_id").fetchone()
            empty = not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.DatabaseError as error:
        message = f"{building} is damaged, or no unfinished article store: {error}. Move or remove it"
        raise StoreFormatError(message) from error
    if own not in (UNFINISHED_ID, APPLICATION_ID) and not (own == 0 and empty):
        message = f"{building} is no unfinished article store. Move it, or build elsewhere"
        raise StoreFormatError(message)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        message = f"{path} cannot be built: {explain(error)}"
        raise StoreError(message) from error


def _literal(name: str) -> str:
    """Return a name as a pattern that only it matches."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)
