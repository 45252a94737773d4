"""The cache of propositions of one store added to that of another: what models were paid for is not asked again."""

from __future__ import annotations

import sqlite3

from factoid.propositions import PropositionCache
from factoid.store.connections import Connections
from factoid.store.rows import BLOCK
from factoid.store.snapshot import Snapshot

# An answer takes the place of a failure, and never the other way round.
_INSERT = """INSERT INTO propositions (key, name, output, reason) VALUES (?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET (output, reason) = (excluded.output, excluded.reason)
    WHERE propositions.reason IS NOT NULL AND excluded.reason IS NULL"""
_SELECT = "SELECT row, key, name, output, reason FROM propositions WHERE row > ? ORDER BY row LIMIT ?"


def merge_propositions(own: Connections, theirs: Snapshot) -> int:
    """Add cached propositions, and return how many were new; a store in memory has no cache, and takes none."""
    if own.path is None or not _has_cache(theirs.connection):
        return 0
    added = last = 0
    while block := theirs.connection.execute(_SELECT, [last, BLOCK]).fetchall():
        last = block[-1][0]
        with own.reading() as connection:
            made = _has_cache(connection)
        if not made:
            with PropositionCache(own.path) as cache:
                cache.count()  # makes the tables
        with own.writing() as connection:
            before = connection.total_changes
            connection.executemany(_INSERT, [row[1:] for row in block])
            added += connection.total_changes - before
    return added


def _has_cache(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'propositions'").fetchone() is not None
