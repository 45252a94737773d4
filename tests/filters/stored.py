"""Metadata in SQLite as a store holds it, and filters on it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from factoid.filters import INSERT_FIELD, SCHEMA, field_rows, passing_rows


def connect(rows):
    """Return a database whose metadata row i is `rows[i]`; equal ones stay apart here."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA.replace("UNIQUE", ""))
    for row, metadata in enumerate(rows):
        connection.execute(
            "INSERT INTO metadata (row, json) VALUES (?, ?)", (row, json.dumps(metadata))
        )
        connection.executemany(INSERT_FIELD, [(*field, row) for field in field_rows(metadata)])
    return connection


def passing(rows, tree):
    """Return the positions of the metadata that pass; fails where they are not in order, each
    once.
    """
    with closing(connect(rows)) as connection:
        answer = passing_rows(connection, tree).tolist()
    assert answer == sorted(set(answer))
    return answer
