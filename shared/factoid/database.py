"""The truth of a store: documents, units, metadata and vectors in one SQLite file (DESIGN: WAL, JSON, blobs).

Row ids are never reused; FAISS knows vectors by them. Every write that commits raises the generation, by which indexes
see whether they are up to date. All methods are to be called under the store's lock.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.filters import Filter, compile_filter
from factoid.index import RowIds
from factoid.units import Document, Granularity, Metadata, Unit

APPLICATION_ID = 0x0FAC701D
FORMAT = 1
FILE = "units.sqlite"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE documents (
    id TEXT PRIMARY KEY, text TEXT NOT NULL, title TEXT NOT NULL, section TEXT NOT NULL, metadata TEXT NOT NULL,
    digest TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE units (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, granularity TEXT NOT NULL,
    document_id TEXT NOT NULL, parent_id TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    title TEXT NOT NULL, section TEXT NOT NULL, metadata TEXT NOT NULL, vector BLOB
);
CREATE INDEX units_by_parent ON units (parent_id);
CREATE INDEX units_by_document ON units (document_id);
CREATE INDEX units_by_granularity ON units (granularity);
INSERT INTO meta VALUES ('generation', 0);
"""
_COLUMNS = 'id, text, granularity, document_id, parent_id, start, "end", title, section, metadata'


class Database:
    """One SQLite connection.

    Args:
        path: The store's folder, made if absent; None for a database in memory.

    Raises:
        StoreFormatError: The path is a file, a folder of something else, a damaged store or one of another version.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._connection = self._open(path)

    def _open(self, path: Path | None) -> sqlite3.Connection:
        if path is not None:
            check_folder(path)
        target = ":memory:" if path is None else str(path / FILE)
        try:
            connection = sqlite3.connect(target, isolation_level=None, check_same_thread=False, timeout=30)
            if path is not None:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")  # a committed add survives a power cut
            self._prepare(connection)
        except sqlite3.DatabaseError as error:
            message = (
                f"{target} cannot be opened as a store: {error}. Restore it from a backup or index again elsewhere"
            )
            raise StoreFormatError(message) from error
        return connection

    @staticmethod
    def _prepare(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        found = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
        if tables and (found, version) != (APPLICATION_ID, FORMAT):
            connection.close()
            message = f"{FILE} is not a factoid store of format {FORMAT} (application {found:#x}, format {version})"
            raise StoreFormatError(message)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # Reading

    def get(self, key: str) -> Any:
        """Return a value of the store's own record, or None."""
        row = self._execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return row[0] if row else None

    @property
    def generation(self) -> int:
        """Number of writes committed so far, by any process."""
        return int(self.get("generation"))

    def digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the digests of the documents that are stored."""
        sql = "SELECT id, digest FROM documents WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._execute(sql, [json.dumps(ids)]).fetchall())

    def document(self, own: str) -> Document | None:
        """Return a document by id."""
        row = self._execute("SELECT text, title, section, id, metadata FROM documents WHERE id = ?", [own]).fetchone()
        if row is None:
            return None
        text, title, section, own, metadata = row
        return Document(text, title, section, own, json.loads(metadata))

    def units(self, rows: Sequence[int]) -> dict[int, Unit]:
        """Return units by row."""
        sql = f"SELECT row, {_COLUMNS} FROM units WHERE row IN (SELECT value FROM json_each(?))"  # noqa: S608
        return {row: _unit(rest) for row, *rest in self._execute(sql, [json.dumps(list(rows))])}

    def units_by_id(self, ids: Sequence[str]) -> list[Unit]:
        """Return the units that are there, in the order of the ids."""
        sql = f"SELECT {_COLUMNS} FROM units WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
        found = {row[0]: _unit(row) for row in self._execute(sql, [json.dumps(list(ids))])}
        return [found[own] for own in ids if own in found]

    def vectors_by_id(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the units that have one. Shape of each: (dim,)."""
        sql = "SELECT id, vector FROM units WHERE vector IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
        return {own: np.frombuffer(blob, np.float32) for own, blob in self._execute(sql, [json.dumps(list(ids))])}

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        rows = self._execute("SELECT granularity, count(*) FROM units GROUP BY granularity")
        return {Granularity(name): count for name, count in rows}

    def vectors(self, granularity: Granularity) -> Iterator[tuple[RowIds, Vectors]]:
        """Yield rows and vectors in blocks. Shapes: (n,), (n, dim)."""
        sql = "SELECT row, vector FROM units WHERE granularity = ? AND vector IS NOT NULL ORDER BY row"
        cursor = self._execute(sql, [granularity])
        while block := cursor.fetchmany(10_000):
            rows = np.array([row for row, _ in block], dtype=np.int64)
            yield rows, np.stack([np.frombuffer(vector, dtype=np.float32) for _, vector in block])

    def parents(self, rows: Sequence[int]) -> dict[int, int]:
        """Map rows of units to the rows of their passages; a unit without a stored passage is its own parent."""
        sql = """SELECT units.row, coalesce(passages.row, units.row) FROM units
            LEFT JOIN units AS passages ON passages.id = units.parent_id AND passages.granularity = 'passage'
            WHERE units.row IN (SELECT value FROM json_each(?))"""
        return dict(self._execute(sql, [json.dumps(list(rows))]).fetchall())

    def children(self, parents: Sequence[int], granularity: Granularity) -> dict[int, int]:
        """Map the rows of all units of a granularity under these parents to the parents' rows."""
        sql = """SELECT units.row, passages.row FROM units
            JOIN units AS passages ON passages.id = units.parent_id OR passages.row = units.row
            WHERE passages.row IN (SELECT value FROM json_each(?)) AND units.granularity = ?
            AND units.vector IS NOT NULL"""
        return dict(self._execute(sql, [json.dumps(list(parents)), granularity]).fetchall())

    def matching(self, granularity: Granularity, condition: Filter) -> RowIds:
        """Return the rows of the units of a granularity whose metadata pass a filter."""
        rows = self._passing("row", "granularity = ? AND vector IS NOT NULL", [granularity], condition)
        return np.array(rows, dtype=np.int64)

    def ids(self, condition: Filter) -> list[str]:
        """Return the ids of all units whose metadata pass a filter, oldest first."""
        return self._passing("id", "1", [], condition)

    def _passing(self, column: str, where: str, parameters: list[Any], condition: Filter) -> list[Any]:
        if callable(condition):
            rows = self._execute(f"SELECT {column}, metadata FROM units WHERE {where} ORDER BY row", parameters)  # noqa: S608
            return [value for value, metadata in rows if condition(json.loads(metadata))]
        sql, more = compile_filter(condition)
        rows = self._execute(f"SELECT {column} FROM units WHERE {where} AND {sql} ORDER BY row", [*parameters, *more])  # noqa: S608
        return [value for (value,) in rows]

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """Commit all writes of the block as one generation, or none of them. Yields the generation before."""
        self._execute("BEGIN IMMEDIATE")
        try:
            yield self.generation
            self._execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
            self._execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def put(self, key: str, value: str | int) -> None:
        """Set a value of the store's own record."""
        self._execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    def put_document(self, document: Document, digest: str) -> None:
        """Insert or replace a document, without its units."""
        values = [document.id, document.text, document.title, document.section, to_json(document.metadata), digest]
        self._execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?)", values)

    def insert(self, units: Sequence[Unit], vectors: Callable[[int], bytes | None]) -> list[int]:
        """Insert units that are not there; return their rows. `vectors` gives the vector of the nth unit."""
        sql = "INSERT INTO units VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        rows = []
        for index, unit in enumerate(units):
            values = [unit.id, unit.text, unit.granularity, unit.document_id, unit.parent_id, unit.start, unit.end]
            values += [unit.title, unit.section, to_json(unit.metadata)]
            rows.append(int(self._execute(sql, [*values, vectors(index)]).lastrowid or 0))
        return rows

    def remove(self, ids: Iterable[str], *, under: bool = True) -> list[int]:
        """Remove documents, or units by id, with or without the units under them; return the rows removed."""
        given = json.dumps(list(ids))
        match = "{} IN (SELECT value FROM json_each(:ids))"
        where = " OR ".join(match.format(column) for column in ("id", "parent_id", "document_id")[: 3 if under else 1])
        rows = self._execute(f"DELETE FROM units WHERE {where} RETURNING row", {"ids": given}).fetchall()  # noqa: S608
        self._execute(f"DELETE FROM documents WHERE {match.format('id')}", {"ids": given})  # noqa: S608
        return [row for (row,) in rows]

    def clear(self) -> None:
        """Remove everything, and forget encoder and dimension."""
        for statement in ("FROM units", "FROM documents", "FROM meta WHERE key IN ('encoder', 'dim')"):
            self._execute(f"DELETE {statement}")

    def copy_to(self, folder: Path) -> None:
        """Make another folder a copy of this database. It holds its former content until the copy is complete."""
        check_folder(folder)
        for kind in Granularity:
            (folder / f"{kind}.json").unlink(missing_ok=True)  # index caches of the former content count no longer
        target = sqlite3.connect(folder / FILE)
        try:
            self._connection.backup(target)
        except sqlite3.Error as error:
            message = f"cannot copy the store to {folder}: {error}"
            raise StoreError(message) from error
        finally:
            target.close()

    def _execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(sql, parameters)
        except sqlite3.Error as error:
            message = f"the store at {self.path or 'memory'} failed: {error}"
            if "locked" in str(error):
                message += ". Another process has been writing for 30 seconds: try again when it is done"
            raise StoreError(message) from error


