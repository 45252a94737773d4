"""Connections to files that may be damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from factoid.files.disk_errors import is_damage
from factoid.files.sqlite import connect


def test_a_message_of_sqlite_that_is_not_utf_8_is_an_error_of_sqlite(tmp_path):
    """A damaged schema is quoted in SQLite's messages."""
    file = tmp_path / "a.sqlite"
    with closing(connect(file)) as connection:
        connection.execute("CREATE TABLE names (a)")
        connection.execute("CREATE TABLE other (a)")
    content = (
        file.read_bytes()
        .replace(b"CREATE TABLE other", b"CREATE TABEL other")
        .replace(b"other", b"oth\xffr")
    )
    file.write_bytes(content)
    with closing(connect(file)) as connection, pytest.raises(sqlite3.DatabaseError) as raised:
        connection.execute("SELECT count(*) FROM sqlite_master")
    assert is_damage(raised.value)
