"""What is written to a store as one generation."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.propositions.decompose import UNCOVERED, UNSUPPORTED
from factoid.store.connections import Connections
from factoid.store.interning import drop_unused, intern_documents, intern_metadata, intern_vectors
from factoid.store.records import to_array, to_json
from factoid.store.snapshot import Snapshot
from factoid.units import Document, Granularity, Metadata, Unit

# Changes kept for readers of earlier generations, and commits. Beyond, readers compare what they hold with what is there.
_LOGGED = 200_000


@contextmanager
def transaction(connections: Connections) -> Iterator[Transaction]:
    """Commit all writes of the block as one generation, or none of them."""
    with connections.writing() as connection:
        writing = Transaction(connection)
        yield writing
        writing.finish()


class Transaction(Snapshot):
    """A snapshot that can be written to, and sees its own writes. Made by `transaction`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._before = self.generation
        self._after = self._before + 1 + secrets.randbelow(1 << 31)
        self._last = self._next("units") - 1
        self._logged = 0

    def put(self, key: str, value: str | int) -> None:
        """Set a value of the store's own record."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    def put_document(self, document: Document, digest: str) -> None:
        """Insert or replace a document, without its units."""
        sql = """INSERT INTO documents (text, title, section, metadata, digest, id) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET (text, title, section, metadata, digest) =
            (excluded.text, excluded.title, excluded.section, excluded.metadata, excluded.digest)"""
        values = [document.text, document.title, document.section, to_json(document.metadata), digest, document.id]
        self.connection.execute(sql, values)

    def insert(self, units: Sequence[Unit], vectors: Mapping[int, Vectors]) -> None:
        """Insert units that are not there; `vectors` holds those of units that are searched, by position.

        Raises:
            InvalidInputError: An id that is no string or holds a NUL byte, a text with lone surrogates, an unknown
                granularity, a span that is not of whole numbers, or metadata that JSON cannot hold.
            EncoderMismatchError: A vector too large for the store's float16.
        """
        for unit in units:
            _check(unit)
        documents = intern_documents(self.connection, dict.fromkeys(unit.document_id for unit in units))
        metadata = [to_json(unit.metadata) for unit in units]
        described = intern_metadata(self.connection, dict.fromkeys(metadata))
        found = intern_vectors(self.connection, vectors, self.dtype)
        first = self._next("units")
        self.connection.executemany(
            "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    *(first + position, unit.id, unit.text, unit.granularity, documents[unit.document_id]),
                    *(unit.parent_id, unit.start, unit.end, unit.title, unit.section),
                    *(described[own], found.get(position), unit.payload),
                )
                for position, (unit, own) in enumerate(zip(units, metadata, strict=True))
            ],
        )
        self._log_children([unit.id for unit in units if unit.granularity is Granularity.PASSAGE])

    def chosen_rows(self, ids: Iterable[str], *, under: bool = True) -> list[int]:
        """Return the rows of units by id; with `under`, also all those of documents by id, and those under units."""
        sql = "SELECT row FROM units WHERE id IN (SELECT value FROM json_each(:ids))"
        if under:
            sql += """ UNION SELECT row FROM units WHERE parent_id IN (SELECT value FROM json_each(:ids))
                UNION SELECT row FROM units WHERE document IN
                (SELECT row FROM documents WHERE id IN (SELECT value FROM json_each(:ids)))"""
        return [row for (row,) in self.connection.execute(sql, {"ids": to_array(ids)})]

    def rows_passing(self, condition: Filter) -> list[int]:
        """Return the rows of the units whose metadata pass a filter, and of those under them."""
        sql = "SELECT id FROM units WHERE metadata IN (SELECT value FROM json_each(?))"
        found = self._rows(sql, [to_array(self.passing(condition).tolist())])
        return self.rows_under([own for (own,) in found])

    def rows_under(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of units by id, and of those under them."""
        return [int(row) for row in self.unit_rows(ids)]

    def remove(self, ids: Sequence[str], *, under: bool = True) -> int:
        """Remove units by id; with `under`, also documents by id with all their units, and the units under units.

        Returns:
            The number of units removed.
        """
        rows = self.chosen_rows(ids, under=under)
        self.remove_rows(rows)
        if under:
            sql = "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))"
            self.connection.execute(sql, [to_array(ids)])
        return len(rows)

    def remove_rows(self, rows: Sequence[int]) -> None:
        """Remove units by row, and what was there for them only."""
        given = [to_array(rows)]
        among = "row IN (SELECT value FROM json_each(?))"
        self._log_children([own for (own,) in self._rows(f"SELECT id FROM units WHERE {among}", given)])  # noqa: S608
        removed = self._rows(f"DELETE FROM units WHERE {among} RETURNING document, metadata, vector", given)  # noqa: S608
        self._log(rows)
        # A document that has lost a unit is no longer what was added: adding it again restores it.
        changed = [to_array({document for document, _, _ in removed})]
        self.connection.execute(f"UPDATE documents SET digest = '' WHERE {among}", changed)  # noqa: S608
        for column, table in enumerate(("documents", "metadata", "vectors")):
            drop_unused(self.connection, table, {row[column] for row in removed})

    def describe(self, rows: Sequence[int], changes: Metadata) -> None:
        """Set keys of the metadata of units, and of the documents of which they are all units."""
        given = [to_array(rows)]
        sql = """SELECT units.row, units.document, metadata.row, metadata.json FROM units
            JOIN metadata ON metadata.row = units.metadata WHERE units.row IN (SELECT value FROM json_each(?))"""
        held = self._rows(sql, given)
        altered = {text: to_json(json.loads(text) | dict(changes)) for text in {text for *_, text in held}}
        described = intern_metadata(self.connection, dict.fromkeys(altered.values()))
        self.connection.executemany(
            "UPDATE units SET metadata = ? WHERE row = ?", [(described[altered[text]], row) for row, _, _, text in held]
        )
        self._log(rows)
        drop_unused(self.connection, "metadata", {old for _, _, old, _ in held})
        # A document is as its units are: one of which all units were altered is altered with them.
        altered_units = Counter(document for _, document, _, _ in held)
        documents = [to_array(altered_units)]
        among = "IN (SELECT value FROM json_each(?))"
        counts = dict(self._rows(f"SELECT document, count(*) FROM units WHERE document {among} GROUP BY 1", documents))  # noqa: S608
        sql = f"SELECT row, metadata FROM documents WHERE text IS NOT NULL AND row {among}"  # noqa: S608
        # One that has altered units is no longer what was added: adding it again restores it.
        self.connection.executemany(
            "UPDATE documents SET metadata = ?, digest = '' WHERE row = ?",
            [
                (to_json(json.loads(text) | dict(changes)) if counts[row] == altered_units[row] else text, row)
                for row, text in self._rows(sql, documents)
            ],
        )

    def clear(self) -> None:
        """Remove everything, and forget encoder and dimension."""
        cache = self._rows("SELECT name FROM sqlite_master WHERE name IN ('propositions', 'claims')")
        own = ("units", "documents", "vectors", "fields", "metadata", "changes", "commits")
        for table in (*own, "meta WHERE key IN ('encoder', 'dim')", *(name for (name,) in cache)):
            self.connection.execute(f"DELETE FROM {table}")  # noqa: S608

    def forget_failures(self) -> int:
        """Make documents with passages that fell back to their sentences count as changed; return their number."""
        sql = """UPDATE documents SET digest = '' WHERE text IS NOT NULL AND row IN (
            SELECT units.document FROM units JOIN metadata ON metadata.row = units.metadata
            WHERE units.granularity = 'proposition' AND json_extract(metadata.json, '$.fallback') NOT IN (?, ?))"""
        return self.connection.execute(sql, [UNCOVERED, UNSUPPORTED]).rowcount

    def stored(self, ids: Iterable[str]) -> list[str]:
        """Return those of the ids under which a unit is stored."""
        rows = self._rows("SELECT id FROM units WHERE id IN (SELECT value FROM json_each(?))", [to_array(ids)])
        return [own for (own,) in rows]

    def finish(self) -> None:
        """Give what was written its generation, and what readers of earlier ones have to know."""
        logged = int(self.get("logged") or 0) + self._logged + 1
        self.put("logged", logged)
        if logged > _LOGGED:
            self.forget_changes()
        self.put("generation", self._after)
        self.connection.execute("INSERT INTO commits VALUES (?, ?)", [self._after, self._next("units") - 1])

    def forget_changes(self) -> None:
        """Forget what readers of earlier generations would have had to know: they compare what they hold with what is there."""
        self.connection.execute("DELETE FROM changes")
        self.connection.execute(
            """DELETE FROM commits WHERE generation <
            (SELECT generation FROM commits ORDER BY generation DESC LIMIT 1 OFFSET ?)""",
            [_LOGGED],
        )
        self.put("forgotten", self._after)
        self.put("logged", 0)

    # The parts

    def _next(self, table: str) -> int:
        """Return the row that a table gives next; rows are never given twice."""
        held = self.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
        return int(held[0]) + 1 if held else 1

    def _log(self, rows: Sequence[int]) -> None:
        """Note units of earlier generations that were removed or altered."""
        old = [row for row in rows if row <= self._last]
        self.connection.executemany("INSERT OR IGNORE INTO changes VALUES (?, ?)", [(self._after, row) for row in old])
        self._logged += len(old)

    def _log_children(self, parents: Sequence[str]) -> None:
        """Note the units under passages that come or go: they have another parent from now on."""
        sql = "SELECT row FROM units WHERE parent_id IN (SELECT value FROM json_each(?))"
        self._log([row for (row,) in self._rows(sql, [to_array(parents)])])


def _check(unit: Unit) -> None:
    """Refuse what could not be read back: it would make all of the store look damaged."""
    ids = (unit.id, unit.parent_id, unit.document_id)
    if not all(isinstance(own, str) for own in ids):
        message = f"the ids of a unit, its parent and its document must be strings, got {ids}"
        raise InvalidInputError(message)
    if "\0" in "".join(ids):
        message = f"the id of a unit or of its parent or document holds a NUL byte: {unit.id!r}"
        raise InvalidInputError(message)
    Granularity(unit.granularity)
    if not isinstance(unit.start, int) or not isinstance(unit.end, int):
        message = f"the span of a unit must be two whole numbers, got {unit.start!r} and {unit.end!r} for {unit.id!r}"
        raise InvalidInputError(message)
    for name, value in (("title", unit.title), ("section", unit.section), ("payload", unit.payload)):
        if not isinstance(value, str):
            message = f"the {name} of a unit must be a string, got {value!r} for {unit.id!r}"
            raise InvalidInputError(message)
    if not isinstance(unit.metadata, Mapping):
        message = f"metadata must be a dict, got {unit.metadata!r} for the unit {unit.id!r}"
        raise InvalidInputError(message)
