"""Check that a store is whole, and mend what follows from the rest of it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factoid.encode import Vectors
from factoid.errors import MissingDependencyError
from factoid.filters import INSERT_FIELD, field_rows
from factoid.index import RowIds, VectorIndex, prepare
from factoid.progress import progress_bar
from factoid.store.database.records import DamagedRowError, parse_metadata
from factoid.store.database.snapshot import SUMMED, Snapshot
from factoid.store.indexes.build import INDEXES, read_index, remove_index, stacked
from factoid.store.indexes.views import IndexState
from factoid.store.upkeep.checks import (
    NUMBERED,
    Findings,
    check_metadata,
    check_rows,
    check_texts,
    check_vectors,
    is_sound,
    last_rows,
)

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore

_COUNTED = {
    "units": "units",
    "documents": "documents WHERE text IS NOT NULL",
    "vectors": "vectors",
    "metadata": "metadata",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What `UnitStore.verify` found.

    Attributes:
        units: Units that were checked.
        documents: Documents whose texts are in the store.
        vectors: Distinct vectors that were checked.
        metadata: Distinct metadata that were checked.
        indexes: Index files that were checked.
        problems: What is wrong and what to do about it, in plain words.
        repaired: What was wrong and has been mended.
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

    One generation is checked; memory for one index at a time is needed.

    Args:
        store: The store.
        repair: Mend what follows from the rest of the store, and check again: the index of metadata, rows that nothing
            uses, row numbers, and damaged index files, which are removed. Units and vectors are never made up.
        show_progress: Show a progress bar over rows.

    Returns:
        Counts, and what is wrong in plain words with what to do; `ok` if there is nothing.

    Raises:
        StoreError: The store is closed; or it is to be mended, and is read-only or cannot be written.
    """
    store.check_open()
    report, findings = _check(store, show_progress)
    if not repair or not findings.mendable:
        return report
    _repair(store, findings)
    after, _ = _check(store, show_progress)
    return replace(after, repaired=tuple(findings.mendable))


def _repair(store: UnitStore, findings: Findings) -> None:
    """Make anew what follows from the rest of the store; indexes that are wrong lose their files and are built again."""
    with store.connections.transaction() as writing:
        connection = writing.connection
        for table in NUMBERED:
            last = max(last_rows(writing, table))
            connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", [table])
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, last])
        writing.drop_all_unused()
        connection.execute("DELETE FROM fields")
        for row, text in connection.execute("SELECT row, json FROM metadata"):
            fields = [(*field, row) for field in field_rows(parse_metadata(text) or {})]
            connection.executemany(INSERT_FIELD, fields)
        writing.forget_changes()
        for table in SUMMED if findings.all_mendable else ():  # else what is lost would not be missed any more
            writing.put(table, writing.values(f"SELECT coalesce(sum(checksum), 0) FROM {table}")[0])  # noqa: S608
    if store.path is not None and findings.indexes:
        store.views.forget()
        for kind in findings.indexes:
            remove_index(store.path, kind)


def _check(store: UnitStore, show_progress: bool) -> tuple[VerifyReport, Findings]:
    findings = Findings()
    counts: dict[str, Any] = {}
    with store.connections.reading() as snapshot:
        try:
            if is_sound(snapshot, findings):
                counts = {name: snapshot.values(f"SELECT count(*) FROM {rows}")[0] for name, rows in _COUNTED.items()}  # noqa: S608
                check_rows(snapshot, findings)
                with progress_bar(show=show_progress, unit=" rows", total=sum(counts.values())) as bar:
                    check_texts(snapshot, findings, bar.update)
                    check_vectors(snapshot, findings, bar.update)
                    check_metadata(snapshot, findings, bar.update)
                if store.path and findings.all_mendable:  # else indexes have no measure
                    counts["indexes"] = sum(  # no file is written here meanwhile
                        store.views.at([], lambda *_, path=store.path / name: _check_index(snapshot, path, findings))
                        for name in INDEXES
                    )
        except (sqlite3.DatabaseError, DamagedRowError, UnicodeDecodeError, ValueError) as error:
            findings.add(f"the database cannot be read to its end: {error}")
    return VerifyReport(**counts, problems=tuple(findings.problems)), findings


def _check_index(snapshot: Snapshot, path: Path, findings: Findings) -> bool:
    """Check the files of an index against the database; tell whether there are any.

    Files of another generation are brought up to date when they are read next, and are checked for being readable.
    """
    # Without a manifest they are what is left of files that were being written; they do not count, and are replaced.
    if not path.with_name(f"{path.name}.json").exists():
        return False
    try:  # twice, in case another process was just writing them
        state = read_index(path, mmap=True) or read_index(path, mmap=True)
    except MissingDependencyError:  # without the engine there are no searches, and the database counts alone
        return False
    problem = None
    if state is None:
        problem = "is damaged: the next search builds it again"
    elif state.generation == snapshot.generation:
        problem = _difference(snapshot, state)
    if problem:
        findings.add_mendable(f"the index {path} {problem}")
        findings.indexes.append(path.name)
    return True


def _difference(snapshot: Snapshot, state: IndexState) -> str | None:
    """Return what an index of this generation says other than the database."""
    index: Any = state.index
    columns = snapshot.columns(state.granularity)
    ids = columns.distinct_vectors()
    if isinstance(index, VectorIndex) and index.dim != snapshot.meta.get("dim"):
        return f"holds vectors of {index.dim} dimensions: the next search builds it again"
    known = index.ids if isinstance(index, VectorIndex) else ids
    if (
        not np.array_equal(stacked(state.columns), stacked(columns))
        or len(index) != len(ids)
        or not np.array_equal(known, ids)
    ):
        return "holds other units than the database: searches would miss some"
    if isinstance(index, VectorIndex) and not all(_agree(index, *block) for block in snapshot.vector_blocks(ids)):
        return "holds other vectors than the database: searches would be wrong"
    return None


def _agree(index: VectorIndex, ids: RowIds, vectors: Vectors) -> bool:
    """Tell whether an index holds these vectors, as far as it holds any exactly."""
    indexed = index.vectors(ids)
    return indexed is None or np.allclose(indexed, prepare(vectors, index.similarity), rtol=1e-5, atol=1e-7)
