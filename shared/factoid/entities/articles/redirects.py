"""Redirects to the articles that they lead to, straight or through other redirects."""

from __future__ import annotations

import sqlite3

from factoid.entities.articles.names import name_key
from factoid.entities.articles.report import EXAMPLES
from factoid.entities.articles.state import State

_FIRST = "(SELECT MIN(other.rowid) FROM spill.led AS other WHERE other.name = led.target)"
# What an open redirect's next one leads to is what it leads to itself; the next of a next is skipped to, so that the way
# halves: chains of any length are done in a few rounds.
_ROUND = (
    "UPDATE spill.led SET article = (SELECT there.article FROM spill.open JOIN spill.led AS there "
    "ON there.rowid = open.next WHERE open.id = led.rowid) WHERE rowid IN (SELECT open.id FROM spill.open "
    "JOIN spill.led AS there ON there.rowid = open.next WHERE there.article IS NOT NULL)",
    "DELETE FROM spill.open WHERE next NOT IN (SELECT id FROM spill.open) "
    "AND (SELECT article FROM spill.led WHERE rowid = next) IS NULL",  # leads to nothing
    "DELETE FROM spill.open WHERE (SELECT article FROM spill.led WHERE rowid = id) IS NOT NULL",
)
_SKIP = (
    "UPDATE spill.open SET next = (SELECT further.next FROM spill.open AS further WHERE further.id = open.next) "
    "WHERE next IN (SELECT id FROM spill.open)"
)
_OUTSIDE = "article IS NULL AND rowid NOT IN (SELECT id FROM spill.open)"


def follow_redirects(connection: sqlite3.Connection, state: State) -> None:
    """Make the table `spill.led` (name, target, article or NULL), and note what leads nowhere, also in the state.

    An article goes before a redirect of its name, and the first redirect of a name before others.
    """
    connection.create_function("name_key", 1, name_key, deterministic=True)
    connection.execute("CREATE TABLE spill.led (name TEXT NOT NULL, target TEXT NOT NULL, article INTEGER)")
    connection.execute(
        "INSERT INTO spill.led SELECT name, target, (SELECT id FROM spill.title WHERE title.title = target) "
        "FROM spill.redirect WHERE name != ''"
    )
    connection.execute("CREATE INDEX spill.led_name ON led (name)")
    connection.execute("CREATE TABLE spill.open (id INTEGER PRIMARY KEY, next INTEGER NOT NULL)")
    connection.execute(
        f"INSERT INTO spill.open SELECT * FROM (SELECT rowid, {_FIRST} AS next FROM spill.led WHERE article IS NULL) "  # noqa: S608
        "WHERE next IS NOT NULL"
    )
    while sum(connection.execute(statement).rowcount for statement in _ROUND):
        connection.execute(_SKIP)
    state.redirects, unresolved = _counts(connection)
    state.circular = connection.execute("SELECT COUNT(*) FROM spill.open").fetchone()[0]
    state.dangling = unresolved - state.circular
    connection.execute(
        "INSERT OR IGNORE INTO outside SELECT name_key(name), name, target FROM spill.led "  # noqa: S608
        f"WHERE {_OUTSIDE} AND name_key(name) != '' ORDER BY rowid"
    )
    state.circular_examples = _examples(connection, "rowid IN (SELECT id FROM spill.open)")
    state.dangling_examples = _examples(connection, _OUTSIDE)


def _counts(connection: sqlite3.Connection) -> tuple[int, int]:
    resolved, unresolved = connection.execute(
        "SELECT COUNT(article), COUNT(*) - COUNT(article) FROM spill.led"
    ).fetchone()
    return resolved, unresolved


def _examples(connection: sqlite3.Connection, which: str) -> list[str]:
    sql = f"SELECT name, target FROM spill.led WHERE {which} ORDER BY rowid LIMIT ?"  # noqa: S608
    return [f"{name} → {target}" for name, target in connection.execute(sql, [EXAMPLES])]
