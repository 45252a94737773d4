"""The truth of a store: documents, units, metadata and vectors in one SQLite file (DESIGN: WAL, JSON, blobs).

Row ids are never reused; FAISS knows vectors by them. Every write that commits raises the generation, by which indexes
see whether they are up to date. All methods are to be called under the store's lock.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreError
from factoid.filters import Filter, compile_filter, metadata_equals
from factoid.index import RowIds
from factoid.propositions.decompose import UNCOVERED, UNSUPPORTED
from factoid.schema import FILE, connect, explain
from factoid.units import Document, Granularity, Metadata, Unit

__all__ = ["FILE", "Database", "to_json"]

_COLUMNS = 'id, text, granularity, document_id, parent_id, start, "end", title, section, metadata'


class Database:
    """One SQLite connection.

    Args:
        path: The store's folder, made if absent; None for a database in memory.

    Raises:
        StoreError: See `factoid.schema.connect`.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._connection = connect(path)
        self._connection.create_function("metadata_equals", 2, metadata_equals, deterministic=True)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # Reading

    def get(self, key: str) -> Any:
        """Return a value of the store's own record, or None."""
        rows = self._rows("SELECT value FROM meta WHERE key = ?", [key])
        return rows[0][0] if rows else None

    @property
    def generation(self) -> int:
        """A number that every committed write raises, by any process.

        The steps are random: a database that was put back from a backup and written to again does not come by the
        number of an index that was built before.
        """
        return int(self.get("generation"))

    def digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the digests of the documents that are stored."""
        sql = "SELECT id, digest FROM documents WHERE id IN (SELECT value FROM json_each(?))"
        return dict(self._rows(sql, [_array(ids)]))

    def document(self, own: str) -> Document | None:
        """Return a document by id."""
        rows = self._rows("SELECT text, title, section, id, metadata FROM documents WHERE id = ?", [own])
        if not rows:
            return None
        text, title, section, own, metadata = rows[0]
        return Document(text, title, section, own, json.loads(metadata))

    def units(self, rows: Sequence[int]) -> dict[int, Unit]:
        """Return units by row."""
        sql = f"SELECT row, {_COLUMNS} FROM units WHERE row IN (SELECT value FROM json_each(?))"  # noqa: S608
        return {row: _unit(rest) for row, *rest in self._rows(sql, [_array(rows)])}

    def units_by_id(self, ids: Sequence[str]) -> list[Unit]:
        """Return the units that are there, in the order of the ids."""
        sql = f"SELECT {_COLUMNS} FROM units WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608
        found = {row[0]: _unit(row) for row in self._rows(sql, [_array(ids)])}
        return [found[own] for own in ids if own in found]

    def vectors_by_id(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the units that have one. Shape of each: (dim,)."""
        sql = "SELECT id, vector FROM units WHERE vector IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
        return {own: np.frombuffer(blob, np.float32) for own, blob in self._rows(sql, [_array(ids)])}

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        rows = self._rows("SELECT granularity, count(*) FROM units GROUP BY granularity")
        return {Granularity(name): count for name, count in rows}

    def vectors(self, granularity: Granularity) -> Iterator[tuple[RowIds, Vectors]]:
        """Yield rows and vectors in blocks. Shapes: (n,), (n, dim)."""
        sql = """SELECT row, vector FROM units WHERE granularity = ? AND vector IS NOT NULL AND row > ?
            ORDER BY row LIMIT 10000"""
        last = 0
        while block := self._rows(sql, [granularity, last]):
            last = block[-1][0]
            rows = np.array([row for row, _ in block], dtype=np.int64)
            yield rows, np.stack([np.frombuffer(vector, dtype=np.float32) for _, vector in block])

    def parents(self, rows: Sequence[int]) -> dict[int, int]:
        """Map rows of units to the rows of their passages; a unit without a stored passage is its own parent."""
        sql = """SELECT units.row, coalesce(passages.row, units.row) FROM units
            LEFT JOIN units AS passages ON passages.id = units.parent_id AND passages.granularity = 'passage'
            WHERE units.row IN (SELECT value FROM json_each(?))"""
        return dict(self._rows(sql, [_array(rows)]))

    def children(self, parents: Sequence[int], granularity: Granularity) -> dict[int, int]:
        """Map the rows of all units of a granularity under these parents to the parents' rows."""
        # CROSS JOIN and the plus sign keep SQLite from walking over all units of the granularity.
        sql = """WITH parents AS (SELECT value AS row FROM json_each(:parents))
            SELECT units.row, passages.row FROM parents
            CROSS JOIN units AS passages ON passages.row = parents.row
            CROSS JOIN units ON units.parent_id = passages.id
            WHERE +units.granularity = :granularity AND units.vector IS NOT NULL
            UNION SELECT units.row, units.row FROM parents CROSS JOIN units ON units.row = parents.row
            WHERE +units.granularity = :granularity AND units.vector IS NOT NULL"""
        return dict(self._rows(sql, {"parents": _array(parents), "granularity": granularity}))

    def matching(self, granularity: Granularity, condition: Filter) -> RowIds:
        """Return the rows of the units of a granularity whose metadata pass a filter."""
        rows = self._passing("row", "granularity = ? AND vector IS NOT NULL", [granularity], condition)
        return np.array(rows, dtype=np.int64)

    def ids(self, condition: Filter) -> list[str]:
        """Return the ids of all units whose metadata pass a filter, oldest first."""
        return self._passing("id", "1", [], condition)

    def _passing(self, column: str, where: str, parameters: list[Any], condition: Filter) -> list[Any]:
        if callable(condition):
            rows = self._rows(f"SELECT {column}, metadata FROM units WHERE {where} ORDER BY row", parameters)  # noqa: S608
            return [value for value, metadata in rows if condition(json.loads(metadata))]
        sql, more = compile_filter(condition)
        rows = self._rows(f"SELECT {column} FROM units WHERE {where} AND {sql} ORDER BY row", [*parameters, *more])  # noqa: S608
        return [value for (value,) in rows]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read one generation throughout the block, whatever other processes commit meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        self._execute("BEGIN")
        try:
            yield
        finally:
            self._execute("COMMIT")

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[tuple[int, int]]:
        """Commit all writes of the block as one generation, or none of them. Yields the generations before and after."""
        self._execute("BEGIN IMMEDIATE")
        try:
            before = self.generation
            after = before + 1 + secrets.randbelow(1 << 31)
            yield before, after
            self.put("generation", after)
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
        """Insert units that are not there; return their rows. `vectors` gives the vector of the nth unit.

        Raises:
            InvalidInputError: An id with a NUL byte, a text with lone surrogates, or metadata that JSON cannot hold.
        """
        sql = "INSERT INTO units VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        rows = []
        for index, unit in enumerate(units):
            if "\0" in unit.id + unit.parent_id + unit.document_id:
                message = f"the id of a unit or of its parent or document holds a NUL byte: {unit.id!r}"
                raise InvalidInputError(message)
            values = [unit.id, unit.text, unit.granularity, unit.document_id, unit.parent_id, unit.start, unit.end]
            values += [unit.title, unit.section, to_json(unit.metadata)]
            rows.append(int(self._execute(sql, [*values, vectors(index)]).lastrowid or 0))
        return rows

    def remove(self, ids: Iterable[str], *, under: bool = True) -> list[int]:
        """Remove documents, or units by id, with or without the units under them; return the rows removed."""
        given = {"ids": _array(ids)}
        match = "{} IN (SELECT value FROM json_each(:ids))"
        where = " OR ".join(match.format(column) for column in ("id", "parent_id", "document_id")[: 3 if under else 1])
        rows = self._rows(f"DELETE FROM units WHERE {where} RETURNING row, document_id", given)  # noqa: S608
        self._execute(f"DELETE FROM documents WHERE {match.format('id')}", given)  # noqa: S608
        # A document that has lost a unit is no longer what was added: adding it again restores it.
        changed = {"ids": _array({document_id for _, document_id in rows})}
        self._execute(f"UPDATE documents SET digest = '' WHERE {match.format('id')}", changed)  # noqa: S608
        return [row for row, _ in rows]

    def stored(self, ids: Iterable[str]) -> list[str]:
        """Return those of the ids under which a unit is stored."""
        return [
            own
            for (own,) in self._rows("SELECT id FROM units WHERE id IN (SELECT value FROM json_each(?))", [_array(ids)])
        ]

    def clear(self) -> None:
        """Remove everything, and forget encoder and dimension."""
        cache = self._rows("SELECT name FROM sqlite_master WHERE name IN ('propositions', 'claims')")
        for table in ("units", "documents", "meta WHERE key IN ('encoder', 'dim')", *(name for (name,) in cache)):
            self._execute(f"DELETE FROM {table}")  # noqa: S608

    def forget_failures(self) -> int:
        """Make documents with passages that fell back to their sentences count as changed; return their number."""
        sql = """UPDATE documents SET digest = '' WHERE id IN (SELECT document_id FROM units
            WHERE granularity = 'proposition' AND json_extract(metadata, '$.fallback') NOT IN (?, ?))"""
        return self._execute(sql, [UNCOVERED, UNSUPPORTED]).rowcount

    def copy_to(self, folder: Path) -> None:
        """Make another folder a copy of this database. It holds its former content until the copy is complete."""
        with closing(connect(folder)) as target:
            for kind in Granularity:
                (folder / f"{kind}.json").unlink(missing_ok=True)  # index caches of the former content count no longer
            try:
                self._connection.backup(target)
            except sqlite3.Error as error:
                message = f"cannot copy the store to {folder}: {explain(error)}"
                raise StoreError(message) from error

    def _rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        with self._failures():
            return self._connection.execute(sql, parameters).fetchall()

    def _execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> sqlite3.Cursor:
        with self._failures():
            return self._connection.execute(sql, parameters)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"the store at {self.path or 'memory'} failed: {explain(error)}"
            raise StoreError(message) from error
        except UnicodeEncodeError as error:
            message = f"a text, an id or a filter holds a lone surrogate, {error.object[error.start]!r}: it was decoded wrongly"
            raise InvalidInputError(message) from error


def _array(values: Iterable[Any]) -> str:
    """Return rows or ids for json_each, which reads strings up to a NUL only: no id that is stored holds one."""
    return json.dumps([value for value in values if not (isinstance(value, str) and "\0" in value)])


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
