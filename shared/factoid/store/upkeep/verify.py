"""Check that a store is whole, and repair it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from factoid.encode import Vectors
from factoid.filters import INSERT_FIELD, field_rows, parse_metadata
from factoid.propositions.cache import damaged_entries, delete_entries
from factoid.store.database.records import DamagedRowError, digest
from factoid.store.database.snapshot import AMONG, DOCUMENT, Snapshot, checksum
from factoid.store.database.unit_columns import UNIT
from factoid.store.indexes.build import INDEXES, read_index, remove_indexes
from factoid.store.indexes.compared import compared_units
from factoid.store.opened import OpenedStore
from factoid.store.token_cache import TokenVectorCache
from factoid.vectors import RowIds, VectorIndex
from factoid.vectors.files import is_complete, record_files

_LOOKS = 5  # at files that are being replaced
_SHOWN = 3  # examples that a problem names
_LOST = "Restore the store from a backup, or export what can still be read and index the rest again"
_DELETE = "verify(repair=True), or factoid store verify --repair, deletes them; then add them again"
_MEND = "Mend it with verify(repair=True), or factoid store verify --repair"

_UNITS = f"""SELECT units.row, units.id, {UNIT} FROM units
    LEFT JOIN documents ON documents.row = units.document
    LEFT JOIN metadata ON metadata.row = units.metadata"""  # noqa: S608
_DOCUMENTS = f"""SELECT row, id, {DOCUMENT} FROM documents
    WHERE text IS NOT NULL OR checksum"""  # noqa: S608


def verify(store: OpenedStore, *, repair: bool = False) -> list[str]:
    """Do what `UnitStore.verify` describes."""
    indexes: list[str] = []
    with store.connections.reading() as snapshot, _any_text(snapshot.connection):
        lines = snapshot.values(f"PRAGMA integrity_check({_SHOWN})")
        if lines != ["ok"]:
            return [f"the database is damaged ({'; '.join(lines)}). {_LOST}"]
        try:
            if snapshot.totals()["vectors"]:
                _ = snapshot.vector_file
        except DamagedRowError as error:
            return [f"{error}. {_LOST}"]
        units = _damaged_units(snapshot)
        documents = _changed(snapshot, _DOCUMENTS)
        problems = []
        for table, ids in (("units", [*units.values()]), ("documents", [*documents.values()])):
            if ids:
                problems.append(f"{len(ids):,} {table} changed on disk ({_some(ids)}). {_DELETE}")
        written = snapshot.meta["units"]
        count = snapshot.totals()["units"]
        if count != written:
            problems.append(
                f"{count:,} of {written:,} units are there. Add what is missing again. {_MEND}"
            )
        # otherwise there is nothing to compare indexes with
        if store.path is not None and not problems:
            paths = [store.path / name for name in INDEXES]
            # No file is written meanwhile.
            indexes = store.indexes.with_current(
                [], lambda *_: [path.name for path in paths if _is_wrong(snapshot, path)]
            )
        for name in indexes:
            problems.append(
                f"the index {name} is damaged, or holds other units than the database. {_MEND}"
            )
        fields = snapshot.connection.execute("SELECT key, kind, value, metadata FROM fields")
        if sum(map(hash, fields)) != sum(map(hash, _fields(snapshot))):  # the same in any order
            problems.append(
                f"filters would miss fields of metadata, or find some that do not exist. {_MEND}"
            )
        entries = damaged_entries(snapshot.connection)
        if entries:
            problems.append(
                f"{len(entries):,} outputs of propositionizers changed on disk. They are asked "
                "for again"
            )
    if repair and problems:
        _repair(store, list(units), list(documents), entries, indexes)
    if store.path is not None:
        problems += TokenVectorCache(store.path).verify(repair=repair)
    return problems


def _repair(
    store: OpenedStore,
    units: list[int],
    documents: list[int],
    entries: list[int],
    indexes: list[str],
) -> None:
    """Delete damaged rows, and make again what can be derived from the others."""
    with store.connections.transaction() as transaction, _any_text(transaction.connection):
        array = [json.dumps(documents)]
        sql = f"SELECT row FROM units WHERE document {AMONG}"  # noqa: S608
        units = units + transaction.values(sql, array)
        transaction.remove_rows(units)
        sql = f"DELETE FROM documents WHERE row {AMONG}"  # noqa: S608
        transaction.connection.execute(sql, array)
        delete_entries(transaction.connection, entries)
        transaction.connection.execute("DELETE FROM fields")
        transaction.connection.executemany(INSERT_FIELD, _fields(transaction))
        transaction.count = transaction.totals()["units"]
        transaction.forget_changes()
    if units:
        indexes = list(
            INDEXES
        )  # an exact one of an earlier generation could not read the vectors that were deleted now
    if store.path is not None and indexes:
        store.indexes.unload()
        remove_indexes(store.path, indexes)


def _damaged_units(snapshot: Snapshot) -> dict[int, str]:
    """Return the ids by row of units that differ from what was written.

    They differ in themselves or in their vectors.
    """
    vectors = _damaged_vectors(snapshot)
    sql = f"""SELECT row, id FROM units
        WHERE vector {AMONG}
        OR vector IS NOT NULL AND vector NOT IN (SELECT row FROM vectors)"""  # noqa: S608
    return _changed(snapshot, _UNITS) | dict(
        snapshot.connection.execute(sql, [json.dumps(vectors)]).fetchall()
    )


def _damaged_vectors(snapshot: Snapshot) -> list[int]:
    """Return the rows of vectors that differ from what was written."""
    digests = dict(snapshot.connection.execute("SELECT row, digest FROM vectors").fetchall())
    if not digests:
        return []
    damaged = []
    for rows, vectors, wrong in snapshot.vector_file.damaged(np.array(sorted(digests), np.int64)):
        damaged += wrong.tolist()
        for row, vector in zip(rows.tolist(), vectors, strict=True):
            if digest(vector.tobytes()) != digests[row]:
                damaged.append(row)
    return sorted(set(damaged))


def _changed(snapshot: Snapshot, sql: str) -> dict[int, str]:
    """Return the ids by row of units or documents that differ from their checksum."""
    rows: Iterable[tuple[Any, ...]] = snapshot.connection.execute(sql)
    changed = {}
    for row, row_id, written, *values in rows:
        if checksum(*values) != written:
            changed[row] = row_id
    return changed


def _fields(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    """Yield the fields that the stored metadata should have."""
    for row, text in snapshot.connection.execute("SELECT row, json FROM metadata"):
        for field in field_rows(parse_metadata(text) or {}):
            yield (*field, row)


def _is_wrong(snapshot: Snapshot, path: Path) -> bool:
    """Return whether index files are damaged, or differ from the database.

    Those of an earlier generation follow the database when they are read. What is missing is built
    again, and is no damage: another process may be replacing it, or was killed meanwhile.
    """
    dim = int(snapshot.meta.get("dim") or 0)

    def no_vectors(ids: RowIds) -> Vectors:
        # They were checked themselves, and those of an earlier generation may be gone.
        return np.zeros((len(ids), dim), np.float32)

    for _ in range(_LOOKS):
        files = record_files(path, latest=snapshot.generation)
        state = read_index(path, snapshot, mmap=True, vectors=no_vectors)
        if state is not None or files == record_files(path, latest=snapshot.generation):
            break
    if state is None:
        return any(map(is_complete, files))
    if state.generation != snapshot.generation:
        return False
    columns = compared_units(snapshot, state.name)
    ids = columns.distinct_vectors()
    known = state.index.ids if isinstance(state.index, VectorIndex) else ids
    same = np.array_equal(state.columns.stacked(), columns.stacked()) and np.array_equal(known, ids)
    return not same or len(state.index) != len(ids)


@contextmanager
def _any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Read texts during the block even if they are not UTF-8, so that their rows can be named."""
    connection.text_factory = lambda content: content.decode(errors="replace")
    try:
        yield
    finally:
        connection.text_factory = str


def _some(ids: list[str]) -> str:
    """Return the first ids, with dots if there are more."""
    examples = list(map(repr, ids[:_SHOWN]))
    if len(ids) > _SHOWN:
        examples.append("…")
    return ", ".join(examples)
