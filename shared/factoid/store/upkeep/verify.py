"""Check that a store is whole, and repair what can be derived from the rest of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factoid.errors import MissingDependencyError
from factoid.filters import INSERT_FIELD, field_rows, parse_metadata
from factoid.index import VectorIndex, prepare
from factoid.progress import progress_bar
from factoid.store.database.records import DamagedRowError, digest, to_document
from factoid.store.database.schema import SCHEMA
from factoid.store.database.snapshot import DOCUMENT, SUMMED, UNIT, Snapshot, to_units
from factoid.store.database.transaction import USES, unused
from factoid.store.indexes.build import INDEXES, read_index, remove_index
from factoid.store.indexes.views import IndexState
from factoid.units import Granularity

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

_SHOWN = 3  # examples that a problem names
_LOST = "Restore the store from a backup, or export what can still be read and index the rest again"
_MEND = "Mend it with verify(repair=True), or factoid store verify --repair"
_AGAIN = "Add them again with their texts and vectors, or delete them"

_Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What `UnitStore.verify` found: how much was checked, what is wrong and what to do about it, and what was repaired.

    `documents` counts those whose texts are in the store; equal vectors and equal metadata count once.
    """

    units: int = 0
    documents: int = 0
    vectors: int = 0
    metadata: int = 0
    indexes: int = 0
    problems: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        counts = (
            f"checked {self.units:,} units, {self.documents:,} documents, {self.vectors:,} vectors, "
            f"{self.metadata:,} metadata and {self.indexes:,} index files"
        )
        lines = [f"mended: {part}" for part in self.repaired] + [f"problem: {problem}" for problem in self.problems]
        return "\n".join([counts, *lines] if lines else [f"{counts}: all is well"])


def verify(store: UnitStore, *, repair: bool = False, show_progress: bool = False) -> VerifyReport:
    """Check that the store is whole: the database, every vector, all references, metadata and index files.

    One generation is checked, with memory for one index at a time. With `repair`, everything that can be derived from the rest of
    the store is repaired, and all is checked again: the index of metadata is rebuilt, and unused rows and damaged index files are
    removed. Units and vectors are never made up.

    Raises:
        StoreError: The store is closed, or it should be repaired but is read-only or cannot be written.
    """
    report, findings = _check(store, show_progress)
    if not repair or not findings.mendable:
        return report
    _repair(store, findings)
    after, _ = _check(store, show_progress)
    return replace(after, repaired=tuple(findings.mendable))


def _repair(store: UnitStore, findings: _Findings) -> None:
    """Rebuild what can be derived from the rest of the store; the files of wrong indexes are removed, to be built again."""
    with store.connections.transaction() as writing:
        connection = writing.connection
        writing.drop_all_unused()
        connection.execute("DELETE FROM fields")
        for row, text in connection.execute("SELECT row, json FROM metadata"):
            fields = [(*field, row) for field in field_rows(parse_metadata(text) or {})]
            connection.executemany(INSERT_FIELD, fields)
        writing.forget_changes()
        for table in SUMMED if findings.all_mendable else ():  # otherwise lost rows would no longer be noticed
            writing.put(table, writing.values(f"SELECT coalesce(sum(checksum), 0) FROM {table}")[0])  # noqa: S608
    if store.path is not None and findings.indexes:
        store.views.forget()
        for kind in findings.indexes:
            remove_index(store.path, kind)


def _check(store: UnitStore, show_progress: bool) -> tuple[VerifyReport, _Findings]:
    findings = _Findings()
    counts: dict[str, Any] = {}
    with store.connections.reading() as snapshot:
        try:
            if _is_sound(snapshot, findings):
                counts = snapshot.totals()
                _check_rows(snapshot, findings)
                with progress_bar(show=show_progress, unit=" rows", total=sum(counts.values())) as bar:
                    _check_texts(snapshot, findings, bar.update)
                    _check_vectors(snapshot, findings, bar.update)
                    _check_metadata(snapshot, findings, bar.update)
                if store.path and findings.all_mendable:  # otherwise there is nothing to compare indexes with
                    counts["indexes"] = sum(  # no file is written meanwhile
                        store.views.at([], lambda *_, path=store.path / name: _check_index(snapshot, path, findings))
                        for name in INDEXES
                    )
        except (sqlite3.DatabaseError, DamagedRowError, UnicodeDecodeError, ValueError) as error:
            findings.add(f"the database cannot be read to its end: {error}")
    return VerifyReport(**counts, problems=tuple(findings.problems)), findings


