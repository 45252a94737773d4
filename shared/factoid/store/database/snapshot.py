"""The content of a store at one generation, read through one connection."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from operator import itemgetter
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.filters import Condition, parse_metadata, passing_rows, says_kinds
from factoid.heading_template import (
    EMBED_TEMPLATE,
    check_metadata_keys,
    check_template,
    with_metadata,
)
from factoid.metadata import KIND
from factoid.ranking import LEXICAL, Columns
from factoid.ranking.columns import starts_of_runs
from factoid.store.database.records import DamagedRowError, to_array
from factoid.store.database.unit_columns import FROM_UNITS, UNIT
from factoid.store.database.vector_file import VectorFile, VectorFiles, checked_name
from factoid.units import Document, Granularity, Metadata, Unit
from factoid.vectors import RowIds

DOCUMENT = "checksum, id, text, title, section, metadata"
AMONG = "IN (SELECT value FROM json_each(?))"

# A unit is under a passage if it names the passage as its parent and both are of one document.
_UNDER = """passages.id = units.parent_id AND +passages.granularity = 'passage'
    AND +passages.document = units.document"""

_BLOCK = 10_000  # vectors read at a time
_UNITS = 1_000  # units with vectors, the same
_NUMBERS = ("generation", "units", "dim", "logged", "forgotten")  # in `meta`
_TEXTS = (
    "settings",
    "dtype",
    "embed_template",
    "embed_metadata",
    "late_chunking",
    "encoder",
    "vectors",
)
_HIGHEST = 1 << 62

# The digest of a document that is cut again when it comes again: its units were given, not cut, it
# was changed in the store, or a passage of it failed.
NO_DIGEST = ""
# The digest of a document from which units were deleted, since its text still holds them.
INCOMPLETE = "incomplete"
# Faster than calling the enumeration for each unit.
_BY_NAME = {str(granularity): granularity for granularity in Granularity}

# Tells which units are allowed from their rows and the rows of their metadata, both of shape (n,).
Allowed = Callable[[RowIds, RowIds], NDArray[np.bool_]]


class StoredUnit(NamedTuple):
    """A unit and its vector of shape (dim,), or None if it has none."""

    unit: Unit
    vector: Vectors | None


@dataclass
class Snapshot:
    """One generation of a store, through a connection lent by `Connections.reading`."""

    connection: sqlite3.Connection
    vector_files: VectorFiles

    @cached_property
    def meta(self) -> dict[str, Any]:
        """Facts about the store by name.

        They are its generation, settings, encoder, template and dimension.
        """
        meta = dict(self.connection.execute("SELECT key, value FROM meta").fetchall())
        if meta.pop("checksum", None) != checksum(*sorted(meta.items(), key=repr)):
            raise DamagedRowError(sorted(map(str, meta)), what="the record of")
        _check_meta(meta)
        if meta.get("vectors") is not None:
            # Opened at the beginning: another process may compact the store meanwhile.
            with suppress(DamagedRowError):
                self.vector_files.get(
                    checked_name(meta["vectors"]),
                    int(meta.get("dim") or 0),
                    np.dtype(meta.get("dtype") or "float32"),
                )
        return meta

    @property
    def generation(self) -> int:
        """A number that every commit raises by a random step.

        So a database restored from a backup gets others.
        """
        return int(self.meta["generation"])

    @property
    def embed_metadata(self) -> tuple[str, ...]:
        """The keys of metadata that are encoded with the text of a unit."""
        return metadata_keys(self.meta.get("embed_metadata"))

    @property
    def template(self) -> str:
        """The template of the text that is encoded for a unit, with those keys."""
        return with_metadata(self.meta.get("embed_template") or EMBED_TEMPLATE, self.embed_metadata)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type in which vectors are stored."""
        return np.dtype(self.meta.get("dtype") or "float32")

    def units(self, rows: Sequence[int]) -> dict[int, Unit]:
        """Return units by row."""
        sql = f"SELECT {UNIT} FROM {FROM_UNITS} WHERE units.row {AMONG}"  # noqa: S608
        stored = self.connection.execute(sql, [json.dumps(rows)]).fetchall()
        return dict(zip(map(itemgetter(1), stored), to_units(stored), strict=True))

    def units_by_id(self, ids: Sequence[str]) -> list[Unit]:
        """Return the stored units, in the order of the ids."""
        sql = f"SELECT {UNIT} FROM {FROM_UNITS} WHERE units.id {AMONG}"  # noqa: S608
        stored = self.connection.execute(sql, [to_array(ids)])
        units = {unit.id: unit for unit in to_units(stored)}
        return [units[unit_id] for unit_id in ids if unit_id in units]

    def stored_units(self, document_ids: Sequence[str] | None = None) -> Iterator[StoredUnit]:
        """Yield all units with their vectors, or those of some documents, oldest first."""
        chosen = ""
        parameters = []
        if document_ids is not None:
            chosen = f"WHERE documents.id {AMONG}"
            parameters = [to_array(document_ids)]
        sql = f"SELECT {UNIT} FROM {FROM_UNITS} {chosen} ORDER BY units.row"  # noqa: S608
        stored = self.connection.execute(sql, parameters)
        while rows := stored.fetchmany(_UNITS):
            vector_rows = [row[2] for row in rows if row[2] is not None]
            vectors: Iterator[Vectors] = iter(())
            if vector_rows:
                vectors = iter(self._finite_vectors(vector_rows))
            for row, unit in zip(rows, to_units(rows), strict=True):
                vector = None
                if row[2] is not None:
                    vector = next(vectors)
                yield StoredUnit(unit, vector)

    def ids(self, after: int = 0, limit: int | None = None) -> list[str]:
        """Return the ids of units after a row, oldest first, as many as are wanted."""
        sql = "SELECT id FROM units WHERE row > ? ORDER BY row LIMIT ?"
        return self.values(sql, [after, _limit(limit)])

    def unit_metadata(
        self, ids: Sequence[str] | None = None, *, after: int = 0, limit: int | None = None
    ) -> tuple[list[str], RowIds, RowIds]:
        """Return the ids, rows and rows of metadata of units, oldest first.

        They are all units, or some by id, that are after a row, as many as are wanted.
        Shapes: (n,).
        """
        chosen = "row > ?"
        parameters: list[int | str] = [after]
        if ids is not None:
            chosen += f" AND id {AMONG}"
            parameters.append(to_array(ids))
        sql = f"""SELECT id, row, metadata FROM units WHERE {chosen}
            ORDER BY row LIMIT ?"""  # noqa: S608
        units = self.connection.execute(sql, [*parameters, _limit(limit)]).fetchall()
        unit_ids = [row[0] for row in units]
        rows = np.fromiter(map(itemgetter(1), units), np.int64, len(units))
        metadata = np.fromiter(map(itemgetter(2), units), np.int64, len(units))
        return unit_ids, rows, metadata

    def document_metadata(self, rows: Sequence[int]) -> tuple[RowIds, RowIds]:
        """Return the rows of metadata of all units of some documents.

        The first array has the document of each, the second the metadata. Shapes: (n,).
        """
        sql = f"SELECT DISTINCT document, metadata FROM units WHERE document {AMONG}"  # noqa: S608
        pairs = self.connection.execute(sql, [to_array(rows)]).fetchall()
        owners, metadata = np.array(pairs, np.int64).reshape(-1, 2).T
        return owners, metadata

    def documents(self, rows: Sequence[int]) -> dict[int, tuple[str, Document | None]]:
        """Return the id of each document by row, and the document if its text is stored."""
        sql = f"SELECT row, {DOCUMENT} FROM documents WHERE row {AMONG}"  # noqa: S608
        documents = {}
        for row, *columns in self.connection.execute(sql, [to_array(rows)]):
            documents[row] = (columns[1], to_document(columns))
        return documents

    def documents_by_id(self, ids: Iterable[str]) -> dict[str, tuple[Document, str]]:
        """Return the documents whose texts are stored, each with the digest of how it was added."""
        sql = f"SELECT digest, {DOCUMENT} FROM documents WHERE id {AMONG}"  # noqa: S608
        stored = self._documents(sql, [to_array(ids)])
        return {document.id: (document, digest) for document, digest in stored}

    def all_documents(self) -> Iterator[tuple[Document, str]]:
        """Yield all documents whose texts are stored, each with the digest of how it was added."""
        sql = f"SELECT digest, {DOCUMENT} FROM documents ORDER BY row"  # noqa: S608
        return self._documents(sql)

    def whole_documents(self, passages: Sequence[int]) -> dict[int, int]:
        """Return the rows of documents that consist of one passage, by the passage's row.

        Only documents whose text is stored count.
        """
        sql = f"""SELECT units.row, documents.row
            FROM units JOIN documents ON documents.row = units.document
            WHERE units.row {AMONG} AND units.granularity = 'passage'
            AND documents.text IS NOT NULL AND documents.digest <> ?
            AND NOT EXISTS (SELECT 1 FROM units AS others
                WHERE others.document = units.document AND others.granularity = 'passage'
                AND others.row <> units.row)"""  # noqa: S608
        return dict(self.connection.execute(sql, [to_array(passages), INCOMPLETE]).fetchall())

    def digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the digests of the stored documents."""
        sql = f"""SELECT id, digest FROM documents
            WHERE text IS NOT NULL AND id {AMONG}"""  # noqa: S608
        return dict(self.connection.execute(sql, [to_array(ids)]).fetchall())

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        sql = "SELECT granularity, count(*) FROM units GROUP BY granularity"
        counts = dict(self.connection.execute(sql).fetchall())
        return {name: counts[name] for name in Granularity if name in counts}

    def totals(self) -> dict[str, int]:
        """Count units, documents with a text, distinct vectors and distinct metadata."""
        sources = {
            "units": "",
            "documents": " WHERE text IS NOT NULL",
            "vectors": "",
            "metadata": "",
        }
        totals = {}
        for table, where in sources.items():
            [totals[table]] = self.values(f"SELECT count(*) FROM {table}{where}")  # noqa: S608
        return totals

    @property
    def granularities(self) -> tuple[Granularity, ...]:
        """The granularities that documents were last added at; none before any were."""
        names = self.meta.get("granularities", "")
        try:
            return tuple(Granularity(name) for name in names.split(",") if name)
        except ValueError as error:
            raise DamagedRowError("granularities", what="the record of") from error

    def encoded_granularities(self) -> tuple[Granularity, ...]:
        """Return the granularities that have units with vectors, coarsest first."""
        return tuple(filter(self.has_vectors, Granularity))

    def has_vectors(self, granularity: Granularity) -> bool:
        """Return whether a granularity has units with vectors."""
        sql = "SELECT 1 FROM units WHERE granularity = ? AND vector IS NOT NULL LIMIT 1"
        return bool(self.values(sql, [granularity]))

    def encoded_units(
        self,
        passage_ids: Sequence[str],
        granularity: Granularity,
        unit_ids: Sequence[str] | None,
        allowed: Allowed | None = None,
    ) -> list[Unit]:
        """Return the units directly under some passages, in order of the text.

        Only units that have vectors and are allowed are returned.
        """
        sql = f"""SELECT units.metadata, {UNIT} FROM {FROM_UNITS} JOIN units AS passages ON {_UNDER}
            WHERE passages.id IN (SELECT value FROM json_each(:passages))
            AND units.granularity = :granularity AND units.vector IS NOT NULL"""  # noqa: S608
        values = {"passages": to_array(passage_ids), "granularity": granularity}
        if unit_ids is not None:
            sql += " AND units.row IN (SELECT value FROM json_each(:chosen))"
            values["chosen"] = to_array(self.unit_rows(unit_ids).tolist())
        rows = self.connection.execute(f"{sql} ORDER BY units.start, units.row", values).fetchall()
        return _allowed_units(rows, allowed)

    def neighbours(
        self,
        document: str,
        granularity: Granularity,
        start: int,
        end: int,
        count: int,
        allowed: Allowed | None = None,
    ) -> list[Unit]:
        """Return the allowed units around a span of a document.

        They are the units that overlap it, and `count` units before and after. They come in order
        of the text.
        """
        sql = f"""SELECT units.metadata, {UNIT} FROM {FROM_UNITS}
            WHERE units.document = (SELECT row FROM documents WHERE id = :document)
            AND units.granularity = :granularity AND"""  # noqa: S608
        values = {
            "document": document,
            "granularity": granularity,
            "start": start,
            "end": end,
            "count": count,
        }
        before = self.connection.execute(
            f'{sql} units."end" <= :start ORDER BY units.start DESC LIMIT :count', values
        ).fetchall()
        within = self.connection.execute(
            f'{sql} units."end" > :start AND units.start < :end ORDER BY units.start', values
        ).fetchall()
        after = self.connection.execute(
            f"{sql} units.start >= :end ORDER BY units.start LIMIT :count", values
        ).fetchall()
        return _allowed_units([*reversed(before), *within, *after], allowed)

    def values(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """Return the first column of a statement's result."""
        return [row[0] for row in self.connection.execute(sql, parameters)]

    def document_rows(self, ids: Sequence[str]) -> RowIds:
        """Return the rows of the documents with these ids."""
        sql = f"SELECT row FROM documents WHERE id {AMONG}"  # noqa: S608
        return ascending(self.values(sql, [to_array(ids)]))

    def document_ids(self, ids: Sequence[str]) -> dict[int, str]:
        """Return those of some ids that documents have, by row."""
        sql = f"SELECT row, id FROM documents WHERE id {AMONG}"  # noqa: S608
        return dict(self.connection.execute(sql, [to_array(ids)]).fetchall())

    def rows_with_texts(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of those of some documents whose texts are stored."""
        sql = f"SELECT row FROM documents WHERE text IS NOT NULL AND id {AMONG}"  # noqa: S608
        return self.values(sql, [to_array(ids)])

    def document_ids_with_texts(self, after: int = 0, limit: int | None = None) -> list[str]:
        """Return the ids of documents after a row whose texts are stored, oldest first.

        There are as many as are wanted.
        """
        sql = "SELECT id FROM documents WHERE text IS NOT NULL AND row > ? ORDER BY row LIMIT ?"
        return self.values(sql, [after, _limit(limit)])

    def document_ids_over(
        self, metadata: RowIds, after: int = 0, limit: int | None = None
    ) -> dict[int, str]:
        """Return the ids of documents after a row by their rows, as many as are wanted.

        Their texts are stored, and one of their units has one of some rows of metadata.
        """
        sql = f"""SELECT row, id FROM documents WHERE text IS NOT NULL AND row > ?
            AND EXISTS (SELECT 1 FROM units WHERE document = documents.row AND metadata {AMONG})
            ORDER BY row LIMIT ?"""  # noqa: S608
        parameters = [after, to_array(metadata.tolist()), _limit(limit)]
        return dict(self.connection.execute(sql, parameters).fetchall())

    def documents_where(self, condition: Condition) -> list[str]:
        """Return the ids of documents with a text and a unit that passes a filter, oldest first."""
        passing = to_array(passing_rows(self.connection, condition).tolist())
        sql = f"""SELECT id FROM documents WHERE text IS NOT NULL AND row IN
            (SELECT document FROM units WHERE metadata {AMONG}) ORDER BY row"""  # noqa: S608
        return self.values(sql, [passing])

    def unit_rows(self, ids: Sequence[str]) -> RowIds:
        """Return the rows of the units with these ids, and of the units directly under them.

        Units under them are of the same document.
        """
        sql = """SELECT row FROM units WHERE id IN (SELECT value FROM json_each(:ids)) UNION
            SELECT units.row FROM units JOIN units AS parents ON parents.id = units.parent_id
            AND +parents.document = units.document
            WHERE parents.id IN (SELECT value FROM json_each(:ids))
            AND units.granularity <> 'passage'"""
        return ascending(self.values(sql, {"ids": to_array(ids)}))

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of the first units of documents, by the document's id."""
        sql = f"""SELECT min(units.row) FROM units JOIN documents ON documents.row = units.document
            WHERE documents.id {AMONG} GROUP BY units.document"""  # noqa: S608
        first_units = self.units(self.values(sql, [to_array(ids)]))
        return {unit.document_id: unit.title for unit in first_units.values()}

    def units_of_documents(self, ids: Sequence[str]) -> RowIds:
        """Return the rows of all units of the documents with these ids."""
        sql = f"""SELECT row FROM units
            WHERE document IN (SELECT row FROM documents WHERE id {AMONG})"""  # noqa: S608
        return ascending(self.values(sql, [to_array(ids)]))

    @property
    def vector_file(self) -> VectorFile:
        """The file of the vectors; DamagedRowError is raised if it is missing."""
        name = checked_name(self.meta.get("vectors"))
        return self.vector_files.get(name, int(self.meta.get("dim") or 0), self.dtype)

    def vectors(self, rows: RowIds) -> Vectors:
        """Return vectors by row, in that order; raise DamagedRowError if one is absent or changed.

        Shape: (n, dim).
        """
        return self.vector_file.read(rows).astype(np.float32, copy=False)

    def deleted_vectors(self) -> int:
        """Count the vectors of deleted units that are still in the file of vectors."""
        if self.meta.get("vectors") is None:
            return 0
        [present] = self.values("SELECT count(*) FROM vectors")
        return self.vector_file.count_to(self._last_row("vectors")) - int(present)

    def vector_rows(self) -> RowIds:
        """Return the rows of all vectors, ascending. Shape: (n,)."""
        rows = self.connection.execute("SELECT row FROM vectors ORDER BY row")
        return _table(rows, "vector", width=1)[:, 0]

    def write_vectors(self, out: IO[bytes]) -> None:
        """Write a file with the vectors of this generation, which takes the place of `vector_file`.

        Raises:
            DamagedRowError: One is missing.
        """
        self.vector_file.write_to(out, self.vector_rows(), self._last_row("vectors"))

    def vector_blocks(self, rows: RowIds) -> Iterator[tuple[RowIds, Vectors]]:
        """Yield vectors by row in blocks of bounded size. Shapes: (n,), (n, dim)."""
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            yield block, self.vectors(block)

    def vectors_by_id(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the units that have one. Shape of each: (dim,)."""
        sql = f"SELECT id, vector FROM units WHERE vector IS NOT NULL AND id {AMONG}"  # noqa: S608
        rows = self.connection.execute(sql, [to_array(ids)]).fetchall()
        if not rows:
            return {}
        vectors = self._finite_vectors([row for _, row in rows])
        return {unit_id: vector for (unit_id, _), vector in zip(rows, vectors, strict=True)}

    def _finite_vectors(self, rows: Sequence[object]) -> Vectors:
        """Return vectors by row; raise DamagedRowError if one is absent, changed or not finite.

        Shape: (n, dim).
        """
        for row in rows:
            if type(row) is not int:
                raise DamagedRowError(row, what="vector")
        vectors = np.array(self.vectors(np.array(rows, np.int64)))  # the caller may change them
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            raise DamagedRowError(rows[int(finite.argmin())], what="vector")
        return vectors

    def _last_row(self, table: str) -> int:
        """Return the last row number that a table used; numbers are never used twice."""
        numbers = self.values("SELECT seq FROM sqlite_sequence WHERE name = ?", [table])
        last = 0
        if numbers:
            last = numbers[0]
        if type(last) is not int or last < 0:
            raise DamagedRowError(table, what="the last row of")
        return last

    def unit_columns(self, name: str, where: str, parameters: Mapping[str, Any]) -> Columns:
        """Return the columns of the units of one index for which a condition holds.

        These are units of the granularity that the index is named after, with vectors; or for
        `LEXICAL` passages, also those without vectors, each with its own row as the id of its
        vector. In the condition, `:granularity` is the granularity.
        """
        granularity = name
        vector = "units.vector"
        if name == LEXICAL:
            granularity = Granularity.PASSAGE
            vector = "units.row"
        parent = "units.row"
        join = ""
        if granularity != Granularity.PASSAGE:
            parent = "coalesce(passages.row, units.row)"
            join = f"LEFT JOIN units AS passages ON {_UNDER}"
        sql = f"""SELECT {vector}, units.row, {parent}, units.document, units.metadata
            FROM units {join} WHERE {where} AND {vector} IS NOT NULL"""  # noqa: S608
        rows = self.connection.execute(sql, {"granularity": granularity, **parameters})
        return Columns.of(_table(rows, name, width=5).T)

    def passage_vectors(
        self, documents: RowIds | None = None
    ) -> tuple[RowIds, RowIds, RowIds, RowIds]:
        """Return the rows of passages, and for each its document, vector and metadata.

        The passages are all, or those of some documents. The vector is -1 for a passage without
        one. Shapes: (n,).
        """
        chosen = ""
        parameters = []
        if documents is not None:
            chosen = f"document {AMONG} AND"
            parameters = [to_array(documents.tolist())]
        sql = f"""SELECT row, document, coalesce(vector, -1), metadata FROM units
            WHERE {chosen} granularity = 'passage'"""  # noqa: S608
        rows = self.connection.execute(sql, parameters)
        passages, owners, vectors, metadata = _table(rows, "passage", width=4).T
        return passages, owners, vectors, metadata

    def all_document_rows(self) -> RowIds:
        """Return the rows of all documents. Shape: (n,)."""
        return ascending(self.values("SELECT row FROM documents"))

    def touched_passages(self, since: int, last: int) -> tuple[RowIds, RowIds] | None:
        """Return the units removed or altered since a commit, and the passages touched.

        Touched passages are new, altered or over such units. The result is None if the changes are
        no longer known; `last` is the last unit of that commit.
        """
        if since < int(self.meta.get("forgotten") or 0):
            return None
        changed = ascending(self.values("SELECT row FROM changes WHERE generation > ?", [since]))
        sql = f"""WITH touched AS (
                SELECT row FROM units WHERE row > :last UNION SELECT value FROM json_each(:changed)
            )
            SELECT row FROM units WHERE row IN touched AND granularity = 'passage' UNION
            SELECT passages.row FROM units JOIN units AS passages ON {_UNDER}
            WHERE units.row IN touched"""  # noqa: S608
        parameters = {"last": last, "changed": json.dumps(changed.tolist())}
        return changed, ascending(self.values(sql, parameters))

    @property
    def has_units_of_passages(self) -> bool:
        """Whether there are units beside passages."""
        sql = """SELECT 1 WHERE EXISTS (SELECT 1 FROM units WHERE granularity < 'passage')
            OR EXISTS (SELECT 1 FROM units WHERE granularity > 'passage')"""
        return bool(self.values(sql))

    def passage_metadata(self) -> tuple[RowIds, RowIds]:
        """Return the rows of all passages, and of their metadata. Shapes: (n,)."""
        # Only the index of documents is read.
        sql = """SELECT row, metadata FROM units INDEXED BY units_by_document
            WHERE granularity = 'passage'"""
        table = _table(self.connection.execute(sql), "passage", width=2)
        passages, metadata = table[np.argsort(table[:, 0])].T
        return passages, metadata

    def varied_passages(self, among: RowIds | None = None) -> Columns:
        """Return the passages over units with other metadata than their own, and these units.

        Units of all granularities count, whether they have vectors or not. Keys that say what a
        unit is make no difference. Each has its own row as the id of its vector.
        """
        if not self.has_units_of_passages:
            return Columns.empty()
        if among is None:
            chosen = f"units.document {AMONG}"
            rows = self._varied_documents()
        else:
            chosen = f"passages.row {AMONG}"
            rows = among
        sql = f"""SELECT units.row, units.metadata, passages.row, passages.metadata,
                passages.document
            FROM units JOIN units AS passages ON {_UNDER}
            WHERE units.granularity <> 'passage' AND units.metadata <> passages.metadata
            AND {chosen}"""  # noqa: S608
        pairs = self.connection.execute(sql, [json.dumps(rows.tolist())])
        table = _table(pairs, "passage", width=5)
        contents = self._contents(table[:, [1, 3]].ravel()).reshape(-1, 2)
        differs = contents[:, 0] != contents[:, 1]
        units, metadata, passages, of_passages, documents = table[differs].T
        over, first = np.unique(passages, return_index=True)
        under = np.stack([units, units, passages, documents, metadata])
        above = np.stack([over, over, over, documents[first], of_passages[first]])
        return Columns.of(np.hstack([under, above]))

    def _varied_documents(self) -> RowIds:
        """Return the documents with units beside passages that have several metadata.

        Only the index of documents is read.
        """
        sql = """SELECT document, metadata FROM units WHERE document IN (
                SELECT document FROM units GROUP BY document
                HAVING min(metadata) < max(metadata) AND max(granularity <> 'passage')
            ) ORDER BY document"""
        documents, metadata = _table(self.connection.execute(sql), "document", width=2).T
        contents = self._contents(metadata)
        _, first, which = np.unique(documents, return_index=True, return_inverse=True)
        return np.unique(documents[contents != contents[first][which]])

    def _contents(self, metadata: RowIds) -> RowIds:
        """Number rows of metadata.

        Rows that differ only in what a unit is have one number. Shape: (n,).
        """
        if not says_kinds(self.connection):
            return metadata  # the rows themselves: no two hold the same
        distinct, which = np.unique(metadata, return_inverse=True)
        parameters = ", ?" * len(KIND)
        sql = f"""SELECT
            CASE WHEN json_valid(json) THEN json_remove(json{parameters}) ELSE json END
            FROM metadata WHERE row {AMONG} ORDER BY row"""  # noqa: S608
        paths = [f'$."{key}"' for key in KIND]
        texts = self.values(sql, [*paths, json.dumps(distinct.tolist())])
        if len(texts) < len(distinct):
            raise DamagedRowError(int(distinct[0]), what="metadata of row")
        numbers = {text: number for number, text in enumerate(texts)}
        return np.array([numbers[text] for text in texts], np.int64)[which]

    def _documents(
        self, sql: str, parameters: Sequence[str] = ()
    ) -> Iterator[tuple[Document, str]]:
        for digest, *columns in self.connection.execute(sql, parameters):
            document = to_document(columns)
            if document is None:
                continue
            if not isinstance(digest, str):
                raise DamagedRowError(document.id, what="the digest of document")
            yield document, digest


def _limit(limit: int | None) -> int:
    """Return a limit as SQLite takes it: a negative one is none."""
    if limit is None:
        return -1
    return min(limit, _HIGHEST)


def _table(rows: Iterable[Sequence[int]], granularity: str, *, width: int) -> RowIds:
    """Return rows of integers as an array. Shape: (n, width)."""
    try:
        return np.fromiter(chain.from_iterable(rows), dtype=np.int64).reshape(-1, width)
    except (TypeError, ValueError, OverflowError) as error:
        raise DamagedRowError(str(granularity), what="an index entry of granularity") from error


def _allowed_units(rows: Sequence[Sequence[Any]], allowed: Allowed | None) -> list[Unit]:
    """Return the units of rows of `units.metadata` and `UNIT` that are allowed; None allows all."""
    if allowed is not None and rows:
        numbers = np.array([row[2] for row in rows], np.int64)
        metadata = np.array([row[0] for row in rows], np.int64)
        rows = list(compress(rows, allowed(numbers, metadata).tolist()))
    return to_units([row[1:] for row in rows])


def to_document(row: Sequence[Any]) -> Document | None:
    """Return the document of a row of `DOCUMENT`, or None if only its units were added."""
    written, document_id, text, title, section, metadata = row
    if text is None and not written:
        return None
    texts = (document_id, text, title, section, metadata)
    if checksum(*texts) != written or set(map(type, texts)) != {str}:
        raise DamagedRowError(document_id, what="document")
    return Document(text, title, section, document_id, _metadata(document_id, metadata))


def to_units(rows: Iterable[Sequence[Any]]) -> list[Unit]:
    """Return the units of rows of `UNIT`.

    Raises:
        DamagedRowError: A unit differs from what was written.
    """
    units = []
    parsed: dict[str, Metadata] = {}  # units of a document mostly have equal metadata
    rows = list(rows)
    contents = map(itemgetter(slice(1, None)), rows)
    for row, actual in zip(rows, checksums(contents), strict=True):
        # in the order of `UNIT_COLUMNS`
        written, _, _, start, end, unit_id, text, name, *origin = row
        document_id, parent_id, title, section, metadata, payload, visible = origin
        texts = (unit_id, text, document_id, parent_id, title, section, payload, visible)
        right = type(start) is type(end) is int and set(map(type, texts)) == {str}
        if actual != written or not right:
            raise DamagedRowError(unit_id, what="unit")
        granularity = _BY_NAME.get(name) or Granularity(name)
        place = (granularity, document_id, parent_id, start, end)
        unit_metadata = dict(parsed.get(metadata, {}))
        if not unit_metadata:
            unit_metadata = dict(_metadata(unit_id, metadata))
            if not any(isinstance(value, dict | list) for value in unit_metadata.values()):
                parsed[metadata] = unit_metadata  # a copy of it can be changed without changing it
        units.append(Unit(unit_id, text, *place, title, section, unit_metadata, payload, visible))
    return units


def _metadata(owner: str, text: str) -> Metadata:
    """Parse the metadata of a unit or document.

    Raises:
        DamagedRowError: The text is none that could have been written.
    """
    metadata = parse_metadata(text)
    if metadata is None:
        raise DamagedRowError(owner, what="the metadata of")
    return metadata


def checksum(*values: object) -> int:
    """Return the checksum of a row: SQLite does not notice a bit that flips within a value."""
    return zlib.crc32("\0".join(map(str, values)).encode())


def checksums(rows: Iterable[Sequence[object]]) -> list[int]:
    """Return the checksum of each row."""
    return [zlib.crc32("\0".join(map(str, row)).encode()) for row in rows]


def write_meta(connection: sqlite3.Connection, **values: str | int) -> None:
    """Set facts about the store, and update their checksum."""
    sql = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
    connection.executemany(sql, values.items())
    meta = connection.execute("SELECT key, value FROM meta WHERE key <> 'checksum'").fetchall()
    connection.execute(sql, ["checksum", checksum(*sorted(meta, key=repr))])


def _check_meta(meta: Mapping[str, Any]) -> None:
    """Raise DamagedRowError for facts of other types than a store writes.

    A stranger's checksum may be right.
    """
    for name in _NUMBERS:
        number = meta.get(name, 0)
        if type(number) is not int or not 0 <= number < _HIGHEST:
            raise DamagedRowError(name, what="the number")
    for name in _TEXTS:
        if not isinstance(meta.get(name), str | None):
            raise DamagedRowError(name, what="the text")
    is_complete = "generation" in meta and "units" in meta
    if not is_complete or meta.get("dtype") not in (None, "float32", "float16"):
        raise DamagedRowError(sorted(meta), what="the record of")
    try:
        check_template(meta.get("embed_template"))
        metadata_keys(meta.get("embed_metadata"))
    except (InvalidInputError, ValueError, TypeError, RecursionError) as error:
        raise DamagedRowError("embed_template", what="the text") from error


def metadata_keys(written: str | None) -> tuple[str, ...]:
    """Return the keys of `embed_metadata` from the JSON that a store keeps.

    None if it keeps nothing.
    """
    return check_metadata_keys(json.loads(written or "[]"))


def ascending(rows: Sequence[int]) -> RowIds:
    """Return some rows in order, each once.

    `numpy.unique` does the same, and first imports masked arrays, for 10 ms.
    """
    ordered = np.sort(np.array(rows, np.int64))
    return ordered[starts_of_runs(ordered)]
