"""What an article store holds, in numbers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from factoid.entities.articles.names import NameKind
from factoid.entities.articles.state import State


@dataclass(frozen=True, slots=True)
class ArticleStats:
    """What an article store holds.

    Attributes:
        articles: How many.
        names: How many names of each kind, by the kind's name in lower case.
        outside: How many names redirect to articles that are not in it.
        links: How many links the articles had where it was built.
        words: How many words of each article it keeps.
        sources: What it was built from.
        format: Version of its tables.
        bytes: Size of the file.
    """

    articles: int
    names: Mapping[str, int] = field(hash=False)
    outside: int
    links: int
    words: int
    sources: tuple[str, ...]
    format: int
    bytes: int


def write_meta(connection: sqlite3.Connection, state: State) -> None:
    """Fill the table `meta`, from which stats are read."""
    kinds = dict(connection.execute("SELECT kind, COUNT(*) FROM main.name GROUP BY kind"))
    meta = {
        "articles": state.read_articles - state.duplicates,
        "names": {kind.name.lower(): kinds.get(int(kind), 0) for kind in NameKind},
        "outside": connection.execute("SELECT COUNT(*) FROM main.outside").fetchone()[0],
        "links": state.links,
        "words": state.words,
        "sources": state.sources,
    }
    rows = [(key, json.dumps(value, ensure_ascii=False)) for key, value in meta.items()]
    connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the table `meta`: values as JSON."""
    return dict(connection.execute("SELECT key, value FROM main.meta"))
