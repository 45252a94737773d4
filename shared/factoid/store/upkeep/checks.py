"""What `verify` checks in the database: SQLite's own structure, references between rows, texts, vectors and metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from factoid.filters import field_rows
from factoid.store.database.records import DamagedRowError, digest, parse_metadata, to_document
from factoid.store.database.schema import SCHEMA
from factoid.store.database.snapshot import DOCUMENT, UNIT, Snapshot, to_units
from factoid.store.database.transaction import USES, unused
from factoid.units import Granularity

NUMBERED = ("documents", "metadata", "vectors", "units")  # tables whose rows are never given twice

_SHOWN = 3  # examples that a problem names
_UNREADABLE = 1000  # rows of damaged metadata that are left out of the count of fields
_LOST = "Restore the store from a backup, or export what can still be read and index the rest again"
_MEND = "Mend it with verify(repair=True), or factoid store verify --repair"
_AGAIN = "Add them again with their texts and vectors, or delete them"

Progress = Callable[[int], object]


@dataclass(slots=True)
class Findings:
    """What is wrong with a store: problems with what to do, those that can be mended, and the indexes to be removed."""

    problems: list[str] = field(default_factory=list)
    mendable: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)

    def add(self, problem: str, remedy: str = _LOST) -> None:
        """Note what only a person can mend."""
        self.problems.append(f"{problem}. {remedy}")

    def add_mendable(self, problem: str, remedy: str = _MEND) -> None:
        """Note what `verify(repair=True)` makes anew."""
        self.mendable.append(problem)
        self.add(problem, remedy)

    @property
    def all_mendable(self) -> bool:
        """Whether nothing is wrong that only a person can mend."""
        return len(self.problems) == len(self.mendable)


def last_rows(snapshot: Snapshot, table: str) -> tuple[int, int]:
    """Return the last row number that a table gave by SQLite's record, and the largest that it holds."""
    recorded = snapshot.values("SELECT seq FROM sqlite_sequence WHERE name = ?", [table])
    largest = snapshot.values(f"SELECT coalesce(max(row), 0) FROM {table}")  # noqa: S608
    return max(map(int, recorded), default=0), largest[0]


def is_sound(snapshot: Snapshot, findings: Findings) -> bool:
    """Let SQLite check its own file; tell whether it is worth reading further."""
    lines = snapshot.values(f"PRAGMA integrity_check({_SHOWN})")
    present = {" ".join(sql.split()) for sql in snapshot.values("SELECT sql FROM sqlite_master") if sql}
    lines += [f"altered: {sql}" for sql in SCHEMA if " ".join(sql.split()) not in present]
    if lines != ["ok"]:
        findings.add(f"the database is damaged ({'; '.join(' '.join(line.split()) for line in lines)})")
    return lines == ["ok"]


def check_rows(snapshot: Snapshot, findings: Findings) -> None:
    """Check that what rows name is there, and that all of it is needed."""
    known = ", ".join(map(repr, map(str, Granularity)))
    conditions = {"are of an unknown granularity": f"granularity NOT IN ({known})"}
    for table, column in USES.items():
        condition = f"{column} IS NOT NULL AND {column} NOT IN (SELECT row FROM {table})"  # noqa: S608
        conditions[f"name {table} that are not there"] = condition
    for problem, condition in conditions.items():
        if count := _count(snapshot, f"units WHERE {condition}"):
            findings.add(f"{count:,} units {problem} ({_ids(snapshot, condition)})", _AGAIN)
    spare = {table: _count(snapshot, f"{table} WHERE {unused(table)}") for table in USES}
    if any(spare.values()):
        counts = ", ".join(f"{count:,} of {table}" for table, count in spare.items() if count)
        findings.add_mendable(f"rows are left that no unit uses ({counts})")
    if not snapshot.commits(int(snapshot.meta.get("forgotten") or 0))[1]:
        findings.add_mendable("what open readers are told of commits is not what was written")
    last = {table: last_rows(snapshot, table) for table in NUMBERED}
    behind = ", ".join(table for table, (recorded, largest) in last.items() if recorded < largest)
    if behind:
        findings.add_mendable(f"row numbers of {behind} would be given a second time")
    if snapshot.meta.get("dim") is None and _count(snapshot, "vectors"):
        findings.add("the store holds vectors, and not their dimension")


def check_texts(snapshot: Snapshot, findings: Findings, progress: Progress) -> None:
    """Check every unit and document against its checksum, and that none of them is lost."""
    units = f"""SELECT units.id, {UNIT} FROM units NOT INDEXED LEFT JOIN documents ON documents.row = units.document
        LEFT JOIN metadata ON metadata.row = units.metadata ORDER BY units.row"""  # noqa: S608
    documents = f"SELECT id, {DOCUMENT} FROM documents NOT INDEXED ORDER BY row"  # noqa: S608
    for table, sql in (("units", units), ("documents", documents)):
        changed, total = [], 0
        for row_id, *content in snapshot.connection.execute(sql):
            try:
                if table == "units":
                    to_units([content])
                else:
                    to_document(content)
                total += content[0]
            except DamagedRowError:
                changed.append(row_id)
            progress(1)
        if changed:
            findings.add(f"{len(changed):,} {table} changed on disk ({_some(changed)})", _AGAIN)
        elif total != snapshot.meta.get(table):
            remedy = "Add what is missing again; verify(repair=True) then takes what is there for all"
            findings.add_mendable(f"{table} were lost: there are others than were written", remedy)


def check_vectors(snapshot: Snapshot, findings: Findings, progress: Progress) -> None:
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


def check_metadata(snapshot: Snapshot, findings: Findings, progress: Progress) -> None:
    """Check the metadata of units, and the fields by which filters find them."""
    expected = missing = 0
    unreadable: list[int] = []
    sql = "SELECT count(*) FROM fields WHERE key = ? AND kind = ? AND value = ? AND metadata = ?"
    for row, text in snapshot.connection.execute("SELECT row, json FROM metadata ORDER BY row"):
        metadata = parse_metadata(text)
        if metadata is None:
            unreadable.append(row)
        for columns in field_rows(metadata or {}):
            expected += 1
            missing += not snapshot.values(sql, [*columns, row])[0]
        progress(1)
    if unreadable:
        remedy = "Add the units that have them again, or delete them"
        findings.add(f"{len(unreadable):,} metadata are no JSON objects (rows {_some(unreadable)})", remedy)
    # What the fields of unreadable metadata were is not known.
    known = f"fields WHERE metadata NOT IN ({', '.join(map(str, unreadable[:_UNREADABLE]))})"
    surplus = _count(snapshot, known) - (expected - missing)
    if missing or surplus > 0:
        findings.add_mendable(
            f"filters would miss {missing:,} fields of metadata, and find {max(surplus, 0):,} too many"
        )


def _count(snapshot: Snapshot, source: str) -> int:
    return int(snapshot.values(f"SELECT count(*) FROM {source}")[0])  # noqa: S608


def _ids(snapshot: Snapshot, where: str) -> str:
    """Return some ids of the units that meet a condition."""
    return _some(snapshot.values(f"SELECT id FROM units WHERE {where} ORDER BY row LIMIT {_SHOWN + 1}"))  # noqa: S608


def _some(values: Sequence[object]) -> str:
    """Return the first values as text, with dots where there are more."""
    return ", ".join([*map(repr, values[:_SHOWN]), *(["…"] if len(values) > _SHOWN else [])])
