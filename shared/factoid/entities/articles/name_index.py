"""The table of names: every way to call an article, by key, the most telling first."""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from factoid.entities.articles.names import NameKind, name_key, spelled_out, split_title, squeezed_key, without_accents

NameForm = tuple[str, int, int, str | None, int]  # key, article, kind, form or None where it follows, count
RankedName = tuple[int, int, int, str | None]  # kind, count, article, form

_ALIASES = """
SELECT COALESCE(stays, article), form FROM alias LEFT JOIN duplicate ON duplicate.id = article WHERE stays IS NULL OR ?
"""
# Links come sorted by their targets, so that what the targets are is looked up in the order in which it lies. Those that
# lead to no article are ignored, since NULL is refused.
_LINKED = """
INSERT OR IGNORE INTO name_form SELECT name_key(COALESCE(form, target)), COALESCE(
    (SELECT id FROM title WHERE title.title = link.target),
    (SELECT led.article FROM led WHERE led.name = link.target AND led.article > 0 ORDER BY led.rowid LIMIT 1)
), ?, COALESCE(form, target), SUM(count) FROM link GROUP BY target, form
"""
_MOST_IN_PARTS = 100_000  # articles of a store that knows parts of titles: in a larger one nearly every word is a part
_COMPANY = frozenset(
    """inc incorporated corp corporation co company ltd limited llc llp lp plc gmbh mbh ag kg kgaa ohg se sa sas sarl srl spa
    bv nv ab as asa oy oyj aps kk pty pte sro doo zrt kft &""".split()
)
_PARTICLES = frozenset("van von der den de del della da di du la le ten ter zu zur bin ibn al el y e dos das".split())
_FOLLOWING: dict[int, str] = {NameKind.TITLE: "", NameKind.BASE: ""}  # before all forms that are stored
_BEFORE = re.compile(r"(?:^|[\s(])[a-z][a-z'’-]*[,;]?\s\Z")  # inside a sentence, and not inside a longer name


def find_names(connection: sqlite3.Connection, *, with_duplicates: bool) -> None:
    """Make the table `name_form` of all names of all articles; with duplicates, also of the aliases of those left out."""
    connection.execute(
        "CREATE TABLE main.name_form "
        "(key TEXT NOT NULL, article INTEGER NOT NULL, kind INTEGER NOT NULL, form TEXT, count INTEGER)"
    )
    forms = _name_forms(connection, with_duplicates=with_duplicates)
    connection.executemany("INSERT INTO name_form VALUES (?, ?, ?, ?, ?)", forms)
    connection.execute(_LINKED, [NameKind.ANCHOR])


def _name_forms(connection: sqlite3.Connection, *, with_duplicates: bool) -> Iterator[NameForm]:
    for article, title in connection.execute("SELECT id, title FROM store.article"):
        yield from spelled_names(article, title, NameKind.TITLE)
    for article, name in connection.execute("SELECT article, name FROM led WHERE article > 0"):
        yield from spelled_names(article, name, NameKind.REDIRECT)
    for article, form in connection.execute(_ALIASES, [with_duplicates]):
        yield from spelled_names(article, form, NameKind.ALIAS)
    (count,) = connection.execute("SELECT COUNT(*) FROM store.article").fetchone()
    if count <= _MOST_IN_PARTS:
        sql = "SELECT id, title, body.text FROM store.article JOIN store.body AS body USING (id)"
        for article, title, body in connection.execute(sql):
            yield from part_names(article, title, zlib.decompress(body).decode())


def spelled_names(article: int, name: str, kind: NameKind) -> Iterator[NameForm]:
    """Yield a name and what follows from how it is written: without accents, brackets, marks; initials and their words."""
    is_title = kind is NameKind.TITLE
    yield name_key(name), article, kind, None if is_title else name, 0
    forms = [(name, NameKind.UNACCENTED)]
    if is_title:
        base, rest = split_title(name)
        if rest:
            yield name_key(base), article, NameKind.BASE, None, 0
            forms.append((base, NameKind.BASE))
        for alias in spelled_out(name) or ():
            yield name_key(alias), article, NameKind.ALIAS, alias, 0
            forms.append((alias, NameKind.UNACCENTED))
    for form, plain_kind in forms:
        plain = without_accents(form)
        if plain is not None and name_key(plain) != name_key(form):
            yield name_key(plain), article, plain_kind, plain, 0
        if squeezed := squeezed_key(form):
            yield squeezed, article, NameKind.SQUEEZED, form, 0


