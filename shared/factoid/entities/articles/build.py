"""Building an article store: sources are read batch by batch, then the store is written; a build can be resumed."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from factoid.entities.articles.article import Source
from factoid.entities.articles.file import (
    ADD_NAMES,
    APPLICATION_ID,
    NAME_FORMS,
    TABLES,
    count_names,
    identify,
    write_meta,
)
from factoid.entities.articles.names import NameForm, NameKind, name_key, part_names, spelled_names
from factoid.entities.articles.staging import EXAMPLES, Staging, compress
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.files.atomic import move_into_place, part_beside
from factoid.files.sqlite import committing
from factoid.progress import progress_bar
from factoid.units import whole_number
from factoid.words import cut_words

Duplicates = Literal["first", "last", "join", "keep", "error"]

_log = logging.getLogger(__name__)
_SETTLED = {"first": "; the first was kept", "last": "; the last was kept", "join": "; their texts were joined"}
_WORKING_TABLES = ("duplicate", "title", "led", "name_form")  # beside the tables of what was read
# Follow redirects by one step; NULL stays with those to nothing and in circles.
_STEP = """
UPDATE led SET article = (SELECT next.article FROM led AS next WHERE next.name = led.target ORDER BY next.rowid LIMIT 1)
WHERE article IS NULL
"""
_ALIASES = """
SELECT COALESCE(stays, article), form FROM alias LEFT JOIN duplicate ON duplicate.id = article WHERE stays IS NULL OR ?
"""
# Links come sorted by their targets, so that the targets are looked up in the order in which they are stored. Links that
# lead to no article are ignored, since NULL is refused.
_LINKED = """
INSERT OR IGNORE INTO name_form SELECT name_key(COALESCE(form, target)), ?, COALESCE(
    (SELECT id FROM title WHERE title.title = link.target),
    (SELECT led.article FROM led WHERE led.name = link.target AND led.article IS NOT NULL ORDER BY led.rowid LIMIT 1)
), COALESCE(form, target), SUM(count) FROM link GROUP BY target, form
"""
_CACHE = 16 << 10  # KiB
MOST_IN_PARTS = 100_000  # articles of a store with parts of titles as names: in larger ones nearly every word is one


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Counts of what went into an article store, and of what was left out.

    The examples are some titles of articles, and some redirects as "name → target". `left_out` counts by reason what the
    sources left out: pages of a dump that are not articles, such as disambiguation pages.
    """

    articles: int  # in the store
    redirects: int  # that lead to one of them, directly or through others
    dangling: int  # redirects that lead to nothing or in a circle; they name no article (see `ArticleStore.title_of`)
    aliases: int  # given by the articles
    links: int  # of all articles read, whether or not their targets are in the store
    names: int  # under which articles are found
    duplicates: int  # articles with the title of an earlier one
    empty: int  # articles without text; they are left out
    dangling_examples: tuple[str, ...]
    duplicate_examples: tuple[str, ...]
    empty_examples: tuple[str, ...]
    seconds: float  # of this run, without those of the runs that it resumed
    bytes: int  # size of the store
    left_out: Mapping[str, int] = field(default_factory=dict, hash=False)


def describe_faults(report: BuildReport, duplicates: str) -> list[str]:
    """Return a line for each kind of fault in a build: its count, what was not kept, and examples."""
    settled = f"with a title that another article had before{_SETTLED.get(duplicates, '')}"
    faults = (
        (report.duplicates, "article", settled, report.duplicate_examples),
        (report.empty, "article", "left out that had no text", report.empty_examples),
        (report.dangling, "redirect", "left out that led to no article", report.dangling_examples),
    )
    return [
        f"{count:,} {noun}{'s' * (count > 1)} {what}: {'; '.join(examples)}{' …' * (count > len(examples))}"
        for count, noun, what, examples in faults
        if count
    ]


