"""Whether a store is whole: its database, what its rows say of each other, and its index files."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factoid.encode import Vectors
from factoid.errors import MissingDependencyError
from factoid.index import RowIds, VectorIndex, load, prepare
from factoid.index.files import load_files
from factoid.index.lexical import has_tantivy
from factoid.progress import progress_bar
from factoid.search import LEXICAL, Columns
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.lexical import read_lexical
from factoid.store.upkeep.checks import Findings, check_metadata, check_rows, check_texts, check_vectors, is_sound
from factoid.store.upkeep.repair import repair as mend
from factoid.units import Granularity

if TYPE_CHECKING:
    from pathlib import Path

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

    One generation is checked; memory for some thousand rows is needed, and for one index at a time.

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
    mend(store, findings)
    after, _ = _check(store, show_progress)
    return replace(after, repaired=tuple(findings.mendable))


def _check(store: UnitStore, show_progress: bool) -> tuple[VerifyReport, Findings]:
    findings = Findings()
    counts: dict[str, Any] = {}
    with store.connections.reading() as connection:
        snapshot = Snapshot(connection)
        try:
            if is_sound(snapshot, findings):
                counts = {name: snapshot.values(f"SELECT count(*) FROM {rows}")[0] for name, rows in _COUNTED.items()}  # noqa: S608
                check_rows(snapshot, findings)
                with progress_bar(show=show_progress, unit=" rows", total=sum(counts.values())) as bar:
                    check_texts(snapshot, findings, bar.update)
                    check_vectors(snapshot, findings, bar.update)
                    check_metadata(snapshot, findings, bar.update)
                if store.path and findings.all_mendable:  # else indexes have no measure
                    path = store.path
                    counts["indexes"] = sum(  # no file is written here meanwhile
                        store.views.at([], lambda *_, kind=kind: _check_index(snapshot, path, kind, findings))
                        for kind in Granularity
                    ) + store.views.at([], lambda *_: _check_lexical(snapshot, path, findings))
        except (sqlite3.DatabaseError, DamagedRowError, UnicodeDecodeError, ValueError) as error:
            findings.add(f"the database cannot be read to its end: {error}")
    return VerifyReport(**counts, problems=tuple(findings.problems)), findings


def _check_index(snapshot: Snapshot, folder: Path, kind: Granularity, findings: Findings) -> bool:
    """Check the files of an index against the database; tell whether there are any.

    Files of another generation are brought up to date when they are read next, and are checked for being readable.
    """
    path = folder / kind
    # Without a manifest they are what is left of files that were being written; they do not count, and are replaced.
    if not (folder / f"{kind}.json").exists():
        return False
    try:
        # Once more, in case another process was just writing them.
        cache = load(path, mmap=True) or load(path, mmap=True)
    except MissingDependencyError:  # without FAISS there are no searches, and the database counts alone
        return False
    problem = None
    if cache is None:
        problem = "is damaged: the next search builds it again"
    elif cache.stamp.get("generation") == snapshot.generation:
        index, columns = cache.index, snapshot.columns(kind)
        ids = columns.distinct_vectors()
        units = np.stack([getattr(columns, column.name) for column in fields(Columns)])
        if index.dim != snapshot.meta.get("dim"):
            problem = f"holds vectors of {index.dim} dimensions: the next search builds it again"
        elif not np.array_equal(cache.arrays.get("columns", ()), units) or not np.array_equal(np.sort(index.ids), ids):
            problem = "holds other units than the database: searches would miss some"
        elif not all(_agree(index, *block) for block in snapshot.vector_blocks(ids)):
            problem = "holds other vectors than the database: searches would be wrong"
    if problem:
        findings.add_mendable(f"the index {path} {problem}")
        findings.indexes.append(kind)
    return True


def _check_lexical(snapshot: Snapshot, folder: Path, findings: Findings) -> bool:
    """Do as `_check_index` for the words of passages."""
    path = folder / LEXICAL
    if not (folder / f"{LEXICAL}.json").exists() or not has_tantivy():
        return False
    cache = load_files(path, partial(read_lexical, path)) or load_files(path, partial(read_lexical, path))
    problem = None
    if cache is None or cache.index is None:
        problem = "is damaged: the next search builds it again"
    elif cache.generation == snapshot.generation and (
        len(cache.index) != len(cache.columns) or not np.array_equal(cache.columns.rows, snapshot.columns(LEXICAL).rows)
    ):
        problem = "holds other passages than the database: searches would miss some"
    if problem:
        findings.add_mendable(f"the index {path} {problem}")
        findings.indexes.append(LEXICAL)
    return True


def _agree(index: VectorIndex, ids: RowIds, vectors: Vectors) -> bool:
    """Tell whether an index holds these vectors, as far as it holds any exactly."""
    indexed = index.vectors(ids)
    return indexed is None or np.allclose(indexed, prepare(vectors, index.similarity), rtol=1e-5, atol=1e-7)