def _check_index(snapshot: Snapshot, path: Path, findings: _Findings) -> bool:
    """Check the files of an index against the database; return whether there are any.

    Files of another generation are updated when next read, so they are only checked for being readable.
    """
    # Without a manifest they are leftovers of an interrupted write; they do not count, and are replaced.
    if not path.with_name(f"{path.name}.npz").exists():
        return False
    try:  # try twice, in case another process was just writing them
        state = read_index(path, mmap=True) or read_index(path, mmap=True)
    except MissingDependencyError:  # without the engine there are no searches, and only the database counts
        return False
    problem = None
    if state is None:
        problem = "is damaged: the next search builds it again"
    elif state.generation == snapshot.generation:
        problem = _difference(snapshot, state)
    if problem:
        findings.add(f"the index {path} {problem}", mendable=True)
        findings.indexes.append(path.name)
    return True


def _difference(snapshot: Snapshot, state: IndexState) -> str | None:
    """Return how an index of this generation differs from the database."""
    index: Any = state.index
    columns = snapshot.columns(state.granularity)
    ids = columns.distinct_vectors()
    known = index.ids if isinstance(index, VectorIndex) else ids
    same = np.array_equal(state.columns.stacked(), columns.stacked()) and len(index) == len(ids)
    if not same or not np.array_equal(known, ids):
        return "holds other units than the database: searches would miss some"
    if not isinstance(index, VectorIndex):
        return None
    if index.dim != snapshot.meta.get("dim"):
        return f"holds vectors of {index.dim} dimensions: the next search builds it again"
    for rows, vectors in snapshot.vector_blocks(ids):
        indexed = index.vectors(rows)  # None where the index holds none exactly
        expected = prepare(vectors, index.similarity)
        if indexed is not None and not np.allclose(indexed, expected, rtol=1e-5, atol=1e-7):
            return "holds other vectors than the database: searches would be wrong"
    return None


@dataclass(slots=True)
class _Findings:
    """What is wrong with a store: problems with their remedies, those that can be repaired, and the indexes to remove."""

    problems: list[str] = field(default_factory=list)
    mendable: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)

    def add(self, problem: str, remedy: str = "", *, mendable: bool = False) -> None:
        """Record a problem, and whether `verify(repair=True)` repairs it."""
        self.problems.append(f"{problem}. {remedy or (_MEND if mendable else _LOST)}")
        if mendable:
            self.mendable.append(problem)

    @property
    def all_mendable(self) -> bool:
        """Whether `verify(repair=True)` can repair every problem."""
        return len(self.problems) == len(self.mendable)


def _is_sound(snapshot: Snapshot, findings: _Findings) -> bool:
    """Let SQLite check its own file; return whether it is worth reading further."""
    lines = snapshot.values(f"PRAGMA integrity_check({_SHOWN})")
    present = {" ".join(sql.split()) for sql in snapshot.values("SELECT sql FROM sqlite_master") if sql}
    lines += [f"altered: {sql}" for sql in SCHEMA if " ".join(sql.split()) not in present]
    if lines != ["ok"]:
        findings.add(f"the database is damaged ({'; '.join(' '.join(line.split()) for line in lines)})")
    return lines == ["ok"]


def _check_rows(snapshot: Snapshot, findings: _Findings) -> None:
    """Check that everything that rows name exists, and that everything is used."""
    known = ", ".join(map(repr, map(str, Granularity)))
    conditions = {"are of an unknown granularity": f"granularity NOT IN ({known})"}
    for table, column in USES.items():
        condition = f"{column} IS NOT NULL AND {column} NOT IN (SELECT row FROM {table})"  # noqa: S608
        conditions[f"name {table} that are not there"] = condition
    for problem, condition in conditions.items():
        if count := _count(snapshot, f"units WHERE {condition}"):
            findings.add(f"{count:,} units {problem} ({_ids(snapshot, condition)})", _AGAIN)
    spare = {table: _count(snapshot, f"{table} WHERE {unused(table)}") for table in USES}
    if counts := ", ".join(f"{count:,} of {table}" for table, count in spare.items() if count):
        findings.add(f"there are rows that no unit uses ({counts})", mendable=True)
    if snapshot.meta.get("dim") is None and _count(snapshot, "vectors"):
        findings.add("the store holds vectors, but not their dimension")


