"""The store of what a build has read: one article of each title, redirects followed to their ends, and all names."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from factoid.entities.articles.file import NAME_FORMS, RANK_NAMES, TABLES, count_names, write_meta
from factoid.entities.articles.names import NameForm, NameKind, name_key, part_names, spelled_names
from factoid.entities.articles.staging import EXAMPLES, Staging, compress
from factoid.errors import InvalidInputError
from factoid.files.atomic import move_into_place, part_beside, sync_file
from factoid.files.sqlite import committing
from factoid.progress import progress_bar
from factoid.words import cut_words

Duplicates = Literal["first", "last", "join", "keep", "error"]

_WORKING_TABLES = ("duplicate", "title", "led", "name_form")  # beside what was read
# Follow redirects by one step: 0 for those to nothing, while NULL stays with those in circles.
_STEP = """
UPDATE led SET article = (
    SELECT article FROM (
        SELECT next.article, next.rowid AS place FROM led AS next WHERE next.name = led.target UNION ALL SELECT 0, 1e18
    ) ORDER BY place LIMIT 1
) WHERE article IS NULL
"""
_OPEN = "SELECT COUNT(*) FROM led WHERE article IS NULL"
_ALIASES = """
SELECT COALESCE(stays, article), form FROM alias LEFT JOIN duplicate ON duplicate.id = article WHERE stays IS NULL OR ?
"""
# Links come sorted by their targets, so that what the targets are is looked up in the order in which it lies. Those that
# lead to no article are ignored, since NULL is refused.
_LINKED = """
INSERT OR IGNORE INTO name_form SELECT name_key(COALESCE(form, target)), ?, SUM(count), COALESCE(
    (SELECT id FROM title WHERE title.title = link.target),
    (SELECT led.article FROM led WHERE led.name = link.target AND led.article > 0 ORDER BY led.rowid LIMIT 1)
), COALESCE(form, target) FROM link GROUP BY target, form
"""
_CACHE = 64 << 10  # KiB
_MOST_IN_PARTS = 100_000  # articles of a store that knows parts of titles: in a larger one nearly every word is a part


def write_store(
    staging: Staging, duplicates: Duplicates, options: Mapping[str, str], *, show_progress: bool
) -> dict[str, Any]:
    """Write the store into its place, and return what a `BuildReport` says of it. What was read stays as it is."""
    connection, state = staging.connection, staging.state
    if not state.articles:
        read = "; ".join(source or "the documents" for source in state.sources)
        empty = f": {state.empty} without text" if state.empty else ""
        raise InvalidInputError(f"there is no article to store in {read}{empty}")
    connection.create_function("name_key", 1, name_key, deterministic=True)
    with (
        progress_bar(show=show_progress, unit=" steps", desc="finishing", total=3) as bar,
        part_beside(staging.path) as part,
        staging.explained(),
    ):
        connection.execute("ATTACH ? AS store", [str(part)])
        connection.execute("PRAGMA store.journal_mode = MEMORY")  # a file that is not finished is thrown away
        connection.execute("PRAGMA store.synchronous = OFF")
        with committing(connection):
            for table in _WORKING_TABLES:  # of a build that was killed right here
                connection.execute(f"DROP TABLE IF EXISTS main.{table}")
            for statement in TABLES.strip().split(";"):
                connection.execute(statement)
            report = _copy_articles(connection, duplicates, state.words)
            bar.update(1)
            report |= _follow_redirects(connection)
            bar.update(1)
            _index_names(connection, with_duplicates=duplicates == "join")
            bar.update(1)
            names = count_names(connection)
            (outside,) = connection.execute("SELECT COUNT(*) FROM outside").fetchone()
            counts = {"articles": state.articles - report["duplicates"], "outside": outside, "links": state.links}
            read_from = {"words": state.words, "sources": state.sources, "duplicates": duplicates}
            write_meta(connection, {**counts, "names": names, **read_from, **options})
        connection.execute("DETACH store")
        sync_file(part)
        move_into_place(part, staging.path)
    return {**report, "articles": counts["articles"], "names": sum(names.values())}


def _copy_articles(connection: sqlite3.Connection, how: Duplicates, words: int) -> dict[str, Any]:
    """Copy one article of each title, with its text, and note the others in the table `duplicate`."""
    connection.execute("CREATE TABLE main.duplicate (id INTEGER PRIMARY KEY, stays INTEGER NOT NULL)")
    if how != "keep":
        chosen = "MAX" if how == "last" else "MIN"
        connection.execute(
            "INSERT INTO duplicate SELECT id, stays FROM "  # noqa: S608
            f"(SELECT id, {chosen}(id) OVER (PARTITION BY title) AS stays FROM main.article) WHERE id != stays"
        )
    (count,) = connection.execute("SELECT COUNT(*) FROM duplicate").fetchone()
    sql = "SELECT title FROM duplicate JOIN main.article USING (id) GROUP BY title ORDER BY MIN(id) LIMIT ?"
    examples = tuple(title for (title,) in connection.execute(sql, [EXAMPLES]))
    if how == "error" and count:
        raise InvalidInputError(
            f"{count} articles have a title that another one had before: "
            f"{', '.join(map(repr, examples))}{', …' if count > EXAMPLES else ''}. "
            'Choose with duplicates="first", "last", "join" or "keep" which to keep; what was read is not read again'
        )
    for table in ("article", "body"):
        connection.execute(
            f"INSERT INTO store.{table} SELECT * FROM main.{table} WHERE id NOT IN (SELECT id FROM duplicate) ORDER BY id"  # noqa: S608
        )
    if how == "join":
        for first_id, article_id in connection.execute("SELECT stays, id FROM duplicate ORDER BY stays, id"):
            _join(connection, first_id, article_id, words)
    connection.execute(
        "CREATE TABLE main.title (title TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (title, id)) WITHOUT ROWID"
    )
    connection.execute("INSERT INTO main.title SELECT title, id FROM store.article ORDER BY title, id")
    return {"duplicates": count, "duplicate_examples": examples}


def _join(connection: sqlite3.Connection, first_id: int, article_id: int, words: int) -> None:
    """Append an article's text to that of the first of its title, whose metadata go before its own."""

    def read(schema: str, number: int) -> tuple[str, dict[str, object]]:
        tables = f"{schema}.body AS body JOIN {schema}.article AS article USING (id)"
        sql = f"SELECT body.text, article.metadata FROM {tables} WHERE id = ?"  # noqa: S608
        body, metadata = connection.execute(sql, [number]).fetchone()
        return zlib.decompress(body).decode(), json.loads(metadata) if metadata else {}

    (first, metadata), (second, further) = read("store", first_id), read("main", article_id)
    joined = json.dumps(further | metadata, ensure_ascii=False) if further or metadata else None
    text = compress(cut_words(f"{first}\n\n{second}", words))
    connection.execute("UPDATE store.body SET text = ? WHERE id = ?", [text, first_id])
    connection.execute("UPDATE store.article SET metadata = ? WHERE id = ?", [joined, first_id])


