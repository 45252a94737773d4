"""Small article stores, filled by hand."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from factoid.entities.articles.names import NameKind, name_key, split_title
from factoid.entities.articles.schema import NAME_INDEX, make_tables
from factoid.entities.articles.store import ArticleStore


def make_store(
    path: Path,
    articles: Iterable[str] | Mapping[str, str],
    *,
    redirects: Mapping[str, str] | None = None,
    aliases: Iterable[tuple[str, str]] = (),
    anchors: Iterable[tuple[str, str, int]] = (),
) -> ArticleStore:
    """Write a store of some titles (and their texts), names of other kinds to titles, and counts of links, and open it."""
    texts = articles if isinstance(articles, Mapping) else dict.fromkeys(articles, "")
    connection = sqlite3.connect(path)
    make_tables(connection)
    numbers = {title: number for number, title in enumerate(texts, start=1)}
    connection.executemany(
        "INSERT INTO article VALUES (?, ?, ?, NULL)",
        [(numbers[title], title, zlib.compress(text.encode())) for title, text in texts.items()],
    )
    names: list[tuple[str, int, int, str | None, int]] = []
    for title, number in numbers.items():
        names.append((name_key(title), NameKind.TITLE, number, None, 0))
        base, told = split_title(title)
        if told:
            names.append((name_key(base), NameKind.BASE, number, None, 0))
    for form, title in (redirects or {}).items():
        names.append((name_key(form), NameKind.REDIRECT, numbers[title], form, 0))
    for form, title in aliases:
        names.append((name_key(form), NameKind.ALIAS, numbers[title], form, 0))
    for form, title, count in anchors:
        names.append((name_key(form), NameKind.ANCHOR, numbers[title], form, count))
    connection.executemany("INSERT INTO name VALUES (?, ?, ?, ?, ?)", names)
    connection.execute(NAME_INDEX)
    connection.commit()
    connection.close()
    return ArticleStore(path)