def _check_texts(snapshot: Snapshot, findings: _Findings, progress: _Progress) -> None:
    """Check every unit and document against its checksum, and that none is lost."""
    units = f"""SELECT units.id, {UNIT} FROM units NOT INDEXED LEFT JOIN documents ON documents.row = units.document
        LEFT JOIN metadata ON metadata.row = units.metadata ORDER BY units.row"""  # noqa: S608
    documents = f"SELECT id, {DOCUMENT} FROM documents NOT INDEXED ORDER BY row"  # noqa: S608
    read: dict[str, Callable[[Any], object]] = {"units": lambda row: to_units([row]), "documents": to_document}
    for (table, parse), sql in zip(read.items(), (units, documents), strict=True):
        changed, total = [], 0
        for row_id, *content in snapshot.connection.execute(sql):
            try:
                parse(content)
                total += content[0]
            except DamagedRowError:
                changed.append(row_id)
            progress(1)
        if changed:
            findings.add(f"{len(changed):,} {table} changed on disk ({_some(changed)})", _AGAIN)
        elif total != snapshot.meta.get(table):
            remedy = "Add what is missing again; verify(repair=True) then accepts the rest as complete"
            findings.add(f"{table} were lost: they differ from those that were written", remedy, mendable=True)


def _check_vectors(snapshot: Snapshot, findings: _Findings, progress: _Progress) -> None:
    """Check every vector against its digest, its length against the store's, and that it is finite."""
    dtype = snapshot.dtype
    size = int(snapshot.meta.get("dim") or 0) * dtype.itemsize
    damaged: dict[str, list[int]] = {}
    for row, written, blob in snapshot.connection.execute("SELECT row, digest, vector FROM vectors ORDER BY row"):
        if not isinstance(blob, bytes) or digest(blob) != written:
            damaged.setdefault("changed on disk", []).append(row)
        elif len(blob) != size:
            damaged.setdefault("are of another dimension", []).append(row)
        elif not np.isfinite(np.frombuffer(blob, dtype)).all():
            damaged.setdefault("are not finite", []).append(row)
        progress(1)
    for what, rows in damaged.items():
        ids = _ids(snapshot, f"vector IN ({', '.join(map(str, rows[:_SHOWN]))})")
        findings.add(f"{len(rows):,} vectors {what} (of units such as {ids})", _AGAIN)


def _check_metadata(snapshot: Snapshot, findings: _Findings, progress: _Progress) -> None:
    """Check the metadata of units, and the fields by which filters find them."""
    expected = 0  # a sum of hashes is the same in any order
    unreadable: list[int] = []
    for row, text in snapshot.connection.execute("SELECT row, json FROM metadata ORDER BY row"):
        metadata = parse_metadata(text)
        if metadata is None:
            unreadable.append(row)
        expected += sum(hash((*columns, row)) for columns in field_rows(metadata or {}))
        progress(1)
    if unreadable:
        remedy = "Add the units that have them again, or delete them"
        findings.add(f"{len(unreadable):,} metadata are not JSON objects (rows {_some(unreadable)})", remedy)
    # Otherwise the fields of some are unknown: filters go on using those that exist.
    elif sum(map(hash, snapshot.connection.execute("SELECT key, kind, value, metadata FROM fields"))) != expected:
        findings.add("filters would miss fields of metadata, or find some that do not exist", mendable=True)


def _count(snapshot: Snapshot, source: str) -> int:
    return int(snapshot.values(f"SELECT count(*) FROM {source}")[0])  # noqa: S608


def _ids(snapshot: Snapshot, where: str) -> str:
    """Return some ids of the units that meet a condition."""
    return _some(snapshot.values(f"SELECT id FROM units WHERE {where} ORDER BY row LIMIT {_SHOWN + 1}"))  # noqa: S608


def _some(values: Sequence[object]) -> str:
    """Return the first values as text, with dots if there are more."""
    return ", ".join([*map(repr, values[:_SHOWN]), *(["…"] if len(values) > _SHOWN else [])])
