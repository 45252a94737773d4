"""What `verify` checks in the database: SQLite's own structure, references between rows, and vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from factoid.store.interning import USES
from factoid.store.records import digest
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity

BLOCK = 1000
NUMBERED = ("documents", "metadata", "vectors", "units")  # tables whose rows are never given twice
UNUSED, SEQUENCE, FIELDS, INDEX = "unused rows", "row numbers", "fields", "index"

_SHOWN = 3  # examples that a problem names
_LOST = "Restore the store from a backup, or export what can still be read and index the rest again"
_AGAIN = "Add them again with their texts and vectors, or delete them"


@dataclass(slots=True)
class Findings:
    """What is wrong with a store.

    Attributes:
        problems: In plain words, each with what to do.
        mendable: Parts that `factoid.store.repair` can make anew, each with what is wrong.
    """

    problems: list[str] = field(default_factory=list)
    mendable: dict[str, str] = field(default_factory=dict)

    def add(self, problem: str, remedy: str) -> None:
        """Note what only a person can mend."""
        self.problems.append(f"{problem}. {remedy}")

    def add_lost(self, problem: str) -> None:
        """Note what cannot be mended from this store alone."""
        self.add(problem, _LOST)

    def add_mendable(self, part: str, problem: str) -> None:
        """Note what can be made anew from the rest of the store."""
        self.mendable[part] = problem
        self.add(problem, "Mend it with verify(repair=True), or factoid store verify --repair")


def unused(table: str) -> str:
    """Return the condition for rows that no unit uses; a document is used for its text, too."""
    own = " AND text IS NULL" if table == "documents" else ""
    return f"NOT EXISTS (SELECT 1 FROM units WHERE units.{USES[table]} = {table}.row){own}"  # noqa: S608


def is_sound(snapshot: Snapshot, found: Findings) -> bool:
    """Let SQLite check its own file; tell whether it is worth reading further."""
    said = [row[0] for row in snapshot.connection.execute(f"PRAGMA integrity_check({_SHOWN})")]
    if said == ["ok"]:
        return True
    lines = "; ".join(" ".join(line.split()) for line in said)
    found.add_lost(f"the database is damaged ({lines})")
    return False


def check_rows(snapshot: Snapshot, found: Findings) -> None:
    """Check that what rows name is there, and that all of it is needed."""
    connection = snapshot.connection
    for table, column in USES.items():
        there = f"EXISTS (SELECT 1 FROM {table} WHERE row = units.{column})"  # noqa: S608
        where = f"units.{column} IS NOT NULL AND NOT {there}"
        count, ids = _units(snapshot, where)
        if count:
            found.add(f"{count:,} units name {table} that are not there ({ids})", _AGAIN)
    known = ", ".join(f"'{kind}'" for kind in Granularity)
    count, ids = _units(snapshot, f"granularity NOT IN ({known})")
    if count:
        found.add(f"{count:,} units are of an unknown granularity ({ids})", _AGAIN)
    spare = {
        table: connection.execute(f"SELECT count(*) FROM {table} WHERE {unused(table)}").fetchone()[0]  # noqa: S608
        for table in USES
    }
    if any(spare.values()):
        counts = ", ".join(f"{count:,} of {table}" for table, count in spare.items() if count)
        found.add_mendable(UNUSED, f"rows are left that no unit uses ({counts})")
    behind = [table for table in NUMBERED if _behind(snapshot, table)]
    if behind:
        found.add_mendable(SEQUENCE, f"row numbers of {', '.join(behind)} would be given a second time")
    if snapshot.get("dim") is None and connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchone():
        found.add_lost("the store holds vectors, and not their dimension")


def check_vectors(snapshot: Snapshot, found: Findings, progress: Callable[[int], object]) -> None:
    """Check every vector against its digest, its length against the store's, and that it is finite."""
    dtype = snapshot.dtype
    size = int(snapshot.get("dim") or 0) * dtype.itemsize
    wrong: dict[str, list[int]] = {"changed on disk": [], "are of another dimension": [], "are not finite": []}
    changed, resized, endless = wrong.values()
    last = 0
    sql = "SELECT row, digest, vector FROM vectors WHERE row > ? ORDER BY row LIMIT ?"
    while block := snapshot.connection.execute(sql, [last, BLOCK]).fetchall():
        last = block[-1][0]
        for row, held, blob in block:
            if not isinstance(blob, bytes) or digest(blob) != held:
                changed.append(row)
            elif len(blob) != size:
                resized.append(row)
            elif not np.isfinite(np.frombuffer(blob, dtype)).all():
                endless.append(row)
        progress(len(block))
    for what, rows in wrong.items():
        if rows:
            some = ", ".join(map(str, rows[:_SHOWN]))
            _, ids = _units(snapshot, f"vector IN ({some})")
            found.add(f"{len(rows):,} vectors {what} (of units such as {ids})", _AGAIN)


def _units(snapshot: Snapshot, where: str) -> tuple[int, str]:
    """Return how many units meet a condition, and some of their ids."""
    connection = snapshot.connection
    count = connection.execute(f"SELECT count(*) FROM units WHERE {where}").fetchone()[0]  # noqa: S608
    rows = connection.execute(f"SELECT id FROM units WHERE {where} ORDER BY row LIMIT {_SHOWN}").fetchall()  # noqa: S608
    return count, shown([own for (own,) in rows], count)


def shown(values: Sequence[object], count: int) -> str:
    """Return some values as text, with dots where there are more."""
    return ", ".join([*map(repr, values[:_SHOWN]), *(["…"] if count > _SHOWN else [])])


def _behind(snapshot: Snapshot, table: str) -> bool:
    held = snapshot.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchone()
    largest = snapshot.connection.execute(f"SELECT coalesce(max(row), 0) FROM {table}").fetchone()[0]  # noqa: S608
    return int(held[0] if held else 0) < int(largest)