def part_names(article: int, title: str, text: str) -> Iterator[NameForm]:
    """Yield the parts of a title that name its article."""
    for part, needs_capital in name_parts(title, text):
        yield name_key(part), article, NameKind.CAPITAL_PART if needs_capital else NameKind.PART, part, 0


def write_names(connection: sqlite3.Connection) -> None:
    """Fill the table `name` from `name_form`."""
    forms = connection.execute("SELECT key, article, kind, form, count FROM name_form WHERE key != '' ORDER BY key")
    names = ((key, rank_names(key, list(group))) for key, group in groupby(forms, itemgetter(0)))
    rows = ((key, rank, *name) for key, ranked in names for rank, name in enumerate(ranked))
    connection.executemany("INSERT INTO name (key, rank, kind, count, article, form) VALUES (?, ?, ?, ?, ?, ?)", rows)


def rank_names(key: str, forms: Sequence[NameForm], others: Iterable[RankedName] = ()) -> list[RankedName]:
    """Return the names of a key, the most telling first, with those that a store has already of other articles."""
    if len(forms) == 1 and not others:  # most names
        _, article, kind, form, count = forms[0]
        return [(kind, count, article, None if form == key else form)]
    counts: dict[int, int] = {}
    by_article: dict[int, dict[str | None, tuple[int, int]]] = {}  # of an article: form → (kind, minus its count)
    for _, article, kind, form, count in forms:
        counts[article] = counts.get(article, 0) + count
        kinds = by_article.setdefault(article, {})
        best_kind, minus_count = kinds.get(form, (kind, 0))
        kinds[form] = (min(best_kind, kind), minus_count - count)
    names = list(others)
    # Of the forms of one article, the most telling has the sum of the counts. Others stay: how a name is written may decide.
    for article, kinds in by_article.items():
        (form, (kind, _)), *rest = sorted(kinds.items(), key=lambda item: (item[1], item[0] or ""))
        names.append((kind, counts[article], article, None if form == key else form))
        # The text of links decides nothing: it needs no row beside another name.
        further = [(kind, form) for form, (kind, _) in rest if kind < NameKind.ANCHOR]
        names += [(kind, 0, article, None if form == key else form) for kind, form in further]
    return sorted(names, key=lambda name: (name[0], -name[1], name[2], name[3] or _FOLLOWING.get(name[0], key)))


def name_parts(title: str, text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a title that may name its article, and whether only with their capitals.

    * A company's name without its legal form: "Acme Pumps" of "Acme Pumps GmbH".
    * The first and the last of three or four names: "John Kennedy" of "John Fitzgerald Kennedy".
    * The end of a title of names ("Coolidge", "V11" of "Dyson V11"), but not of "Bank of America". It needs its capitals
      unless it has a digit or the article uses it: no rule of form tells "Calvin Coolidge" from "Station Check".
    """
    name = split_title(title)[0]
    words = name.replace(",", " ").split()
    count = len(words)
    while len(words) > 1 and words[-1].replace(".", "").casefold() in _COMPANY:
        words.pop()
    if len(words) < count:
        yield " ".join(words), False
    else:
        words = name.split()
    are_names = all(word[0].isupper() or word[0].isdigit() or word in _PARTICLES for word in words)
    if not 2 <= len(words) <= 6 or not are_names:
        return
    if len(words) in (3, 4) and all(word.replace("-", "").replace("'", "").rstrip(".").isalpha() for word in words):
        yield f"{words[0]} {words[-1]}", False
    if words[0].casefold() in ("the", "a", "an"):
        return
    for first in range(1, len(words)):
        part = " ".join(words[first:])
        is_initial = len(words[first].rstrip(".")) == 1
        if len(part) > 1 and any(map(str.isalpha, part)) and not is_initial:
            yield part, not (any(map(str.isdigit, part)) or _is_used(part, text))


def _is_used(part: str, text: str) -> bool:
    """Tell whether a text uses a part of its title by itself, inside a sentence."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if not text[end : end + 1].isalnum() and _BEFORE.search(text[max(0, at - 24) : at]):
            return True
        at = text.find(part, end)
    return False
