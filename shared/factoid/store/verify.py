"""Whether a store is whole: its database, what its rows say of each other, and its index files."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from factoid.progress import progress_bar
from factoid.store.check_metadata import check_metadata
from factoid.store.checks import Findings, check_rows, check_vectors, is_sound
from factoid.store.connections import Connections
from factoid.store.index_files import check_index
from factoid.store.repair import repair
from factoid.store.snapshot import Snapshot
from factoid.store.views import Views
from factoid.units import Granularity

_COUNTS = {
    "units": "SELECT count(*) FROM units",
    "documents": "SELECT count(*) FROM documents WHERE text IS NOT NULL",
    "vectors": "SELECT count(*) FROM vectors",
    "metadata": "SELECT count(*) FROM metadata",
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
        found = [f"mended: {each}" for each in self.repaired] + [f"problem: {each}" for each in self.problems]
        return "\n".join([counts, *found] if found else [f"{counts}: all is well"])


def verify(connections: Connections, views: Views, *, mend: bool = False, show_progress: bool = False) -> VerifyReport:
    """Check one generation of a store; memory for some thousand rows is needed, and for one index at a time.

    Args:
        connections: Of the store.
        views: Its indexes, which forget what they hold where their files are removed.
        mend: Make anew what follows from the rest of the store, and check again.
        show_progress: Show a progress bar over vectors and metadata.

    Raises:
        StoreError: The store is closed, or is to be mended and is read-only or cannot be written.
    """
    report, found = _checked(connections, views, show_progress=show_progress)
    if not mend or not found.mendable:
        return report
    repair(connections, views, found.mendable)
    after, _ = _checked(connections, views, show_progress=show_progress)
    return replace(after, repaired=tuple(found.mendable.values()))


def _checked(connections: Connections, views: Views, *, show_progress: bool) -> tuple[VerifyReport, Findings]:
    found = Findings()
    counts: dict[str, Any] = {}
    with connections.reading() as connection:
        snapshot = Snapshot(connection)
        try:
            if is_sound(snapshot, found):
                counts = {name: connection.execute(sql).fetchone()[0] for name, sql in _COUNTS.items()}
                check_rows(snapshot, found)
                total = counts["vectors"] + counts["metadata"]
                with progress_bar(show=show_progress, unit=" rows", total=total) as bar:
                    check_vectors(snapshot, found, bar.update)
                    check_metadata(snapshot, found, bar.update)
                if len(found.problems) == len(found.mendable):  # else there is nothing to hold indexes against
                    counts["indexes"] = 0
                    for kind in Granularity:
                        with views.unwritten(kind):
                            counts["indexes"] += check_index(snapshot, connections.path, kind, found)
        except (sqlite3.DatabaseError, UnicodeDecodeError, json.JSONDecodeError) as error:
            found.add_lost(f"the database cannot be read to its end: {error}")
    return VerifyReport(**counts, problems=tuple(found.problems)), found
