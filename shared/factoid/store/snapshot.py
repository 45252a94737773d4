"""What a store holds at one generation, read through one connection."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.filters import (
    All,
    AnyOf,
    Comparison,
    Filter,
    Not,
    Tree,
    mismatch,
    parse_filter,
    select_metadata,
    select_mismatches,
)
from factoid.index import RowIds
from factoid.search import Columns
from factoid.store.records import FROM_UNITS, UNIT, DamagedRowError, digest, to_array, to_document, to_unit
from factoid.units import Document, Granularity, Unit

_BLOCK = 10_000  # vectors read at a time


@dataclass(frozen=True, slots=True)
class Delta:
    """What has changed since an earlier generation: units to be forgotten, and units to be known."""

    removed: RowIds
    added: Columns


class Snapshot:
    """One generation of a store.

    Args:
        connection: Lent by `Connections.reading`, and only for as long.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def get(self, key: str) -> Any:
        """Return a value of the store's own record, or None."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return row[0] if row else None

    @property
    def generation(self) -> int:
        """A number that every committed write raises, by any process.

        The steps are random: a database that was put back from a backup and written to again does not come by the
        number of an index that was built before.
        """
        return int(self.get("generation"))

    # Units and documents

    def units(self, rows: Sequence[int]) -> dict[int, Unit]:
        """Return units by row."""
        sql = f"SELECT units.row, {UNIT} FROM {FROM_UNITS} WHERE units.row IN (SELECT value FROM json_each(?))"  # noqa: S608
        return {row: to_unit(rest) for row, *rest in self._rows(sql, [to_array(rows)])}

    def units_by_id(self, ids: Sequence[str]) -> list[Unit]:
        """Return the units that are there, in the order of the ids."""
        sql = f"SELECT {UNIT} FROM {FROM_UNITS} WHERE units.id IN (SELECT value FROM json_each(?))"  # noqa: S608
        found = {row[0]: to_unit(row) for row in self._rows(sql, [to_array(ids)])}
        return [found[own] for own in ids if own in found]

    def all_units(self) -> Iterator[tuple[Unit, int | None]]:
        """Yield all units, oldest first, each with the row of its vector."""
        sql = f"SELECT units.vector, {UNIT} FROM {FROM_UNITS} ORDER BY units.row"  # noqa: S608
        for vector, *rest in self.connection.execute(sql):
            yield to_unit(rest), vector

    def ids(self, condition: Filter) -> list[str]:
        """Return the ids of all units whose metadata pass a filter, oldest first."""
        sql = "SELECT id FROM units WHERE metadata IN (SELECT value FROM json_each(?)) ORDER BY row"
        return [own for (own,) in self._rows(sql, [to_array(self.passing(condition).tolist())])]

    def document(self, own: str) -> Document | None:
        """Return a document by id; None for one of which only units were added."""
        sql = "SELECT text, title, section, id, metadata FROM documents WHERE id = ? AND text IS NOT NULL"
        rows = self._rows(sql, [own])
        return to_document(rows[0]) if rows else None

    def documents(self, rows: Sequence[int]) -> dict[int, tuple[str, Document | None]]:
        """Return the id of each document by row, and the document where its text is here."""
        sql = """SELECT row, text, title, section, id, metadata FROM documents
            WHERE row IN (SELECT value FROM json_each(?))"""
        return {
            row: (rest[3], None if rest[0] is None else to_document(rest))
            for row, *rest in self._rows(sql, [to_array(rows)])
        }

    def all_documents(self) -> Iterator[tuple[Document, str]]:
        """Yield all documents whose texts are here, each with the digest of how it was added."""
        sql = "SELECT digest, text, title, section, id, metadata FROM documents WHERE text IS NOT NULL ORDER BY row"
        for recipe, *rest in self.connection.execute(sql):
            yield to_document(rest), recipe

    def digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the digests of the documents that are stored."""
        sql = "SELECT id, digest FROM documents WHERE text IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
        return dict(self._rows(sql, [to_array(ids)]))

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        rows = self._rows("SELECT granularity, count(*) FROM units GROUP BY granularity")
        try:
            return {Granularity(name): count for name, count in rows}
        except InvalidInputError as error:
            raise DamagedRowError([name for name, _ in rows], what="granularities") from error

    def searched(self) -> tuple[Granularity, ...]:
        """Return the granularities of which there are units with vectors, the coarsest first."""
        sql = "SELECT EXISTS (SELECT 1 FROM units WHERE granularity = ? AND vector IS NOT NULL)"
        return tuple(kind for kind in Granularity if self._rows(sql, [kind])[0][0])

    # Filters

    def passing(self, condition: Filter) -> RowIds:
        """Return the rows of the distinct metadata that pass a filter."""
        if callable(condition):
            rows = self._rows("SELECT row, json FROM metadata ORDER BY row")
            return _ids(row for row, metadata in rows if condition(json.loads(metadata)))
        return _ids(row for (row,) in self._rows(*select_metadata(to_tree(condition))))

    def mismatch(self, tree: Tree) -> tuple[Comparison, Any] | None:
        """Return a comparison that Python could not make with some stored value, and that value; None if there is none."""
        sql, given = select_mismatches(tree)
        rows = self._rows(f"SELECT json FROM metadata WHERE row = (SELECT metadata FROM ({sql}) LIMIT 1)", given)  # noqa: S608
        metadata = json.loads(rows[0][0]) if rows else {}
        leaf = mismatch(tree, metadata)
        return None if leaf is None else (leaf, metadata[leaf.key])

    def document_rows(self, ids: Sequence[str]) -> RowIds:
        """Return the rows of the documents with these ids."""
        sql = "SELECT row FROM documents WHERE id IN (SELECT value FROM json_each(?))"
        return _ids(row for (row,) in self._rows(sql, [to_array(ids)]))

    def unit_rows(self, ids: Sequence[str]) -> RowIds:
        """Return the rows of the units with these ids, and of the units right under them."""
        sql = """SELECT row FROM units WHERE id IN (SELECT value FROM json_each(:ids)) UNION
            SELECT row FROM units WHERE parent_id IN (SELECT value FROM json_each(:ids)) AND granularity <> 'passage'"""
        return _ids(row for (row,) in self.connection.execute(sql, {"ids": to_array(ids)}))

    # Vectors

    @property
    def dtype(self) -> np.dtype[Any]:
        """How vectors are kept."""
        return np.dtype(self.get("dtype") or "float32")

    def vectors(self, rows: RowIds) -> Vectors:
        """Return vectors by row, in the order of the rows. Shape: (n, dim).

        Raises:
            StoreFormatError: A row that is not there, or a vector that is not what was written.
        """
        sql = "SELECT row, vector, digest FROM vectors WHERE row IN (SELECT value FROM json_each(?))"
        found = {
            row: vector for row, vector, kept in self._rows(sql, [to_array(rows.tolist())]) if digest(vector) == kept
        }
        if len(found) < len(rows) and (gone := set(rows.tolist()) - found.keys()):
            raise DamagedRowError(min(gone), what="vector")
        flat = np.frombuffer(b"".join([found[row] for row in rows.tolist()]), self.dtype)
        return flat.reshape(len(rows), -1).astype(np.float32, copy=False)

    def vector_rows(self, granularity: Granularity) -> RowIds:
        """Return the rows of the distinct vectors of a granularity, ascending."""
        sql = "SELECT vector FROM units WHERE granularity = ? AND vector IS NOT NULL"
        return _ids(row for (row,) in self.connection.execute(sql, [granularity]))

    def vector_blocks(self, rows: RowIds) -> Iterator[tuple[RowIds, Vectors]]:
        """Yield vectors by row in blocks of bounded size. Shapes: (n,), (n, dim)."""
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            yield block, self.vectors(block)

    def vectors_by_id(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the units that have one. Shape of each: (dim,)."""
        sql = """SELECT units.id, vectors.vector FROM units JOIN vectors ON vectors.row = units.vector
            WHERE units.id IN (SELECT value FROM json_each(?))"""
        kept = self.dtype
        return {own: np.frombuffer(blob, kept).astype(np.float32) for own, blob in self._rows(sql, [to_array(ids)])}

    def neighbours(self, document: str, granularity: Granularity, start: int, end: int, count: int) -> list[Unit]:
        """Return the units of a document that overlap a span, with as many before and after, in order of the text."""
        sql = f"""SELECT {UNIT} FROM {FROM_UNITS} WHERE units.document = (SELECT row FROM documents WHERE id = :document)
            AND units.granularity = :kind AND """  # noqa: S608
        given = {"document": document, "kind": granularity, "start": start, "end": end, "count": count}
        before = self._rows(f'{sql} units."end" <= :start ORDER BY units.start DESC LIMIT :count', given)
        within = self._rows(f'{sql} units."end" > :start AND units.start < :end ORDER BY units.start', given)
        after = self._rows(f"{sql} units.start >= :end ORDER BY units.start LIMIT :count", given)
        return [to_unit(row) for row in (*reversed(before), *within, *after)]

    # What indexes are made of

    def columns(self, granularity: Granularity) -> Columns:
        """Return what a search must know of all units of a granularity that have vectors."""
        return self._columns(granularity, "units.granularity = :kind", {})

    def follows(self, generation: int) -> bool:
        """Tell whether this is the same store as at an earlier generation, with more written to it, and not filled anew."""
        return bool(self._rows("SELECT 1 FROM commits WHERE generation = ?", [generation]))

    def delta(self, granularity: Granularity, since: int) -> Delta | None:
        """Return what has changed since a generation that this one follows, or None if that is not known any more."""
        if since < int(self.get("forgotten") or 0):
            return None
        commit = self.connection.execute("SELECT last FROM commits WHERE generation = ?", [since]).fetchone()
        if commit is None:
            return None
        changed = [row for (row,) in self._rows("SELECT DISTINCT row FROM changes WHERE generation > ?", [since])]
        where = """units.granularity = :kind AND units.row IN (
            SELECT row FROM units WHERE row > :last UNION SELECT value FROM json_each(:changed))"""
        added = self._columns(granularity, where, {"last": commit[0], "changed": to_array(changed)})
        return Delta(_ids(changed), added)

    def _columns(self, granularity: Granularity, where: str, given: Mapping[str, Any]) -> Columns:
        parent, join = "units.row", ""
        if granularity is not Granularity.PASSAGE:
            parent = "coalesce(passages.row, units.row)"
            join = "LEFT JOIN units AS passages ON passages.id = units.parent_id AND +passages.granularity = 'passage'"
        sql = f"""SELECT units.vector, units.row, {parent}, units.document, units.metadata FROM units {join}
            WHERE {where} AND units.vector IS NOT NULL"""  # noqa: S608
        rows = self.connection.execute(sql, {"kind": granularity, **given})
        table = np.fromiter((value for row in rows for value in row), dtype=np.int64).reshape(-1, 5)
        names = ("vectors", "rows", "parents", "documents", "metadata")
        return Columns.from_arrays(**dict(zip(names, table.T, strict=True)))

    def _rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, parameters).fetchall()


def to_tree(condition: Mapping[str, Any] | Tree) -> Tree:
    """Return a filter as a tree.

    Raises:
        InvalidInputError: It is none, or one without meaning.
    """
    if isinstance(condition, Comparison | All | AnyOf | Not):
        return condition
    return parse_filter(condition)


def _ids(rows: Iterable[int]) -> RowIds:
    return np.unique(np.fromiter(rows, dtype=np.int64))
