"""What units share: documents, metadata and vectors have a row for each distinct one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import DTypeLike

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError
from factoid.filters import DELETE_FIELD, INSERT_FIELD, field_rows
from factoid.store.records import digest, to_array

# What counts as used, for each table whose rows units share.
USES = {"documents": "document", "metadata": "metadata", "vectors": "vector"}


def intern_documents(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the rows of documents by id; those that are not there get one, without text."""
    given = [to_array(ids)]
    connection.execute("INSERT OR IGNORE INTO documents (id) SELECT value FROM json_each(?)", given)
    sql = "SELECT id, row FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(sql, given).fetchall())


def intern_metadata(connection: sqlite3.Connection, given: Iterable[str]) -> dict[str, int]:
    """Return the rows of metadata by their JSON; new ones get a row, and their fields with it."""
    rows: dict[str, int] = {}
    for text in given:
        held = connection.execute("SELECT row FROM metadata WHERE json = ?", [text]).fetchone()
        if held is None:
            held = [connection.execute("INSERT INTO metadata (json) VALUES (?)", [text]).lastrowid]
            connection.executemany(INSERT_FIELD, [(*field, held[0]) for field in field_rows(json.loads(text))])
        rows[text] = int(held[0])
    return rows


def intern_vectors(connection: sqlite3.Connection, vectors: Mapping[int, Vectors], kept: DTypeLike) -> dict[int, int]:
    """Return the row of each vector under the vector's own key; equal vectors share a row.

    Args:
        connection: In a transaction.
        vectors: Shape of each: (dim,).
        kept: The type in which they are kept.

    Raises:
        EncoderMismatchError: A component is too large for that type.
    """
    blobs: dict[int, bytes] = {}
    for key, vector in vectors.items():
        with np.errstate(over="ignore"):
            cast = vector.astype(kept)
        if not np.isfinite(cast).all():
            message = f"a vector has components beyond what {kept} holds: make the store with dtype='float32'"
            raise EncoderMismatchError(message)
        blobs[key] = cast.tobytes()
    return intern_blobs(connection, blobs)


def intern_blobs(connection: sqlite3.Connection, blobs: Mapping[int, bytes]) -> dict[int, int]:
    """Do as `intern_vectors` for vectors as bytes."""
    rows: dict[int, int] = {}
    for key, blob in blobs.items():
        own = digest(blob)
        held = connection.execute("SELECT row FROM vectors WHERE digest = ?", [own]).fetchone()
        if held is None:
            held = [connection.execute("INSERT INTO vectors (digest, vector) VALUES (?, ?)", [own, blob]).lastrowid]
        rows[key] = int(held[0])
    return rows


def drop_unused(connection: sqlite3.Connection, table: str, rows: Iterable[int | None]) -> None:
    """Delete those of the rows that no unit uses any more."""
    given = [to_array({row for row in rows if row is not None})]
    unused = f"""row IN (SELECT value FROM json_each(?))
        AND NOT EXISTS (SELECT 1 FROM units WHERE units.{USES[table]} = {table}.row)"""  # noqa: S608
    if table == "metadata":
        for row, text in connection.execute(f"SELECT row, json FROM metadata WHERE {unused}", given).fetchall():  # noqa: S608
            connection.executemany(DELETE_FIELD, [(*field, row) for field in field_rows(json.loads(text))])
    connection.execute(f"DELETE FROM {table} WHERE {unused}", given)  # noqa: S608
