"""Check that every row of an article store is as it was written."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from factoid.entities.articles.file import ARTICLES, ArticleFile, name_checksum, read_article
from factoid.entities.articles.names import NameKind
from factoid.files.sqlite import any_text
from factoid.forks import at_work

_SHOWN = 3  # examples that a problem names
_AGAIN = "Build it again with factoid build-articles, or restore it from a backup"
_NAMES = """SELECT checksum, (SELECT title FROM article WHERE id = article),
    key, kind, article, form, count, COUNT(*) OVER (PARTITION BY key) FROM name"""


def verify_articles(file: ArticleFile) -> list[str]:
    """Return what is wrong with an article store that was just opened.

    See `ArticleStore.verify`.
    """
    meta = file.meta
    place = f"the article store in {file.place}"
    with at_work(), closing(file.connect()) as connection:
        connection.text_factory = any_text
        try:
            lines = [line for (line,) in connection.execute(f"PRAGMA integrity_check({_SHOWN})")]
            if lines != ["ok"]:
                return [f"{place} is damaged ({'; '.join(lines)}). {_AGAIN}"]
            return [*_articles(connection, meta["articles"]), *_names(connection, meta["names"])]
        except sqlite3.Error as error:
            return [f"{place} cannot be read: {error}. {_AGAIN}"]


def _articles(connection: sqlite3.Connection, expected: int) -> Iterable[str]:
    damaged = []
    count = 0
    for row in connection.execute(ARTICLES):
        count += 1
        try:
            read_article(*row)
        except ValueError:
            damaged.append(row[1])
    if damaged:
        yield f"{len(damaged):,} articles changed on disk ({_some(damaged)}). {_AGAIN}"
    if count != expected:
        yield f"{count:,} of {expected:,} articles are there. {_AGAIN}"


def _names(connection: sqlite3.Connection, expected: dict[str, int]) -> Iterable[str]:
    damaged: dict[Any, None] = {}
    counts: Counter[Any] = Counter()
    for written, title, key, kind, *rest in connection.execute(_NAMES):
        counts[kind] += 1
        try:
            intact = name_checksum(title, key, kind, *rest) == written
        except (TypeError, ValueError):
            intact = False
        if not intact:
            damaged[key] = None
    if damaged:
        yield f"{len(damaged):,} names changed on disk ({_some([*damaged])}). {_AGAIN}"
    stated = {}
    for kind in NameKind:
        if number := expected.get(kind.name.lower()):
            stated[int(kind)] = number
    if counts != stated:
        yield f"{counts.total():,} of {sum(expected.values()):,} names are there. {_AGAIN}"


def _some(values: list[Any]) -> str:
    """Return the first values, with dots if there are more."""
    examples = [f"{value!r:.60}" for value in values[:_SHOWN]]
    if len(values) > _SHOWN:
        examples.append("…")
    return ", ".join(examples)
