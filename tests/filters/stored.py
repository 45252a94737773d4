"""Metadata in SQLite as a store holds it, and filters on it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

from factoid.filters import INSERT_FIELD, SCHEMA, field_rows, register, select_metadata, select_mismatches


def connect(rows):
    """Return a database whose metadata row i is `rows[i]`; equal ones stay apart here."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA.replace("UNIQUE", ""))
    register(connection)
    for row, metadata in enumerate(rows):
        connection.execute("INSERT INTO metadata (row, json) VALUES (?, ?)", (row, json.dumps(metadata)))
        connection.executemany(INSERT_FIELD, [(*field, row) for field in field_rows(metadata)])
    return connection


def passing(rows, tree):
    """Return the positions of the metadata that pass, in order; fails where one comes twice."""
    with closing(connect(rows)) as connection:
        blind, counted = select_metadata(tree), select_metadata(tree, connection)
        found = answer(connection, *blind)
        assert answer(connection, *counted) == found
    return found


def mismatching(rows, tree):
    with closing(connect(rows)) as connection:
        return answer(connection, *select_mismatches(tree))


def answer(connection, sql, parameters):
    found = sorted(row for (row,) in connection.execute(sql, parameters))
    assert len(found) == len(set(found))
    return found
