"""The SQLite file of a store: what it is called, how it is told from others, how it waits and what its errors mean."""

from __future__ import annotations

import sqlite3
import time

APPLICATION_ID = 0x0FAC701D
FORMAT = 2  # of the tables in `factoid.store.schema`; see `factoid.store.migrate`
READABLE = (1, FORMAT)
FILE = "units.sqlite"

WAIT = 30  # seconds that a write waits for the write of another process


def explain(error: sqlite3.Error) -> str:
    """Return what SQLite reports, and what to do about it where that is known."""
    said = str(error)
    if "locked" in said:
        return f"{said}. Another process has been writing for {WAIT} seconds: try again when it is done"
    if "full" in said or "disk I/O" in said:
        return f"{said}. What was committed before is safe. Free some space and run again"
    if "readonly" in said:
        return f"{said}. Open it with read_only=True, or make its folder writable"
    return said


def use_wal(connection: sqlite3.Connection) -> None:
    """Turn on the write-ahead log, for which SQLite itself does not wait while another process makes the store."""
    end = time.monotonic() + WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return