def build_articles(
    path: str | Path,
    sources: Source | Iterable[Source],
    *,
    words: int = 1000,
    duplicates: Duplicates = "first",
    resume: bool = True,
    show_progress: bool = False,
    warn: bool = True,
) -> BuildReport:
    """Build an article store (Entity Retrieval, Appendix A.3), in place of an earlier one if there is one.

    Memory stays bounded whatever the number of articles. Until the store is complete, `path` keeps its old content and the
    build is beside it in `.building`; SQLite sorts in its folder for temporary files (SQLITE_TMPDIR, else TMPDIR, else
    /var/tmp). Call this again to resume an interrupted build. A small `.lock` file stays beside the store.

    Args:
        path: The file to make.
        sources: What to read, in this order.
        words: The number of words to keep of each article, from its first on.
        duplicates: Which of several articles with one title to keep: the first, the last, all texts joined, each as an article
            ("keep", for those of several tenants), or none: an error at the end of reading. Links of all of them count.
            Aliases are those of the articles kept.
        resume: Resume an unfinished build of this path; else start over.
        show_progress: Show a progress bar on stderr.
        warn: Log a warning about articles with one title or without text, and redirects that lead nowhere.

    Raises:
        InvalidInputError: An argument or record is bad, there are no articles, duplicates are an error, or there is an
            unfinished build of other sources or options, which `resume=False` discards.
        UnreadableFileError: A source is missing or damaged.
        StoreFormatError: The path holds something other than an article store.
        StoreError: Another process is building this path, or the disk is full or cannot be written.
    """
    started = time.perf_counter()
    path, several = Path(path), list(sources) if isinstance(sources, Iterable) else [sources]
    if not several or not all(hasattr(source, "read") and hasattr(source, "name") for source in several):
        raise InvalidInputError(f"expected a source of articles, such as ArticleJsonl(file), got {sources!r:.200}")
    words = whole_number("words", words)
    if duplicates not in get_args(Duplicates):
        raise InvalidInputError(f"duplicates must be one of {', '.join(get_args(Duplicates))}, got {duplicates!r}")
    if path.is_dir():
        raise StoreFormatError(f"{path} is a folder: name a file in it, such as {path / 'articles.sqlite'}")
    if path.exists() and identify(path)[0] != APPLICATION_ID:
        raise StoreFormatError(f"{path} is not an article store, and is not replaced: move it, or build another file")
    with builder_lock(path), Staging(path, [source.name for source in several], words, resume=resume) as staging:
        _read(staging, several, show_progress=show_progress)
        keys = filter(None, (getattr(source, "keys", None) for source in several))
        outcome = _write_store(staging, duplicates, next(keys, {}), show_progress=show_progress)
    report = BuildReport(
        **outcome,
        **{name: getattr(staging.state, name) for name in ("aliases", "links", "empty", "left_out")},
        empty_examples=tuple(staging.state.empty_examples),
        seconds=time.perf_counter() - started,
        bytes=path.stat().st_size,
    )
    if warn and (faults := describe_faults(report, duplicates)):
        _log.warning("%s was built, but: %s", path, ". ".join(faults))
    return report


@contextmanager
def builder_lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a store for one builder or writer among all processes and threads; `wait` waits for the lock."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{path}.lock").acquire(timeout=-1 if wait else 0)
    except Timeout as error:
        raise StoreError(f"{path} is being built by another process: wait for it, or build another file") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be built there: {error.strerror or error}") from error
    with lock:
        yield


def _read(staging: Staging, sources: Sequence[Source], *, show_progress: bool) -> None:
    """Read the rest of the sources."""
    state = staging.state
    with progress_bar(show=show_progress, unit=" records", desc="reading", initial=state.records) as bar:
        while state.source < len(sources):
            source = sources[state.source]
            for record in source.read(state.records):
                try:
                    staging.add(record)
                except InvalidInputError as error:
                    number, place = state.records + staging.records, source.name or "the documents"
                    raise InvalidInputError(f"record {number} of {place}: {error}") from error
                if staging.full:
                    bar.update(staging.commit(last=False))
            for reason, count in getattr(source, "left_out", {}).items():
                state.left_out[reason] = state.left_out.get(reason, 0) + count
            bar.update(staging.commit(last=True))


