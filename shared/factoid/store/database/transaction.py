"""Write to a store, as one generation."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors, to_matrix
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.filters import (
    DELETE_FIELD,
    INSERT_FIELD,
    Filter,
    field_rows,
    parse_metadata,
    passing_rows,
)
from factoid.propositions.decompose import UNCOVERED, UNSUPPORTED
from factoid.store.database.records import digest as vector_digest
from factoid.store.database.records import to_array, to_json
from factoid.store.database.snapshot import (
    AMONG,
    INCOMPLETE,
    NO_DIGEST,
    Snapshot,
    StoredUnit,
    checksum,
    to_units,
    write_meta,
)
from factoid.store.database.unit_columns import (
    DOCUMENT,
    FROM_UNITS,
    GRANULARITY,
    INSERT_UNIT,
    METADATA,
    ROW,
    UNIT,
    values_of,
)
from factoid.store.database.vector_file import VectorFiles, new_name, write_header
from factoid.units import Document, Granularity, Metadata, Unit, check_text

# Tables of rows that units share, and the column of `units` that names them: rows that no unit
# names are dropped.
_USES = {"documents": "document", "metadata": "metadata", "vectors": "vector"}

# Changes kept for readers of earlier generations, and commits. Beyond these, readers compare what
# they hold with the database.
_LOGGED = 200_000

_LIMIT = 1 << 63  # of whole numbers in SQLite
_PARAMETERS = 500  # of one statement
# The texts of a unit.
_TEXTS = ("id", "parent_id", "document_id", "text", "title", "section", "payload", "visible")
_texts_of = attrgetter(*_TEXTS)
# SQLite takes longer to bind a member of an enumeration than a string.
_NAMES = {kind: kind.value for kind in Granularity}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The units that a call deletes or changes, by one of these fields (see `UnitStore.delete`).

    Raises:
        InvalidInputError: None or several are given, or a string in place of a list.
    """

    ids: Sequence[str] | None = None
    document_ids: Sequence[str] | None = None
    unit_ids: Sequence[str] | None = None
    filter: Filter | None = None

    def __post_init__(self) -> None:
        arguments = {field.name: getattr(self, field.name) for field in fields(self)}
        chosen = {name: value for name, value in arguments.items() if value is not None}
        if len(chosen) != 1 or any(isinstance(value, str) for value in chosen.values()):
            shown = ", ".join(f"{name}={value!r:.200}" for name, value in chosen.items())
            raise InvalidInputError(
                "give a list of ids, or document_ids, unit_ids or a filter in its place, got "
                f"{shown or 'none of them'}"
            )


