"""Repair what follows from the rest of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factoid.filters import INSERT_FIELD, field_rows
from factoid.propositions.cache import PropositionCache
from factoid.store.database.records import parse_metadata
from factoid.store.database.snapshot import SUMMED
from factoid.store.database.transaction import USES, Transaction, transaction
from factoid.store.indexes.build import remove_index
from factoid.store.upkeep.checks import NUMBERED, Findings, in_blocks, last_rows, unused

if TYPE_CHECKING:
    from factoid.store.unit_store import UnitStore


def repair(store: UnitStore, findings: Findings) -> None:
    """Make anew what follows from the rest of the store; indexes that are wrong lose their files and are built again."""
    with transaction(store.connections) as writing:
        for table in NUMBERED:
            last = max(last_rows(writing, table))
            writing.connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", [table])
            writing.connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, last])
        drop_all_unused(writing)
        writing.connection.execute("DELETE FROM fields")
        for block in in_blocks(writing, "metadata", "json"):
            for row, text in block:
                fields = [(*field, row) for field in field_rows(parse_metadata(text) or {})]
                writing.connection.executemany(INSERT_FIELD, fields)
        writing.forget_changes()
        for table in SUMMED if findings.all_mendable else ():  # else what is lost would not be missed any more
            writing.put(table, writing.values(f"SELECT coalesce(sum(checksum), 0) FROM {table}")[0])  # noqa: S608
    if store.path is not None and findings.indexes:
        store.views.forget()
        for kind in findings.indexes:
            remove_index(store.path, kind)


def drop_all_unused(writing: Transaction) -> None:
    """Delete the documents without text, the metadata and the vectors that no unit uses, a block at a time."""
    for table in USES:
        column = "json" if table == "metadata" else "NULL"
        for block in in_blocks(writing, table, column, unused(table)):
            if table == "metadata":  # of what cannot be read, the fields are not known
                unreadable = [[row] for row, text in block if parse_metadata(text) is None]
                writing.connection.executemany("DELETE FROM fields WHERE metadata = ?", unreadable)
            writing.drop_unused(table, [row for row, _ in block])


def retry_failures(store: UnitStore) -> int:
    """Have documents with failed passages decomposed again when they are added next, the failures forgotten.

    What failed is kept like any result, since a model would mostly fail again: use this when something else has changed. A
    shared cache is to be told with `PropositionCache.forget(failures=True)`.

    Returns:
        The number of those documents.
    """
    with transaction(store.connections) as writing:
        count = writing.forget_failures()
    if store.path is not None:
        PropositionCache(store.path).forget(failures=True)
    return count
