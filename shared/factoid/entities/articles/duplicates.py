"""Articles of one title: one of them stays."""

from __future__ import annotations

import json
import sqlite3
import zlib
from typing import Literal

from factoid.entities.articles.batch import compress
from factoid.entities.articles.report import EXAMPLES
from factoid.entities.articles.state import State
from factoid.errors import InvalidInputError
from factoid.words import cut_words

Duplicates = Literal["first", "last", "join", "error"]
_EMPTIED = 0.05  # share of the pages of a file that is worth writing it anew


def list_titles(connection: sqlite3.Connection) -> None:
    """Make the table `spill.title`, in which a title's article is found, and `spill.duplicate`, of what goes."""
    connection.execute(
        "CREATE TABLE spill.title (title TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (title, id)) WITHOUT ROWID"
    )
    connection.execute("INSERT INTO spill.title SELECT title, id FROM article ORDER BY title, id")
    connection.execute("CREATE TABLE spill.duplicate (id INTEGER PRIMARY KEY, kept INTEGER NOT NULL)")


def settle_duplicates(connection: sqlite3.Connection, state: State, how: Duplicates) -> None:
    """Keep one article of each title, and note in the state how many went.

    Raises:
        InvalidInputError: There are such, and `how` is "error".
    """
    kept = "MAX" if how == "last" else "MIN"
    connection.execute(
        "INSERT INTO spill.duplicate SELECT title.id, several.kept FROM "  # noqa: S608
        f"(SELECT title, {kept}(id) AS kept FROM spill.title GROUP BY title HAVING COUNT(*) > 1) AS several "
        "JOIN spill.title AS title ON title.title = several.title AND title.id != several.kept"
    )
    (state.duplicates,) = connection.execute("SELECT COUNT(*) FROM spill.duplicate").fetchone()
    if not state.duplicates:
        return
    named = connection.execute(
        "SELECT DISTINCT article.title FROM spill.duplicate JOIN article USING (id) ORDER BY duplicate.id LIMIT ?",
        [EXAMPLES],
    )
    state.duplicate_examples = [title for (title,) in named]
    if how == "error":
        message = (
            f"{state.duplicates} articles have a title that another one had before: "
            f"{', '.join(map(repr, state.duplicate_examples))}{', …' if state.duplicates > EXAMPLES else ''}. "
            'Choose with duplicates="first", "last" or "join" which to keep; what was read is not read again'
        )
        raise InvalidInputError(message)
    if how == "join":
        _join(connection, state.words)
        connection.execute(
            "UPDATE spill.alias SET article = (SELECT kept FROM spill.duplicate WHERE id = article) "
            "WHERE article IN (SELECT id FROM spill.duplicate)"
        )
    for table, column in (("spill.title", "id"), ("spill.alias", "article"), ("body", "id"), ("article", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM spill.duplicate)")  # noqa: S608


def worth_vacuuming(connection: sqlite3.Connection) -> bool:
    """Tell whether articles that went left much of the file empty."""
    (free,) = connection.execute("PRAGMA main.freelist_count").fetchone()
    (pages,) = connection.execute("PRAGMA main.page_count").fetchone()
    return bool(free > _EMPTIED * pages)


def _join(connection: sqlite3.Connection, words: int) -> None:
    """Append the texts of those that go to that of the first, whose metadata go before theirs."""
    rows = connection.execute("SELECT kept, id FROM spill.duplicate ORDER BY kept, id")
    for kept, other in rows:
        (first, own), (second, further) = (_read(connection, number) for number in (kept, other))
        joined = cut_words(f"{first}\n\n{second}", words)
        metadata = json.dumps(further | own, ensure_ascii=False) if further or own else None
        connection.execute("UPDATE body SET text = ? WHERE id = ?", [compress(joined), kept])
        connection.execute("UPDATE article SET metadata = ? WHERE id = ?", [metadata, kept])


def _read(connection: sqlite3.Connection, number: int) -> tuple[str, dict[str, object]]:
    sql = "SELECT body.text, article.metadata FROM body JOIN article USING (id) WHERE id = ?"
    body, metadata = connection.execute(sql, [number]).fetchone()
    return zlib.decompress(body).decode(), json.loads(metadata) if metadata else {}