class Transaction(Snapshot):
    """A snapshot that can be written to and sees its own writes.

    Created by `Connections.transaction`.
    """

    def __init__(self, connection: sqlite3.Connection, vector_files: VectorFiles) -> None:
        super().__init__(connection, vector_files)
        self._unsynced = False  # whether vectors were added that the disk may not hold yet
        # A random step: copies of a store that are written apart never share a generation, so no
        # cache of one is taken for a cache of the other.
        self._new_generation = self.generation + 1 + secrets.randbelow(1 << 31)
        self._last_row_before = self._last_row("units")
        self._changed: set[int] = set()
        self.count = int(self.meta["units"])

    def put(self, key: str, value: str | int) -> None:
        """Set a fact about the store."""
        self.meta[key] = value
        write_meta(self.connection, **{key: value})

    def identify(self, identity: Mapping[str, str | None]) -> None:
        """Record what made the vectors, as far as it is known here and was not recorded before."""
        for name, value in identity.items():
            if value and self.meta.get(name) is None and self.meta.get("dim") is not None:
                self.put(name, value)

    def keep_granularities(self, granularities: Sequence[Granularity]) -> None:
        """Record the granularities that the store is filled with.

        Who opens it without naming any gets these.
        """
        names = ",".join(granularities)
        if self.meta.get("granularities") != names:
            self.put("granularities", names)

    def put_document(self, document: Document, digest: str) -> None:
        """Insert or replace a document, without its units."""
        sql = """INSERT INTO documents (id, text, title, section, metadata, digest, checksum)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET (text, title, section, metadata, digest, checksum) =
            (excluded.text, excluded.title, excluded.section, excluded.metadata,
                excluded.digest, excluded.checksum)"""
        metadata = to_json(document.metadata)
        texts = [document.id, document.text, document.title, document.section, metadata]
        self.connection.execute(sql, [*texts, digest, checksum(*texts)])

    def insert(self, units: Sequence[Unit], vectors: Mapping[int, Vectors]) -> None:
        """Insert new units that passed `check_unit`.

        Vectors are by the position of their unit; a unit may have none.
        """
        document_ids = dict.fromkeys(unit.document_id for unit in units)
        documents = self._document_rows(document_ids)
        # Units of a document mostly share one dict of metadata, which is written as JSON once.
        distinct = {id(unit.metadata): unit.metadata for unit in units}
        metadata_texts = {key: to_json(metadata) for key, metadata in distinct.items()}
        metadata_rows = self._metadata_rows(metadata_texts.values())
        vector_rows = self._store_vectors(vectors)
        first = self._last_row("units") + 1
        rows = []
        for row, unit in enumerate(units, first):
            values = [row, vector_rows.get(row - first), *values_of(unit)]
            metadata = metadata_texts[id(values[METADATA])]
            values[GRANULARITY] = _NAMES[values[GRANULARITY]]
            values[METADATA] = metadata
            written = checksum(*values)
            # The table has the rows of document and metadata, where the checksum covers the
            # document's id and the text of the metadata.
            values[DOCUMENT] = documents[values[DOCUMENT]]
            values[METADATA] = metadata_rows[metadata]
            rows.append((written, *values))
        try:
            self.connection.executemany(INSERT_UNIT, rows)
        except sqlite3.IntegrityError:
            self.check_owners(units)
            raise
        self.count += len(rows)
        self._log_children([unit.id for unit in units if unit.granularity is Granularity.PASSAGE])

    def put_units(self, block: Iterable[StoredUnit], *, under: bool = False) -> None:
        """Insert units, replacing those with the same ids.

        With `under`, the units under those are replaced as well. Texts of documents stay.

        Raises:
            InvalidInputError: The id of a unit is that of another document's unit.
        """
        block = list(block)
        stored_ids = list(self.check_owners([stored.unit for stored in block]))
        last_of_id = {stored.unit.id: stored for stored in block}
        block = list(last_of_id.values())
        # Units may come before their passage: one that is not stored yet replaces nothing.
        if stored_ids:
            if under:
                replaced = self.unit_rows(stored_ids).tolist()
            else:
                sql = f"SELECT row FROM units WHERE id {AMONG}"  # noqa: S608
                replaced = self.values(sql, [to_array(stored_ids)])
            self.remove_rows(replaced, keep_texts=True)
        vectors = {}
        for position, stored in enumerate(block):
            if stored.vector is not None:
                vectors[position] = stored.vector
        self.insert([stored.unit for stored in block], vectors)

    def check_owners(self, units: Sequence[Unit]) -> dict[str, str]:
        """Return the document's id of each of these units that is stored, by id.

        Raises:
            InvalidInputError: The id of a unit is that of another document's unit, stored or among
                these.
        """
        stored = self.owners(unit.id for unit in units)
        owners = dict(stored)
        for unit in units:
            owner = owners.setdefault(unit.id, unit.document_id)
            if owner != unit.document_id:
                raise InvalidInputError(
                    f"the unit {unit.id!r} of document {unit.document_id!r} has the id of a unit "
                    f"of document {owner!r}, which it cannot replace: give it another id, or "
                    "delete the other one first, with delete(unit_ids=[…])"
                )
        return stored

    def owners(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the document's id of each stored unit by id."""
        sql = f"""SELECT units.id, documents.id
            FROM units JOIN documents ON documents.row = units.document
            WHERE units.id {AMONG}"""  # noqa: S608
        return dict(self.connection.execute(sql, [to_array(ids)]).fetchall())

    def chosen_rows(self, selected: Selection) -> list[int]:
        """Return the rows of the units that were selected for a change.

        An id in `ids` means the document of that id, and a unit only where no document has it.

        Raises:
            InvalidInputError: The filter has no condition.
        """
        if selected.filter is not None:
            if not callable(selected.filter) and not selected.filter:
                raise InvalidInputError("this filter has no condition: clear() deletes everything")
            passing = to_array(passing_rows(self.connection, selected.filter).tolist())
            sql = f"SELECT id FROM units WHERE metadata {AMONG}"  # noqa: S608
            return list(map(int, self.unit_rows(self._ids(sql, [passing]))))
        named = [*(selected.ids or ()), *(selected.document_ids or ())]
        sql = f"SELECT id FROM documents WHERE id {AMONG}"  # noqa: S608
        documents = self.values(sql, [to_array(named)])
        without_document = set(selected.ids or ()) - set(documents)
        unit_ids = [*without_document, *(selected.unit_ids or ())]
        rows = np.union1d(self.units_of_documents(documents), self.unit_rows(unit_ids))
        return list(map(int, rows))

    def remove(self, selected: Selection) -> int:
        """Remove documents with all their units, and units with those under them.

        The result is the number of units.
        """
        rows = self.chosen_rows(selected)
        self.remove_rows(rows)
        named = [*(selected.ids or ()), *(selected.document_ids or ())]
        sql = f"DELETE FROM documents WHERE id {AMONG}"  # noqa: S608
        self.connection.execute(sql, [to_array(named)])
        return len(rows)

    def remove_rows(self, rows: Sequence[int], *, keep_texts: bool = False) -> None:
        """Remove units by row, and everything that only they used.

        With `keep_texts`, documents with a text stay.
        """
        if not rows:
            return
        array = [json.dumps(rows)]
        sql = f"SELECT id FROM units WHERE row {AMONG}"  # noqa: S608
        self._log_children(self._ids(sql, array))
        uses = ", ".join(_USES.values())
        sql = f"DELETE FROM units WHERE row {AMONG} RETURNING {uses}"  # noqa: S608
        removed = self.connection.execute(sql, array).fetchall()
        self.count -= len(removed)
        self._log(rows)
        used: dict[str, set[int]] = {table: set() for table in _USES}
        if removed:
            columns = map(set, zip(*removed, strict=True))
            used = dict(zip(_USES, columns, strict=True))
        self._mark_changed(used["documents"], INCOMPLETE)
        for table, table_rows in used.items():
            self._drop_unused(table, table_rows - {None}, keep_texts=keep_texts)

    def describe(self, selected: Selection, changes: Metadata) -> int:
        """Set metadata keys of units, and of documents all of whose units are among them.

        The result is the number of units.

        Raises:
            InvalidInputError: One of the keys is encoded with the texts.
        """
        encoded = sorted(changes.keys() & set(self.embed_metadata))
        if encoded:
            raise InvalidInputError(
                f"metadata[{encoded[0]!r}] is encoded with the texts here (embed_metadata): add "
                "the documents again with the new value"
            )
        rows = self.chosen_rows(selected)
        sql = f"""SELECT units.document, units.metadata, {UNIT} FROM {FROM_UNITS}
            WHERE units.row {AMONG}"""  # noqa: S608
        before = self.connection.execute(sql, [json.dumps(rows)]).fetchall()
        units = to_units([columns for _, _, *columns in before])
        texts = {}  # of the new metadata, by the row of the old
        for (_, old, *_), unit in zip(before, units, strict=True):
            texts[old] = to_json({**unit.metadata, **changes})
        metadata = self._metadata_rows(texts.values())
        described = []
        for _, old, _, *values in before:
            text = texts[old]
            values[METADATA] = text
            described.append((metadata[text], checksum(*values), values[ROW]))
        self.connection.executemany(
            "UPDATE units SET metadata = ?, checksum = ? WHERE row = ?", described
        )
        self._log(rows)
        self._drop_unused("metadata", texts)
        # A document follows its units: if all of them were altered, so is the document.
        altered = Counter(document for document, *_ in before)
        self._mark_changed(altered)
        sql = f"""SELECT document, count(*) FROM units WHERE document {AMONG}
            GROUP BY 1"""  # noqa: S608
        counts = dict(self.connection.execute(sql, [json.dumps(list(altered))]).fetchall())
        for row, (_, document) in self.documents(list(altered)).items():
            if document is not None and counts[row] == altered[row]:
                digest = NO_DIGEST
                if self.digests([document.id]) == {document.id: INCOMPLETE}:
                    digest = INCOMPLETE
                metadata_after = {**document.metadata, **changes}
                self.put_document(replace(document, metadata=metadata_after), digest)
        return len(rows)

    def clear(self) -> None:
        """Remove everything, and forget encoder, template and dimension."""
        cache = self.values("SELECT name FROM sqlite_master WHERE name = 'propositions'")
        tables = (
            "units",
            "documents",
            "vectors",
            "fields",
            "metadata",
            "changes",
            "commits",
            *cache,
        )
        for table in tables:
            self.connection.execute(f"DELETE FROM {table}")  # noqa: S608
        for key in (
            "encoder",
            "embed_template",
            "embed_metadata",
            "late_chunking",
            "dim",
            "vectors",
        ):
            self.meta.pop(key, None)
            self.connection.execute("DELETE FROM meta WHERE key = ?", [key])
        self._changed.clear()
        self.count = 0

    def forget_failures(self) -> int:
        """Count documents with passages that fell back to their sentences as changed.

        The result is the number of these documents.
        """
        sql = """UPDATE documents SET digest = ?
            WHERE text IS NOT NULL AND digest <> ? AND row IN (
                SELECT units.document FROM units JOIN metadata ON metadata.row = units.metadata
                WHERE units.granularity = 'proposition'
                AND json_extract(metadata.json, '$.fallback') NOT IN (?, ?)
            )"""
        parameters = [NO_DIGEST, INCOMPLETE, UNCOVERED, UNSUPPORTED]
        return self.connection.execute(sql, parameters).rowcount

    def finish(self) -> None:
        """Record the new generation, and what readers of earlier ones need to know.

        The vectors are then on disk.
        """
        if self._unsynced:
            self.vector_file.sync()
        logged = int(self.meta.get("logged") or 0) + len(self._changed) + 1
        if logged > _LOGGED:
            self.forget_changes()
            logged = 0
        write_meta(
            self.connection, logged=logged, generation=self._new_generation, units=self.count
        )
        self.connection.execute(
            "INSERT INTO commits VALUES (?, ?)", [self._new_generation, self._last_row("units")]
        )

    def forget_changes(self) -> None:
        """Drop the log of changes.

        Readers of earlier generations then compare everything with the database.
        """
        self.connection.execute("DELETE FROM changes")
        self._changed.clear()
        sql = """DELETE FROM commits WHERE generation <
            (SELECT generation FROM commits ORDER BY generation DESC LIMIT 1 OFFSET ?)"""
        self.connection.execute(sql, [_LOGGED])
        self.put("forgotten", self._new_generation)
        self.put("logged", 0)

    def _drop_unused(self, table: str, rows: Iterable[int], *, keep_texts: bool = False) -> None:
        """Delete those of the rows of documents, metadata or vectors that units no longer name."""
        array = [json.dumps([row for row in rows if isinstance(row, int)])]  # others name nothing
        column = _USES[table]
        condition = f"""row {AMONG}
            AND NOT EXISTS (SELECT 1 FROM units WHERE units.{column} = {table}.row)"""  # noqa: S608
        if keep_texts and table == "documents":
            condition += " AND text IS NULL"
        if table == "metadata":
            sql = f"SELECT row, json FROM metadata WHERE {condition}"  # noqa: S608
            for row, text in self.connection.execute(sql, array).fetchall():
                # `verify` finds any leftover fields of damaged metadata.
                fields = field_rows(parse_metadata(text) or {})
                self.connection.executemany(DELETE_FIELD, [(*field, row) for field in fields])
        self.connection.execute(f"DELETE FROM {table} WHERE {condition}", array)  # noqa: S608

    def _document_rows(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the rows of documents by id; new ones get a row without text."""
        array = [to_array(ids)]
        self.connection.execute(
            "INSERT OR IGNORE INTO documents (id) SELECT value FROM json_each(?)", array
        )
        sql = f"SELECT id, row FROM documents WHERE id {AMONG}"  # noqa: S608
        return dict(self.connection.execute(sql, array).fetchall())

    def _metadata_rows(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the rows of metadata by their JSON; new ones get a row and their fields."""
        distinct = list(dict.fromkeys(texts))
        rows: dict[str, int] = self._rows_of("metadata", "json", distinct)
        new = [text for text in distinct if text not in rows]
        added = list(enumerate(new, start=self._last_row("metadata") + 1))
        fields: list[tuple[Any, ...]] = []
        for row, text in added:
            fields += [(*field, row) for field in field_rows(json.loads(text))]
        self.connection.executemany("INSERT INTO metadata (row, json) VALUES (?, ?)", added)
        self.connection.executemany(INSERT_FIELD, fields)
        for row, text in added:
            rows[text] = row
        return rows

    def _store_vectors(self, vectors: Mapping[int, Vectors]) -> dict[int, int]:
        """Store those of some vectors that are new, and return the row of each by position.

        Equal vectors share a row.
        """
        if not vectors:
            return {}
        stored = self._as_stored(vectors)
        self._prepare_vector_file(stored.shape[1])
        size = stored.shape[1] * stored.itemsize
        content = np.ascontiguousarray(stored).reshape(-1).view(np.uint8).data
        starts = range(0, len(content), size)
        digests = [vector_digest(content[start : start + size]) for start in starts]
        rows: dict[bytes, int] = self._rows_of("vectors", "digest", digests)
        rows |= self._add_new_vectors(stored, digests, rows)
        return {position: rows[digest] for position, digest in zip(vectors, digests, strict=True)}

    def _as_stored(self, vectors: Mapping[int, Vectors]) -> NDArray[Any]:
        """Return vectors in the type of the store; refuse those that do not fit it. (n, dim)."""
        dim = self.meta.get("dim")
        matrix = to_matrix([*vectors.values()], len(vectors))  # type: ignore[list-item]
        if dim not in (None, matrix.shape[1]):
            raise EncoderMismatchError(
                f"this store holds vectors of {dim} dimensions, got {matrix.shape[1]}: use the "
                "same encoder"
            )
        with np.errstate(over="ignore"):
            stored = matrix.astype(self.dtype, copy=False)
        if not np.isfinite(stored).all():
            raise EncoderMismatchError(
                f"a vector is not finite: the encoder failed, or {self.dtype} cannot hold it"
            )
        return stored

    def _prepare_vector_file(self, dim: int) -> None:
        """Record the dimension and make the file of vectors, if these are the first vectors."""
        if self.meta.get("dim") is None:
            self.put("dim", dim)
        if self.meta.get("vectors") is None:
            self._put_file(
                lambda out: write_header(out, np.empty(0, np.int64), self._last_row("vectors"))
            )

    def _add_new_vectors(
        self, stored: NDArray[Any], digests: Sequence[bytes], known: Container[bytes]
    ) -> dict[bytes, int]:
        """Write each vector whose digest is not known once, and return their rows by digest."""
        # Of equal vectors, the last.
        new = {digest: place for place, digest in enumerate(digests) if digest not in known}
        if not new:
            return {}
        first = self._last_row("vectors") + 1
        added = list(enumerate(new, start=first))
        self.connection.executemany("INSERT INTO vectors (row, digest) VALUES (?, ?)", added)
        if len(new) < len(digests):
            stored = stored[list(new.values())]
        self.vector_file.add(first, stored)
        self._unsynced = True
        return {digest: row for row, digest in added}

    def _rows_of(self, table: str, column: str, values: Sequence[Any]) -> dict[Any, int]:
        """Return the rows of a table that have some values in a column, by value."""
        rows: dict[Any, int] = {}
        for start in range(0, len(values), _PARAMETERS):
            some = values[start : start + _PARAMETERS]
            places = ", ".join("?" * len(some))
            sql = f"SELECT {column}, row FROM {table} WHERE {column} IN ({places})"  # noqa: S608
            rows.update(self.connection.execute(sql, some).fetchall())
        return rows

    def compact_vectors(self) -> None:
        """Put the vectors into a new file, without those that were deleted.

        The old one stays until `sweep_vectors`.
        """
        if self.meta.get("vectors") is not None:
            self._put_file(self.write_vectors)

    def _put_file(self, write: Callable[[IO[bytes]], None]) -> None:
        """Make a new file of vectors the one of the store."""
        name = new_name()
        dim = int(self.meta["dim"])
        self.vector_files.create(name, dim, self.dtype, write, current=self.meta.get("vectors"))
        self.put("vectors", name)

    def _mark_changed(self, documents: Iterable[int], digest: str = NO_DIGEST) -> None:
        """Record that documents are no longer as added, so that adding them again restores them."""
        sql = f"UPDATE documents SET digest = ? WHERE row {AMONG} AND digest <> ?"  # noqa: S608
        self.connection.execute(sql, [digest, json.dumps(list(set(documents))), INCOMPLETE])

    def _log(self, rows: Sequence[int]) -> None:
        """Log units of earlier generations that were removed or altered."""
        old = {row for row in rows if row <= self._last_row_before} - self._changed
        changes = [(self._new_generation, row) for row in old]
        self.connection.executemany("INSERT INTO changes VALUES (?, ?)", changes)
        self._changed |= old

    def _ids(self, sql: str, parameters: Sequence[object]) -> list[str]:
        """Return stored ids, without what a damaged database holds in the place of one."""
        return [value for value in self.values(sql, parameters) if isinstance(value, str)]

    def _log_children(self, parents: Sequence[str]) -> None:
        """Log the units under added or removed passages: their parent changes."""
        sql = f"SELECT row FROM units WHERE parent_id {AMONG} AND row <= ?"  # noqa: S608
        self._log(self.values(sql, [to_array(parents), self._last_row_before]))


def check_units(units: Sequence[Unit]) -> None:
    """Raise InvalidInputError if one of some units could not be read back."""
    if not _are_sound(units):
        for unit in units:
            check_unit(unit)


def _are_sound(units: Sequence[Unit]) -> bool:
    """Return whether all units are as nearly all are: this is faster than to check each."""
    texts: list[object] = []
    ids: list[str] = []
    for unit in units:
        texts += _texts_of(unit)
        is_usual = (
            type(unit.granularity) is Granularity
            and type(unit.metadata) is dict
            and _is_place(unit.start)
            and _is_place(unit.end)
        )
        if not is_usual:
            return False
        ids += unit.id, unit.parent_id, unit.document_id
    return _are_texts(texts) and "\0" not in "".join(ids)


def check_unit(unit: Unit) -> None:
    """Raise InvalidInputError for a unit that could not be read back."""
    texts = _texts_of(unit)
    if not _are_texts(texts):
        for name, text in zip(_TEXTS, texts, strict=True):
            check_text(text, name)
    Granularity(unit.granularity)
    if "\0" in unit.id + unit.parent_id + unit.document_id:
        raise InvalidInputError(
            f"the id of a unit or of its parent or document holds a NUL byte: {unit.id!r}"
        )
    if not isinstance(unit.metadata, Mapping):
        raise InvalidInputError(
            f"metadata must be a dict, got {unit.metadata!r} for the unit {unit.id!r}"
        )
    if not _is_place(unit.start) or not _is_place(unit.end):
        raise InvalidInputError(
            f"the span of a unit must be two whole numbers, got {(unit.start, unit.end)}"
        )


def _is_place(place: object) -> bool:
    """Return whether SQLite can hold the start or end of a span."""
    return type(place) is int and abs(place) < _LIMIT


def _are_texts(values: Collection[object]) -> bool:
    """Return whether all values pass `check_text`, at once."""
    if not set(map(type, values)) <= {str}:
        return False
    try:
        "".join(values).encode()  # type: ignore[arg-type]
    except UnicodeEncodeError:
        return False
    return True
