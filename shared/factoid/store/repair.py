"""What `verify` mends: only what follows from the rest of the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from factoid.filters import INSERT_FIELD, field_rows
from factoid.store.check_metadata import parsed
from factoid.store.checks import BLOCK, FIELDS, NUMBERED, SEQUENCE, UNUSED, unused
from factoid.store.connections import Connections
from factoid.store.index_files import remove_index
from factoid.store.interning import USES, drop_unused
from factoid.store.transaction import Transaction, transaction
from factoid.store.views import Views
from factoid.units import Granularity


def repair(connections: Connections, views: Views, parts: Collection[str]) -> None:
    """Make parts of a store anew.

    Args:
        connections: Of the store.
        views: Its indexes, which forget what they hold where their files are removed.
        parts: As in `factoid.store.checks.Findings.mendable`.
    """
    with transaction(connections) as writing:
        if SEQUENCE in parts:
            _number(writing)
        if UNUSED in parts:
            drop_all_unused(writing)
        if FIELDS in parts:
            _index_fields(writing)
    damaged = [kind for kind in Granularity if kind in parts]
    if connections.path is not None and damaged:
        views.forget()
        for kind in damaged:
            remove_index(connections.path, kind)


def drop_all_unused(writing: Transaction) -> None:
    """Delete the documents without text, the metadata and the vectors that no unit uses, a block at a time."""
    for table in USES:
        sql = f"SELECT row FROM {table} WHERE row > ? AND {unused(table)} ORDER BY row LIMIT {BLOCK}"  # noqa: S608
        last = 0
        while rows := [row for (row,) in writing.connection.execute(sql, [last])]:
            last = rows[-1]
            if table == "metadata":
                _drop_unreadable(writing, rows)
            drop_unused(writing.connection, table, rows)


def _drop_unreadable(writing: Transaction, rows: Sequence[int]) -> None:
    """Delete those of some unused metadata that are no JSON, and whose fields are therefore not known."""
    for row in rows:
        (text,) = writing.connection.execute("SELECT json FROM metadata WHERE row = ?", [row]).fetchone()
        if parsed(text) is None:
            writing.connection.execute("DELETE FROM fields WHERE metadata = ?", [row])
            writing.connection.execute("DELETE FROM metadata WHERE row = ?", [row])


def _number(writing: Transaction) -> None:
    for table in NUMBERED:
        largest = writing.connection.execute(f"SELECT coalesce(max(row), 0) FROM {table}").fetchone()[0]  # noqa: S608
        held = writing.connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]).fetchall()
        writing.connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", [table])
        seq = max([largest, *(int(seq) for (seq,) in held)])
        writing.connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, seq])


def _index_fields(writing: Transaction) -> None:
    connection = writing.connection
    connection.execute("DELETE FROM fields")
    last = 0
    sql = "SELECT row, json FROM metadata WHERE row > ? ORDER BY row LIMIT ?"
    while block := connection.execute(sql, [last, BLOCK]).fetchall():
        last = block[-1][0]
        for row, text in block:
            connection.executemany(INSERT_FIELD, [(*field, row) for field in field_rows(parsed(text) or {})])