def _follow_redirects(connection: sqlite3.Connection) -> dict[str, Any]:
    """Make the table `led` (name, target, number of the article): an article goes before a redirect of its name."""
    connection.execute("CREATE TABLE main.led (name TEXT NOT NULL, target TEXT NOT NULL, article INTEGER)")
    connection.execute(
        "INSERT INTO led SELECT name, target, (SELECT id FROM title WHERE title.title = target) "
        "FROM redirect WHERE name != ''"
    )
    connection.execute("CREATE INDEX main.led_name ON led (name)")
    before, unresolved = None, connection.execute(_OPEN).fetchone()
    while before != unresolved:
        connection.execute(_STEP)
        before, unresolved = unresolved, connection.execute(_OPEN).fetchone()
    connection.execute(
        "INSERT OR IGNORE INTO outside SELECT name_key(name), name, target FROM led "
        "WHERE article = 0 AND name_key(name) != '' ORDER BY rowid"
    )
    report = {"redirects": connection.execute("SELECT COUNT(*) FROM led WHERE article > 0").fetchone()[0]}
    for kind, condition in (("circular", "article IS NULL"), ("dangling", "article = 0")):
        (report[kind],) = connection.execute(f"SELECT COUNT(*) FROM led WHERE {condition}").fetchone()  # noqa: S608
        sql = f"SELECT name || ' → ' || target FROM led WHERE {condition} ORDER BY rowid LIMIT ?"  # noqa: S608
        report[f"{kind}_examples"] = tuple(example for (example,) in connection.execute(sql, [EXAMPLES]))
    return report


def _index_names(connection: sqlite3.Connection, *, with_duplicates: bool) -> None:
    """Fill the table `name`; with duplicates, also with the aliases of those left out."""
    connection.execute(f"CREATE TABLE main.{NAME_FORMS}")
    forms = _name_forms(connection, with_duplicates=with_duplicates)
    connection.executemany("INSERT INTO name_form VALUES (?, ?, ?, ?, ?)", forms)
    connection.execute(_LINKED, [NameKind.ANCHOR])
    connection.execute(f"PRAGMA main.cache_size = -{_CACHE}")  # which bounds each of the several sorts that follow
    connection.execute(RANK_NAMES)


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
