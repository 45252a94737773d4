"""Build an article store.

Records go into a new file, which takes the place of an earlier one when it is complete.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, Self, get_args

from filelock import FileLock

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.file import (
    APPLICATION_ID,
    ARTICLE,
    HEAD,
    MARKS,
    MOST_BYTES,
    TABLES,
    article_of,
    body_checksum,
    check_head,
    damaged_article,
    head_checksum,
    name_checksum,
    read_aliases,
    read_body,
    read_meta,
    write_meta,
)
from factoid.entities.articles.names import (
    NameForm,
    NameKind,
    clean_name,
    name_key,
    part_names,
    spelled_names,
)
from factoid.errors import InvalidInputError, StoreError, StoreFormatError, UnreadableFileError
from factoid.files.atomic import move_into_place, part_beside
from factoid.files.disk_errors import explain_disk_error, is_damage
from factoid.files.sqlite import connect, identify
from factoid.forks import Exclusion, at_work
from factoid.progress import progress_bar
from factoid.units import check_size, whole_number
from factoid.words import cut_words

Duplicates = Literal["first", "join", "keep"]

_log = logging.getLogger(__name__)
_CACHE = 64 << 10  # KiB of pages to keep in memory; SQLite sorts in as much
_MOST_RECORDS = 5_000  # between two commits
_in_memory = Exclusion()  # of writers
# articles of a store with parts of titles as names: in larger ones nearly every word is one
MOST_IN_PARTS = 100_000

# While a store is built, it has two more tables, and `meta` says how far the sources were read.
_READ = """
CREATE TABLE redirect (name TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE link (target TEXT NOT NULL, form TEXT NOT NULL, count INTEGER NOT NULL);
"""
_TEXTS = "SELECT id, title, text, body.checksum FROM article JOIN body USING (id)"
_DUPLICATES = """
SELECT stays, id FROM (SELECT id, MIN(id) OVER (PARTITION BY title) AS stays FROM article)
WHERE id != stays
"""
# `resolved` are the redirects with the articles that they lead to: an article goes before a
# redirect of its name.
_FINISHING = """
CREATE TEMP TABLE title (title TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO title SELECT title, MIN(id) FROM article GROUP BY title ORDER BY title;
CREATE TEMP TABLE resolved (name TEXT NOT NULL, target TEXT NOT NULL, article INTEGER);
INSERT INTO resolved
SELECT name, target, (SELECT id FROM title WHERE title.title = target)
FROM redirect WHERE name != '';
CREATE INDEX resolved_name ON resolved (name);
CREATE TEMP TABLE name_form (
    key TEXT NOT NULL, kind INTEGER, article INTEGER NOT NULL, form TEXT NOT NULL, count INTEGER
);
"""
# Follow redirects by one step; NULL stays with those to nothing and in circles.
_STEP = """
UPDATE resolved SET article = (
    SELECT next.article FROM resolved AS next
    WHERE next.name = resolved.target ORDER BY next.rowid LIMIT 1
) WHERE article IS NULL
"""
# Links come sorted by their targets, so that the targets are looked up in the order in which they
# are stored. Links that lead to no article are ignored, since NULL is refused.
_LINKED = """
INSERT OR IGNORE INTO name_form SELECT name_key(form), ?, COALESCE(
    (SELECT id FROM title WHERE title.title = link.target),
    (
        SELECT article FROM resolved
        WHERE name = link.target AND article IS NOT NULL ORDER BY rowid LIMIT 1
    )
), form, SUM(count) FROM link GROUP BY target, form
"""
# Of the forms of one article under one key, the first by kind and count has the sum of the counts.
# Others stay, since the way a name is written may decide, except for texts of links. They come
# sorted by their keys, since the window sorts them.
_NAMES = f"""
SELECT
    (SELECT title FROM article WHERE id = article),
    key, kind, article, form, total * (form = best)
FROM (
    SELECT *, FIRST_VALUE(form) OVER of_article AS best, SUM(count) OVER of_article AS total
    FROM (
        SELECT key, MIN(kind) AS kind, article, form, SUM(count) AS count
        FROM name_form WHERE key != '' GROUP BY key, article, form
    )
    WINDOW of_article AS (
        PARTITION BY key, article ORDER BY kind, count DESC, form
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    )
) WHERE form = best OR kind < {NameKind.ANCHOR:d}
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Counts of what went into an article store, and of what was left out.

    `left_out` counts by reason what the sources left out: pages of a dump that are not articles,
    such as disambiguation pages.

    Attributes:
        articles: Articles in the store.
        names: Names under which they are found.
        redirects: Redirects that lead to one of them, directly or through others.
        dangling: Redirects that lead to nothing or in a circle; they name no article.
        duplicates: Articles with the title of an earlier one.
        empty: Articles without text; they are left out.
    """

    articles: int
    names: int
    redirects: int
    dangling: int
    duplicates: int
    empty: int
    left_out: Mapping[str, int] = field(hash=False)


def build_articles(
    path: str | Path,
    *sources: Iterable[Record],
    words: int = 1000,
    duplicates: Duplicates = "first",
    resume: str = "",
    progress: bool | None = None,
) -> BuildReport:
    """Build an article store (Entity Retrieval, Appendix A.3).

    It takes the place of an earlier one. Memory stays bounded whatever the number of articles;
    SQLite sorts in its folder for temporary files (SQLITE_TMPDIR, else TMPDIR, else /var/tmp). A
    small `.lock` file stays beside the store. A warning counts articles with one title or without
    text, and redirects that lead nowhere.

    Args:
        path: The file to make.
        sources: Articles and redirects: a `MediaWikiDump`, or any other iterables, read in this
            order.
        words: The number of words to keep of each article, from its first on.
        duplicates: Which of several articles with one title to keep: the first, all texts joined,
            or each as an article ("keep", for those of several tenants). Links of all of them
            count. Aliases are those of the articles kept.
        resume: A name for the sources. An interrupted build goes on when it is called again with
            this name, the same words and duplicates; another name, or none, starts it over.
        progress: Show a progress bar on stderr.

    Raises:
        InvalidInputError: An argument or record is bad, or there are no articles.
        UnreadableFileError: A source is missing or damaged.
        StoreFormatError: The path holds something other than an article store.
        StoreError: The disk is full or cannot be written.
    """
    path = Path(path)
    arguments = {"words": whole_number("words", words), "duplicates": duplicates, "resume": resume}
    _check_duplicates(duplicates)
    if path.is_dir():
        raise StoreFormatError(
            f"{path} is a folder: name a file in it, such as {path / 'articles.sqlite'}"
        )
    if path.exists() and identify(path)[0] != APPLICATION_ID:
        raise StoreFormatError(
            f"{path} is not an article store, and is not replaced: move it, or build another file"
        )
    with writing(path), Build(path, arguments) as build:
        build.read(sources, progress=progress)
        return build.finish()


def build_in_memory(
    *sources: Iterable[Record], words: int, duplicates: Duplicates, progress: bool | None
) -> tuple[BuildReport, bytes]:
    """Do what `build_articles` does without a file. Return the bytes of the store, too."""
    arguments = {"words": whole_number("words", words), "duplicates": duplicates, "resume": ""}
    _check_duplicates(duplicates)
    with writing(None), Build(None, arguments) as build:
        build.read(sources, progress=progress)
        report = build.finish()
    return report, build.content


def _check_duplicates(duplicates: Any) -> None:
    if duplicates not in get_args(Duplicates):
        raise InvalidInputError(
            f"duplicates must be one of {', '.join(get_args(Duplicates))}, got {duplicates!r}"
        )


@contextmanager
def writing(path: Path | None) -> Iterator[None]:
    """Lock a store for one writer among all processes and threads.

    Errors of its disk become a StoreError. Without a path it is in memory: writers of other stores
    wait, too, but nobody for long.
    """
    if path is None:
        with at_work(), _in_memory.lock:
            yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"):
            yield
    except UnreadableFileError:  # of a source
        raise
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path} cannot be built: {explain_disk_error(error)}") from error


class Build:
    """A store that is being built, in a file of a fixed name beside its place.

    Its writer holds the lock of that file. Without a path it is built in memory; `content` then has
    its bytes when it is finished.

    `meta` has the arguments of the build, how far the sources were read, and counts. What was
    committed is still there when a build with the same arguments begins after an interruption, if
    they have a name for the sources.
    """

    def __init__(self, path: Path | None, arguments: Mapping[str, Any]) -> None:
        self.content = b""
        self._path = path
        self._file = None if path is None else path.with_name(f".{path.name}.building")
        self._links: Counter[tuple[str, str]] = Counter()
        self.meta = self._earlier_meta() if arguments["resume"] else {}
        is_new = any(self.meta.get(name) != value for name, value in arguments.items())
        if is_new:
            if self._file is not None:
                self._file.unlink(missing_ok=True)
            self.meta = {
                "source": 0,
                "records": 0,
                "empty": 0,
                "links": 0,
                "left_out": {},
                "keys": {},
                **arguments,
            }
        self._connection = connect(self._file or ":memory:")
        self._connection.isolation_level = (
            "IMMEDIATE"  # a transaction begins with the first change after a commit
        )
        self._connection.create_function("name_key", 1, name_key, deterministic=True)
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        if is_new:
            self._connection.executescript(f"BEGIN; {MARKS} {TABLES} {_READ}")
            self.commit()
        (self._last,) = self._connection.execute(
            "SELECT coalesce(max(id), 0) FROM article"
        ).fetchone()

    def _earlier_meta(self) -> dict[str, Any]:
        """Return the `meta` of an interrupted build.

        It is empty if there is none that can be read.
        """
        if self._file is None:
            return {}
        with suppress(sqlite3.Error, ValueError), closing(connect(self._file)) as connection:
            return read_meta(connection)
        return {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close the file, and remove it unless a build that failed can go on from it."""
        self._connection.close()
        damaged = isinstance(error, StoreFormatError) or (
            isinstance(error, sqlite3.Error) and is_damage(error)
        )
        if self._file is not None and (error is None or damaged or not self.meta["resume"]):
            self._file.unlink()

    def read(self, sources: Sequence[Iterable[Record]], *, progress: bool | None) -> None:
        """Add the rest of the sources."""
        skip = self.meta["records"]
        with progress_bar(show=progress, unit=" records", desc="reading", initial=skip) as bar:
            for source in sources[self.meta["source"] :]:
                read = getattr(source, "read", None)  # of sources that skip faster
                records = read(skip) if read else islice(source, skip, None)
                for number, record in enumerate(records, start=skip + 1):
                    try:
                        self.add(record)
                    except InvalidInputError as error:
                        raise InvalidInputError(f"record {number}: {error}") from error
                    bar.update(1)
                    if number % _MOST_RECORDS == 0:
                        self.meta["records"] = number
                        self.commit()
                self.meta["keys"] |= getattr(source, "keys", {})
                self.meta["left_out"] = dict(
                    Counter(self.meta["left_out"]) + Counter(getattr(source, "left_out", {}))
                )
                self.meta["source"] += 1
                self.meta["records"] = skip = 0
                self.commit()

    def add(self, record: Record, number: int | None = None) -> None:
        """Add a record, or refuse one without a title, or with metadata that cannot be JSON."""
        if isinstance(record, Redirect):
            row = clean_name(record.name), clean_name(record.target)
            self._connection.execute("INSERT INTO redirect VALUES (?, ?)", row)
            return
        if not isinstance(record, Article):
            raise InvalidInputError(f"expected an Article or a Redirect, got {record!r:.80}")
        if not clean_name(record.title):
            raise InvalidInputError(
                f"an article needs a title, got {record.title!r} of {record.text[:60]!r}"
            )
        if not record.text.strip():
            self.meta["empty"] += 1
            return
        self._write(record, number)
        self._links.update(record.links)

    def _write(self, article: Article, number: int | None) -> None:
        """Write an article, in place of one with this number."""
        check_size(article.metadata, f"the metadata of {article.title!r}")
        try:
            metadata = json.dumps(dict(article.metadata), ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            place = f"the metadata of {article.title!r} (id {article.document_id!r})"
            raise InvalidInputError(f"{place} must hold what JSON can hold: {error}") from error
        text = cut_words(article.text, self.meta["words"]).encode()
        if len(text) > MOST_BYTES:
            raise InvalidInputError(
                f"the first {self.meta['words']} words of {article.title!r:.60} have "
                f"{len(text):,} bytes, more than {MOST_BYTES:,}: divide the article, or keep "
                "fewer words"
            )
        execute = self._connection.execute
        if number is None:
            self._last += 1
            number = self._last
        aliases = json.dumps(article.aliases, ensure_ascii=False)
        row = (number, clean_name(article.title), aliases, metadata, article.document_id or None)
        execute(
            "INSERT OR REPLACE INTO article VALUES (?, ?, ?, ?, ?, ?)", [*row, head_checksum(*row)]
        )
        body = zlib.compress(text, level=4)  # 1 % larger than the slower 6
        execute(
            "INSERT OR REPLACE INTO body VALUES (?, ?, ?)",
            [number, body, body_checksum(number, body)],
        )

    def commit(self) -> None:
        """Commit what was added, with how far the sources were read."""
        rows = []
        for (form, target), count in self._links.items():
            rows.append((clean_name(target), clean_name(form), count))
        if rows:  # the table is gone at the end
            self._connection.executemany(
                "INSERT INTO link VALUES (?, ?, ?)", (row for row in rows if row[0] and row[1])
            )
        self.meta["links"] += self._links.total()
        self._links.clear()
        write_meta(self._connection, self.meta)
        self._connection.commit()

    def finish(self) -> BuildReport:
        """Choose among duplicates, follow redirects, index names, and move into place."""
        if "articles" not in self.meta:  # else it was killed right before the end
            self._index_names()
        if self._path is None:
            self._connection.execute("VACUUM")
            self.content = self._connection.serialize()
        else:
            with part_beside(self._path) as part:
                self._connection.execute("VACUUM INTO ?", [str(part)])
                move_into_place(part, self._path)
        counts = {}
        for name in ("articles", "redirects", "dangling", "empty", "left_out"):
            counts[name] = self.meta[name]
        names = sum(self.meta["names"].values())
        report = BuildReport(**counts, names=names, duplicates=self.meta["repeated"])
        faults = {name: getattr(report, name) for name in ("duplicates", "empty", "dangling")}
        faults = {name: count for name, count in faults.items() if count}
        if faults:
            place = self._path or "an article store in memory"
            _log.warning(
                "%s was built, but some records are not in it as they were given: %s", place, faults
            )
        return report

    def _index_names(self) -> None:
        execute = self._connection.execute
        repeated = [] if self.meta["duplicates"] == "keep" else execute(_DUPLICATES).fetchall()
        if self.meta["duplicates"] == "join":
            for first, other in repeated:
                self._join(first, other)
        for table in ("article", "body"):
            delete = f"DELETE FROM {table} WHERE id = ?"  # noqa: S608
            self._connection.executemany(delete, [(other,) for _, other in repeated])
        (articles,) = execute("SELECT COUNT(*) FROM article").fetchone()
        if not articles:
            raise InvalidInputError(
                f"there is no article to store: {self.meta['empty']} had no text"
            )
        for statement in _FINISHING.split(";"):
            execute(statement)
        before = -1
        dangling = execute(_STEP).rowcount
        while dangling != before:
            before = dangling
            dangling = execute(_STEP).rowcount
        forms = self._name_forms(with_parts=articles <= MOST_IN_PARTS)
        self._connection.executemany("INSERT INTO name_form VALUES (?, ?, ?, ?, ?)", forms)
        execute(_LINKED, [NameKind.ANCHOR])
        self._connection.executemany(
            "INSERT INTO name VALUES (?, ?, ?, ?, ?, ?)", _with_checksums(execute(_NAMES))
        )
        kinds = dict(execute("SELECT kind, COUNT(*) FROM name GROUP BY kind"))
        (redirects,) = execute("SELECT COUNT(article) FROM resolved").fetchone()
        names = {kind.name.lower(): kinds.get(int(kind), 0) for kind in NameKind}
        self.meta |= {
            "articles": articles,
            "redirects": redirects,
            "dangling": dangling,
            "names": names,
        }
        self.meta["repeated"] = len(repeated)
        execute("DROP TABLE redirect")
        execute("DROP TABLE link")
        self.commit()

    def _join(self, number: int, other: int) -> None:
        """Append an article's text to that of the first with its title.

        The metadata of the first take precedence.
        """
        rows = [self._connection.execute(ARTICLE, [one]).fetchone() for one in (number, other)]
        first, second = (article_of(self._path or "memory", row) for row in rows)
        text = f"{first.text}\n\n{second.text}"
        metadata = {**second.metadata, **first.metadata}
        self._write(
            replace(first, text=text, aliases=first.aliases + second.aliases, metadata=metadata),
            number,
        )

    def _name_forms(self, *, with_parts: bool) -> Iterator[NameForm]:
        execute = self._connection.execute
        for row in execute(f"SELECT {HEAD} FROM article"):  # noqa: S608
            article, title, aliases, *_ = row
            try:
                check_head(*row)
                names = read_aliases(aliases)
            except ValueError as error:
                raise damaged_article(self._path or "memory", title, error) from error
            yield from spelled_names(article, title, NameKind.TITLE)
            for alias in filter(None, map(clean_name, names)):
                yield from spelled_names(article, alias, NameKind.ALIAS)
        for article, name in execute(
            "SELECT article, name FROM resolved WHERE article IS NOT NULL"
        ):
            yield from spelled_names(article, name, NameKind.REDIRECT)
        if with_parts:
            for article, title, body, written in execute(_TEXTS):
                try:
                    text = read_body(article, body, written)
                except ValueError as error:
                    raise damaged_article(self._path or "memory", title, error) from error
                yield from part_names(article, title, text)


def _with_checksums(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Yield names with their checksums.

    These need the titles and the number of names of each key.
    """
    for _, group in groupby(rows, key=itemgetter(1)):
        of_key = list(group)
        names = len(of_key)
        for title, key, kind, article, form, count in of_key:
            yield (
                key,
                kind,
                article,
                form,
                count,
                name_checksum(title, key, kind, article, form, count, names),
            )