def _write_store(
    staging: Staging, duplicates: Duplicates, options: Mapping[str, str], *, show_progress: bool
) -> dict[str, Any]:
    """Write the store into its place, and return fields of its `BuildReport`. The staged input stays unchanged."""
    connection, state = staging.connection, staging.state
    sources = [source or "the documents" for source in state.sources]
    if not state.articles:
        empty = f": {state.empty} without text" if state.empty else ""
        raise InvalidInputError(f"there is no article to store in {'; '.join(sources)}{empty}")
    connection.create_function("name_key", 1, name_key, deterministic=True)
    with (
        progress_bar(show=show_progress, unit=" steps", desc="finishing", total=3) as bar,
        part_beside(staging.path) as part,
        staging.explained(),
    ):
        connection.execute("ATTACH ? AS store", [str(part)])
        connection.execute("PRAGMA store.journal_mode = MEMORY")  # an unfinished file is thrown away
        connection.execute("PRAGMA store.synchronous = OFF")
        with committing(connection):
            for table in _WORKING_TABLES:  # left by a build that was killed here
                connection.execute(f"DROP TABLE IF EXISTS main.{table}")
            for statement in TABLES.strip().split(";"):
                connection.execute(statement)
            report = _copy_articles(connection, duplicates, state.words)
            bar.update(1)
            report |= _follow_redirects(connection)
            bar.update(1)
            _index_names(connection, with_duplicates=duplicates == "join")
            bar.update(1)
            (outside,) = connection.execute("SELECT COUNT(*) FROM outside").fetchone()
            names, articles = count_names(connection), state.articles - report["duplicates"]
            counts = {"articles": articles, "names": names, "outside": outside, "links": state.links}
            settings = {"words": state.words, "duplicates": duplicates, **options}
            write_meta(connection, {**counts, **settings, "sources": sources})
        connection.execute("DETACH store")
        move_into_place(part, staging.path)
    return {**report, "articles": articles, "names": sum(names.values())}


def _copy_articles(connection: sqlite3.Connection, how: Duplicates, words: int) -> dict[str, Any]:
    """Copy one article of each title with its text, and list the others in the table `duplicate`."""
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
            f"{count} articles have a title that an earlier one has: "
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
    """Append an article's text to that of the first with its title, whose metadata takes precedence."""

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
    before = None
    while (unresolved := connection.execute(_STEP).rowcount) != before:
        before = unresolved
    connection.execute(
        "INSERT OR IGNORE INTO outside SELECT name_key(name), name, target FROM led "
        "WHERE article IS NULL AND name_key(name) != '' ORDER BY rowid"
    )
    (redirects,) = connection.execute("SELECT COUNT(article) FROM led").fetchone()
    sql = "SELECT name || ' → ' || target FROM led WHERE article IS NULL ORDER BY rowid LIMIT ?"
    examples = tuple(example for (example,) in connection.execute(sql, [EXAMPLES]))
    return {"redirects": redirects, "dangling": unresolved, "dangling_examples": examples}


def _index_names(connection: sqlite3.Connection, *, with_duplicates: bool) -> None:
    """Fill the table `name`; `with_duplicates` adds the aliases of articles left out."""
    connection.execute(f"CREATE TABLE main.{NAME_FORMS}")
    forms = _name_forms(connection, with_duplicates=with_duplicates)
    connection.executemany("INSERT INTO name_form VALUES (?, ?, ?, ?, ?)", forms)
    connection.execute(_LINKED, [NameKind.ANCHOR])
    connection.execute(f"PRAGMA main.cache_size = -{_CACHE}")  # bounds each of the sorts that follow
    connection.execute(ADD_NAMES)


def _name_forms(connection: sqlite3.Connection, *, with_duplicates: bool) -> Iterator[NameForm]:
    for article, title in connection.execute("SELECT id, title FROM store.article"):
        yield from spelled_names(article, title, NameKind.TITLE)
    for article, name in connection.execute("SELECT article, name FROM led WHERE article IS NOT NULL"):
        yield from spelled_names(article, name, NameKind.REDIRECT)
    for article, form in connection.execute(_ALIASES, [with_duplicates]):
        yield from spelled_names(article, form, NameKind.ALIAS)
    (count,) = connection.execute("SELECT COUNT(*) FROM store.article").fetchone()
    if count <= MOST_IN_PARTS:
        sql = "SELECT id, title, body.text FROM store.article JOIN store.body AS body USING (id)"
        for article, title, body in connection.execute(sql):
            yield from part_names(article, title, zlib.decompress(body).decode())