def to_json(metadata: Metadata) -> str:
    """Return metadata as JSON that reads back equal.

    Raises:
        InvalidInputError: A value that JSON would change or cannot hold; says which key.
    """
    for key, value in metadata.items():
        try:
            same = isinstance(key, str) and json.loads(json.dumps(value, allow_nan=False)) == value
        except (TypeError, ValueError):
            same = False
        if not same:
            message = (
                f"metadata[{key!r}] = {value!r} would not come back from JSON unchanged: "
                "use strings as keys, and strings, numbers, booleans, None, lists or dicts as values"
            )
            raise InvalidInputError(message)
    return json.dumps(dict(metadata))


def _unit(row: Sequence[Any]) -> Unit:
    own, text, kind, document_id, parent_id, start, end, title, section, metadata = row
    return Unit(own, text, Granularity(kind), document_id, parent_id, start, end, title, section, json.loads(metadata))


def check_folder(path: Path) -> None:
    """Refuse what is no store, and make the folder if it is absent."""
    if path.exists() and not path.is_dir():
        message = f"{path} is a file: a store is a folder"
        raise StoreFormatError(message)
    if path.is_dir() and any(path.iterdir()) and not (path / FILE).exists():
        message = f"{path} holds files but no {FILE}: it is not a store. Give an empty or new folder"
        raise StoreFormatError(message)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the folder {path} for a store: {error.strerror}"
        raise StoreError(message) from error
