"""The input read so far by a build, in the file `NAME.building`: an interrupted build resumes after the last batch in it."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.file import FORMAT, STAGING_ID, identify
from factoid.entities.articles.names import clean_name
from factoid.errors import InvalidInputError, StoreError, StoreFormatError
from factoid.files.sqlite import committing, connect, explain, has_table
from factoid.words import cut_words

EXAMPLES = 10  # of each fault that a report names
_LEVEL = 6  # of zlib: on Wikipedia's text as small as 9, and 1 % smaller than 4 in 1.3 times its time
_COLUMNS = {"article": 4, "body": 2, "alias": 2, "redirect": 2, "link": 3}
_MOST_RECORDS = 20_000  # of a batch; the next two also bound its memory
_MOST_TEXT = 32_000_000  # characters
_MOST_LINKS = 500_000  # distinct ones
_CHUNK = 64  # bodies that are compressed at a time
_CACHE = 256 << 10  # KiB of pages to keep in memory; SQLite sorts in as much
_TABLES = f"""
PRAGMA application_id = {STAGING_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE article (id INTEGER PRIMARY KEY, title TEXT NOT NULL, metadata TEXT, document_id TEXT);
CREATE TABLE body (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE redirect (name TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE alias (form TEXT NOT NULL, article INTEGER NOT NULL);
CREATE TABLE link (target TEXT NOT NULL, form TEXT, count INTEGER NOT NULL);
CREATE TABLE state (value TEXT NOT NULL)
"""


@dataclass(slots=True)
class State:
    """The progress of a build; the last fields are counts of a `BuildReport`."""

    sources: list[str]  # their names
    words: int  # of an article to keep
    source: int = 0  # number of the current source
    records: int = 0  # of this source
    articles: int = 0  # with a text, also those of one title
    aliases: int = 0
    links: int = 0
    empty: int = 0
    empty_examples: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


class Staging:
    """The file with the input read so far; `resume` continues an earlier build from the same sources."""

    def __init__(self, path: Path, sources: list[str], words: int, *, resume: bool) -> None:
        self.path, self._file = path, path.with_name(f"{path.name}.building")
        self.state = State(sources, words)
        with self.explained():
            is_earlier = resume and self._find_earlier()
            if not is_earlier:
                self._remove()
            self.connection = connect(self._file)
            self.connection.execute(f"PRAGMA cache_size = -{_CACHE}")
            if not is_earlier:
                with committing(self.connection):
                    for statement in _TABLES.split(";"):
                        self.connection.execute(statement)
                    self.connection.execute("INSERT INTO state VALUES (?)", [json.dumps(asdict(self.state))])
        self._executor = ThreadPoolExecutor(min(4, os.cpu_count() or 1))  # zlib lets Python run beside it
        self._begin()

    def _begin(self) -> None:
        self.records = self._characters = 0
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _COLUMNS}
        self._empty: list[str] = []
        self._links: Counter[tuple[str, str]] = Counter()
        self._texts: list[str] = []
        self._bodies: list[Future[list[bytes]]] = []

    def _find_earlier(self) -> bool:
        """Tell whether an earlier build has read something; if so, take over its state."""
        if not self._file.exists() or identify(self._file) != (STAGING_ID, FORMAT) or not all(self.state.sources):
            return False
        with closing(connect(self._file)) as connection:
            if not has_table(connection, "state"):  # killed while the file was being made
                return False
            earlier = State(**json.loads(connection.execute("SELECT value FROM state").fetchone()[0]))
        if not earlier.articles:
            return False
        new, self.state = self.state, earlier
        if (earlier.sources, earlier.words) != (new.sources, new.words):
            raise InvalidInputError(
                f"the unfinished build of {self.path} was begun with {earlier.words} words of {'; '.join(earlier.sources)}. "
                f"Now it is {new.words} of {'; '.join(new.sources)}. Use the same sources and words again, or start over with "
                "resume=False, on the command line with --restart"
            )
        return True

    def _remove(self) -> None:
        """Remove the file, unless a file of that name is something else."""
        if self._file.exists() and self._file.stat().st_size and identify(self._file)[0] != STAGING_ID:
            raise StoreFormatError(f"{self._file} is not an unfinished article store. Move or remove it")
        for leftover in (self._file, self._file.with_name(f"{self._file.name}-journal")):
            leftover.unlink(missing_ok=True)

    @property
    def full(self) -> bool:
        """Whether it is time to commit."""
        return self.records >= _MOST_RECORDS or self._characters >= _MOST_TEXT or len(self._links) >= _MOST_LINKS

    def add(self, record: Record) -> None:
        """Add a record to the next commit, or refuse one without a title, or with metadata that cannot be JSON."""
        self.records += 1
        if isinstance(record, Redirect):
            self._rows["redirect"].append((clean_name(record.name), clean_name(record.target)))
            return
        title, text = clean_name(record.title), cut_words(record.text, self.state.words)
        if not title:
            raise InvalidInputError(f"an article needs a title, got {record.title!r} of {record.text[:60]!r}")
        if not text.strip():
            self._empty.append(title)
            return
        number = self.state.articles + len(self._rows["article"]) + 1
        self._rows["article"].append((number, title, metadata_json(record), record.document_id or None))
        self._rows["alias"] += [(form, number) for form in map(clean_name, record.aliases) if form]
        self._links.update(record.links)
        self._characters += len(text)
        self._texts.append(text)
        if len(self._texts) == _CHUNK:
            self._compress()

    def _compress(self) -> None:
        self._bodies.append(self._executor.submit(lambda texts: list(map(compress, texts)), self._texts))
        self._texts = []

    def commit(self, *, last: bool) -> int:
        """Write the added records, and return their number; `last` ends the source."""
        self._compress()
        state, rows, records = self.state, self._rows, self.records
        bodies = (body for future in self._bodies for body in future.result())
        rows["body"] = list(enumerate(bodies, start=state.articles + 1))
        links = ((clean_name(target), clean_name(form), count) for (form, target), count in self._links.items())
        rows["link"] = [(to, None if form == to else form, count) for to, form, count in links if to and form]
        with self.explained(), committing(self.connection) as connection:
            for table, columns in _COLUMNS.items():
                values = ", ".join("?" * columns)
                connection.executemany(f"INSERT INTO {table} VALUES ({values})", rows[table])  # noqa: S608
            state.source += last
            state.records = 0 if last else state.records + records
            state.articles += len(rows["article"])
            state.aliases += len(rows["alias"])
            state.links += self._links.total()
            state.empty += len(self._empty)
            state.empty_examples = (state.empty_examples + self._empty)[:EXAMPLES]
            connection.execute("UPDATE state SET value = ?", [json.dumps(asdict(state))])
        self._begin()
        return records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        """Close the file, and remove it unless a build that failed can go on from it."""
        self._executor.shutdown()
        self.connection.close()
        if not (error and self.state.articles and all(self.state.sources)):
            self._remove()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn SQLite's errors into a StoreError that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be built: {explain(error)}") from error


def compress(text: str) -> bytes:
    """Return a text in its stored form."""
    return zlib.compress(text.encode(), _LEVEL)


def metadata_json(article: Article) -> str | None:
    """Return the metadata of an article in its stored form, or None if it is empty."""
    try:
        metadata = dict(article.metadata)
        return json.dumps(metadata, ensure_ascii=False, allow_nan=False) if metadata else None
    except (TypeError, ValueError, RecursionError) as error:
        document = f" (id {article.document_id!r})" if article.document_id else ""
        place = f"the metadata of {article.title!r}{document}"
        raise InvalidInputError(f"{place} must hold what JSON can hold: {error}") from error
