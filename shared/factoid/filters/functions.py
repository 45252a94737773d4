"""The SQL functions that filters call, for what SQLite does not compare as Python does."""

from __future__ import annotations

import json
import sqlite3
from functools import lru_cache

from factoid.filters.match import matches, mismatch, text_match_insensitive
from factoid.filters.tree import from_cache_key


def register(connection: sqlite3.Connection) -> None:
    """Give a connection the SQL functions that filters call. Needed once, before any SELECT of a filter."""
    for name, function in (
        ("factoid_matches", _matches),
        ("factoid_mismatches", _mismatches),
        ("factoid_text_match", text_match_insensitive),
    ):
        connection.create_function(name, 2, function, deterministic=True)
    connection.create_function("factoid_value", 1, json.loads, deterministic=True)


def _matches(metadata: str, tree: str) -> bool:
    return matches(_tree(tree), json.loads(metadata))


def _mismatches(metadata: str, tree: str) -> bool:
    return mismatch(_tree(tree), json.loads(metadata)) is not None


_tree = lru_cache(maxsize=64)(from_cache_key)
