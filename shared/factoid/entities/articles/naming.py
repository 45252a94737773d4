"""The names of a store: what articles are called anywhere, by their keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from factoid.entities.articles.names import NameKind, name_key, spelled_out, split_title, without_accents

Found = tuple[str, int, int, str | None, int]  # key, article, kind, form or None where it follows, count
NameRow = tuple[str, int, int, int, str | None, int]  # key, rank, kind, article, form, count

# Links come sorted by their targets, so that what the targets are is looked up in the order in which it lies. Those that
# lead to no article are ignored, since NULL is refused.
_FIND = """
CREATE TABLE spill.found (key TEXT NOT NULL, article INTEGER NOT NULL, kind INTEGER NOT NULL, form TEXT, count INTEGER);
INSERT INTO spill.found SELECT name_key(title), id, {TITLE}, NULL, 0 FROM article;
INSERT INTO spill.found SELECT * FROM (SELECT base_key(title) AS key, id, {BASE}, NULL, 0 FROM article) WHERE key != '';
INSERT INTO spill.found SELECT name_key(name), article, {REDIRECT}, name, 0 FROM spill.led WHERE article IS NOT NULL;
INSERT INTO spill.found SELECT name_key(form), article, {ALIAS}, form, 0 FROM spill.alias;
INSERT OR IGNORE INTO spill.found SELECT name_key(COALESCE(form, target)), COALESCE(
    (SELECT id FROM spill.title WHERE title.title = link.target),
    (SELECT led.article FROM spill.led WHERE led.name = link.target AND led.article IS NOT NULL ORDER BY led.rowid LIMIT 1)
), {ANCHOR}, COALESCE(form, target), SUM(count) FROM spill.link GROUP BY target, form
"""
_NOT_ASCII = """
SELECT id, title, 1 FROM article WHERE title GLOB '*[^ -~]*'
UNION ALL SELECT article, name, 0 FROM spill.led WHERE article IS NOT NULL AND name GLOB '*[^ -~]*'
UNION ALL SELECT article, form, 0 FROM spill.alias WHERE form GLOB '*[^ -~]*'
"""


def find_names(connection: sqlite3.Connection) -> None:
    """Make the table `spill.found` of all names of all articles, as often as they occur."""
    connection.create_function("name_key", 1, name_key, deterministic=True)
    connection.create_function("base_key", 1, _base_key, deterministic=True)
    for statement in _FIND.format(**{kind.name: int(kind) for kind in NameKind}).split(";"):
        connection.execute(statement)
    for more in (_initials, _plain_spellings):
        connection.executemany("INSERT INTO spill.found VALUES (?, ?, ?, ?, 0)", more(connection))


def _initials(connection: sqlite3.Connection) -> Iterator[tuple[str, int, int, str]]:
    """Yield the names that stand in titles beside their initials, and the initials, as (key, article, kind, form)."""
    for article, title in connection.execute("SELECT id, title FROM article WHERE title LIKE '%)'"):
        for name in spelled_out(title) or ():
            yield name_key(name), article, int(NameKind.ALIAS), name
            if plain := without_accents(name):
                yield name_key(plain), article, int(NameKind.UNACCENTED), plain


def _plain_spellings(connection: sqlite3.Connection) -> Iterator[tuple[str, int, int, str]]:
    """Yield names as they are typed without accents, as (key, article, kind, form): not everybody's keyboard has them."""
    for article, name, is_title in connection.execute(_NOT_ASCII):
        plain = without_accents(name)
        if plain is None or name_key(plain) == name_key(name):
            continue
        yield name_key(plain), article, int(NameKind.UNACCENTED), plain
        base, rest = split_title(plain)
        if rest and is_title:
            yield name_key(base), article, int(NameKind.BASE), base


def write_names(connection: sqlite3.Connection) -> None:
    """Fill the table `name` from `spill.found`."""
    found = connection.execute("SELECT key, article, kind, form, count FROM spill.found WHERE key != '' ORDER BY key")
    connection.executemany("INSERT INTO name VALUES (?, ?, ?, ?, ?, ?)", merge(found))


def merge(found: Iterable[Found]) -> Iterator[NameRow]:
    """Yield the rows of `name`, from what was found, sorted by key.

    Of what is found for one key and article, the most telling kind stays; that has the sum of the counts. Other forms of
    it are kept, but for those of links: how a name is written may decide whether, and between which articles, it is one.
    """
    for key, group in groupby(found, itemgetter(0)):
        rows = list(group)
        if len(rows) == 1:
            _, article, kind, form, count = rows[0]
            yield key, 0, kind, article, None if form == key else form, count
            continue
        names = _names_of_key(rows)
        for rank, (kind, count, article, form) in enumerate(names):
            yield key, rank, kind, article, None if form == key else form, count


def _names_of_key(rows: list[Found]) -> list[tuple[int, int, int, str | None]]:
    """Return the names of one key as (kind, count, article, form), the most telling first."""
    counts: dict[int, int] = {}
    forms: dict[int, dict[str | None, tuple[int, int]]] = {}  # of an article: form → (kind, how often not)
    for _, article, kind, form, count in rows:
        counts[article] = counts.get(article, 0) + count
        known = forms.setdefault(article, {})
        before = known.get(form, (kind, 0))
        known[form] = (min(before[0], kind), before[1] - count)
    names: list[tuple[int, int, int, str | None]] = []
    for article, known in forms.items():
        ordered = sorted(known.items(), key=lambda item: (item[1], item[0] or ""))
        best = ordered[0][1][0]
        # The text of links decides nothing: it needs no row beside another name.
        kept = [item for item in ordered[1:] if item[1][0] < NameKind.ANCHOR]
        names.append((best, counts[article], article, ordered[0][0]))
        names += [(kind, 0, article, form) for form, (kind, _) in kept]
    return sorted(names, key=lambda name: (name[0], -name[1], name[2], name[3] or ""))


def _base_key(title: str) -> str:
    base, rest = split_title(title)
    return name_key(base) if rest else ""
