"""From the tables of earlier formats to those of today's, inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from factoid.store.interning import intern_blobs, intern_documents, intern_metadata

# What LlamaIndex's nodes left in the metadata of units before units had a payload.
_PAYLOAD = ("_node_content", "_node_type", "_stand_in")
_FILTERED = "_node_type"  # LlamaIndex's filters find it, so it stays, too
_DROPPED = "_ids"  # ids of the unit, its parent and its document, which filters find in columns now

_BLOCK = 1000


def migrate(connection: sqlite3.Connection, found: int, tables: str) -> None:
    """Make today's tables, and move what is there into them.

    Args:
        connection: In a transaction.
        found: The format found; 0 for an empty database.
        tables: Today's tables, as SQL statements parted by semicolons.
    """
    if found == 1:
        for index in ("units_by_parent", "units_by_document", "units_by_granularity"):
            connection.execute(f"DROP INDEX {index}")
        for table in ("meta", "documents", "units"):
            connection.execute(f"ALTER TABLE {table} RENAME TO {table}_1")
    for statement in tables.split(";"):
        connection.execute(statement)
    if found == 1:
        _from_1(connection)
        for table in ("meta", "documents", "units"):
            connection.execute(f"DROP TABLE {table}_1")


def _from_1(connection: sqlite3.Connection) -> None:
    # Rows of units stay, so that they come in the order in which they were added.
    connection.execute("INSERT OR REPLACE INTO meta SELECT key, value FROM meta_1")
    connection.execute("DELETE FROM commits")
    connection.execute(
        "INSERT INTO commits SELECT value, (SELECT coalesce(max(row), 0) FROM units_1) FROM meta WHERE key = 'generation'"
    )
    connection.execute(
        """INSERT INTO documents (id, text, title, section, metadata, digest)
        SELECT id, text, title, section, metadata, digest FROM documents_1"""
    )
    columns = 'row, id, text, granularity, document_id, parent_id, start, "end", title, section, metadata, vector'
    last = 0
    sql = f"SELECT {columns} FROM units_1 WHERE row > ? ORDER BY row LIMIT {_BLOCK}"  # noqa: S608
    while block := connection.execute(sql, [last]).fetchall():
        last = block[-1][0]
        _move(connection, block)


def _move(connection: sqlite3.Connection, block: list[tuple[Any, ...]]) -> None:
    documents = intern_documents(connection, dict.fromkeys(row[4] for row in block))
    parted = [_parted(json.loads(row[10])) for row in block]
    metadata = intern_metadata(connection, dict.fromkeys(own for own, _ in parted))
    vectors = intern_blobs(connection, {row[0]: row[11] for row in block if row[11] is not None})
    connection.executemany(
        "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (*row[:4], documents[row[4]], *row[5:10], metadata[own], vectors.get(row[0]), payload)
            for row, (own, payload) in zip(block, parted, strict=True)
        ],
    )


def _parted(metadata: dict[str, object]) -> tuple[str, str]:
    """Return metadata as JSON, and the payload that was among them."""
    payload = {key: metadata[key] for key in _PAYLOAD if key in metadata}
    if payload:
        gone = {*_PAYLOAD, _DROPPED} - {_FILTERED}
        metadata = {key: value for key, value in metadata.items() if key not in gone}
    return json.dumps(metadata), json.dumps(payload) if payload else ""
