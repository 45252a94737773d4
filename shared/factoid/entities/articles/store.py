"""Find articles by title and other names, in one file (Entity Retrieval, Appendix A.3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial, reduce
from pathlib import Path
from typing import Any, Self

from factoid.entities.articles.article import Article, Name
from factoid.entities.articles.changes import change_articles
from factoid.entities.articles.file import (
    ARTICLE,
    HEAD,
    ArticleFile,
    article_of,
    check_head,
    damaged_article,
    name_checksum,
    read_metadata,
)
from factoid.entities.articles.names import NameKind, canonical_title, clean_name, name_key
from factoid.entities.articles.verify import verify_articles
from factoid.errors import InvalidInputError, StoreFormatError
from factoid.filters import Filter, matches, parse_filter

_KINDS = {int(kind): kind for kind in NameKind}
_BLOCK = 10_000  # titles that are read together
_COLUMNS = "name.checksum, title, key, kind, article, form, count"
_NAME = 7  # columns of a name; in a view, `HEAD` follows
_KEY = 2  # the place of the key among them
_FROM = "FROM name LEFT JOIN article ON id = article WHERE key IN (SELECT value FROM json_each(?))"
_ORDER = "ORDER BY key, kind, count DESC, article, form"
_NAMES = f"SELECT {_COLUMNS} {_FROM} {_ORDER}"
_NAMES_IN_VIEWS = f"SELECT {_COLUMNS}, {HEAD} {_FROM} {_ORDER}"
_BEFORE = "SELECT key FROM name WHERE key < ? ORDER BY key DESC LIMIT 1"
_AFTER = "SELECT key FROM name WHERE key > ? ORDER BY key LIMIT 1"
_OF_KINDS = """FROM (SELECT *, COUNT(*) OVER (PARTITION BY key) AS names FROM name) AS name
    LEFT JOIN article ON id = article WHERE kind IN (SELECT value FROM json_each(?)) ORDER BY key"""
_KEYS = f"SELECT names, {_COLUMNS} {_OF_KINDS}"
_KEYS_IN_VIEWS = f"SELECT names, {_COLUMNS}, {HEAD} {_OF_KINDS}"


class ArticleStore:
    """Finds articles by title, redirect or alias, in a file.

    `build_articles` or `factoid build-articles` makes it. Any number of processes and threads may
    read one file. When a new build, or a change by another instance, replaces the file, an instance
    keeps reading the one that it opened: `reload` reads the new one. It may be pickled; the copy
    opens the file at the path, or has the same content in memory.

    Raises:
        UnreadableFileError: There is no such file.
        StoreFormatError: The file is not an article store of this version, or is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self._file = ArticleFile(Path(path).absolute())  # the working folder may change
        self._tests: tuple[Callable[[dict[str, Any]], bool], ...] = ()  # of metadata, in a view

    @property
    def path(self) -> Path | None:
        """The file; None for a store in memory."""
        return self._file.path

    @property
    def version(self) -> int:
        """The number of files that this instance has read before the current one.

        It rises with changes and `reload`.
        """
        return self._file.version

    def reload(self) -> None:
        """Switch to the file that is at the path now.

        Readers in other threads go on without an error.
        """
        self._file.reopen()

    def delete(self, document_ids: Iterable[str]) -> None:
        """Delete the articles of some documents, all or none.

        An unknown id is an InvalidInputError.
        The file is built again, so delete many at once. This instance then reads the new one.
        """
        if isinstance(document_ids, str):
            raise InvalidInputError(f"expected several ids, got the string {document_ids!r}")
        change_articles(self._file, (), set(document_ids))

    def put(self, articles: Sequence[Article]) -> None:
        """Add articles, or replace those with their document ids, all or none.

        `add_own_articles` does this for documents.
        """
        change_articles(self._file, articles, ())

    def filtered(self, condition: Filter) -> ArticleStore:
        """Return a view of the articles whose metadata pass a filter.

        Filters are those of `UnitStore.search`; a view may be one tenant's. The view reloads,
        changes and closes with this store.
        """
        view = object.__new__(ArticleStore)
        view.__dict__.update(self.__dict__)
        test = condition if callable(condition) else partial(matches, parse_filter(condition))
        view._tests = (*self._tests, test)
        return view

    def _passes(self, *head: Any) -> bool:
        """Tell whether an article passes the filters of a view, by its columns `HEAD`.

        Raise if they are damaged.
        """
        _, title, _, metadata, *_ = head
        try:
            check_head(*head)
            values = read_metadata(metadata) if self._tests else {}
        except ValueError as error:
            raise damaged_article(self._file.place, title, error) from error
        return all(test(values) for test in self._tests)

    def get(self, title: str) -> Article | None:
        """Return the article of a title, redirect or alias.

        None if there is none, or if several share the name equally. A name written exactly so goes
        before one that differs in the case of its first letter, and that before any other spelling.
        Of names written alike, a title goes before a redirect, and a redirect before an alias.
        """
        name = self.resolve(title)
        if name is None:
            return None
        return self.find(name.article_id)

    def resolve(self, title: str) -> Name | None:
        """Return the name that `get` follows."""
        return _nearest(title, self._named(title))

    def articles_titled(self, title: str) -> list[int]:
        """Return the numbers of the articles that a title means.

        The one of `get`, or several with exactly this title.
        """
        named = self._named(title)
        if name := _nearest(title, named):
            return [name.article_id]
        return list(
            dict.fromkeys(
                name.article_id for name in named if name.title in (title, canonical_title(title))
            )
        )

    def _named(self, title: str) -> list[Name]:
        key = name_key(title)
        names = self.names([key]).get(key, [])
        if not names:
            self._check_absence(key)
        named = []
        for name in names:
            if name.kind < NameKind.ANCHOR:
                named.append(name)
        return named

    def _check_absence(self, key: str) -> None:
        """Raise a StoreFormatError if the keys before and after one without names are damaged.

        It may have had some.
        """
        before, after = (self._file.query(sql, [key]) for sql in (_BEFORE, _AFTER))
        try:
            ordered = all(row[0] < key for row in before) and all(row[0] > key for row in after)
        except TypeError:
            ordered = False
        neighbours = [row[0] for row in (*before, *after)]
        rows_of = self._rows(neighbours) if ordered else {}
        if len(rows_of) != len(neighbours) or not ordered:
            raise StoreFormatError(
                f"the names beside {key!r:.100} in {self._file.place} are damaged. Build the "
                "store again"
            )
        for rows in rows_of.values():
            for row in rows:
                self._checked(row, len(rows))

    def names(self, keys: Sequence[str]) -> dict[str, list[Name]]:
        """Return the names of some keys (see `name_key`), by key.

        They come in the order of `NameKind`, then by links.
        """
        names = {}
        for key, rows in self._rows(keys).items():
            checked = [self._checked(row, len(rows)) for row in rows]
            if self._tests:
                passing = []
                for name, row in zip(checked, rows, strict=True):
                    if self._passes(*row[_NAME:]):
                        passing.append(name)
                checked = passing
            if checked:
                names[key] = checked
        return names

    def _rows(self, keys: Sequence[str]) -> dict[str, list[Any]]:
        """Return the rows of some keys, by key."""
        rows_of: dict[str, list[Any]] = {}
        sql = _NAMES
        if self._tests:
            sql = _NAMES_IN_VIEWS
        for row in self._file.query(sql, [json.dumps(keys)]):
            rows_of.setdefault(row[_KEY], []).append(row)
        return rows_of

    def _checked(self, row: Sequence[Any], names: int) -> Name:
        """Return the name in a row, of which its key has so many.

        Raise a StoreFormatError if the row has changed.
        """
        written, title, key, kind, article, form, count = row[:_NAME]
        try:
            if name_checksum(title, key, kind, article, form, count, names) == written:
                return Name(form, _KINDS[kind], count, article, title)
            reason = "differs from what was written"
        except (TypeError, ValueError, KeyError) as error:
            reason = f"is damaged ({error})"
        raise StoreFormatError(
            f"the name {key!r:.100} in {self._file.place} {reason}, or another of its key is "
            "lost. Build the store again"
        )

    def find(self, article_id: int) -> Article | None:
        """Return an article by its number.

        None if there is none that passes, or it was deleted after its name was looked up.
        """
        rows = self._file.query(ARTICLE, [article_id])
        article = article_of(self._file.place, rows[0]) if rows else None
        if article is None or not all(test(dict(article.metadata)) for test in self._tests):
            return None
        return article

    def titles(self) -> Iterator[str]:
        """Yield all titles, in the order in which their articles were read."""
        version = self.version
        last = 0
        count = 0
        sql = f"SELECT {HEAD} FROM article WHERE id > ? ORDER BY id LIMIT {_BLOCK}"  # noqa: S608
        while rows := self._file.query(sql, [last]):
            yield from (row[1] for row in rows if self._passes(*row))
            count += len(rows)
            if rows[-1][0] <= last:  # pages that name each other
                break
            last = rows[-1][0]
        if self.version == version and count != self._file.meta["articles"]:
            expected = self._file.meta["articles"]
            raise StoreFormatError(
                f"{self._file.place} has {count:,} of {expected:,} articles. Build the store again"
            )

    def keys(self, kinds: Collection[NameKind]) -> list[str]:
        """Return the keys of all names of some kinds, each once."""
        version = self.version
        counts = self._file.meta["names"]
        sql = _KEYS
        if self._tests:
            sql = _KEYS_IN_VIEWS
        rows = self._file.query(sql, [json.dumps([*kinds])])
        expected = sum(counts.get(kind.name.lower(), 0) for kind in {*kinds})
        if self.version == version and len(rows) != expected:
            raise StoreFormatError(
                f"{self._file.place} has {len(rows):,} of {expected:,} names. Build the store again"
            )
        keys: dict[str, None] = {}
        for names, *row in rows:
            self._checked(row, names)
            if not self._tests or self._passes(*row[_NAME:]):
                keys[row[_KEY]] = None
        return list(keys)

    def verify(self) -> list[str]:
        """Check every row of the file at the path.

        Return what is wrong, each with what to do about it.

        Raises:
            UnreadableFileError, StoreFormatError: The file cannot be opened as an article store.
        """
        with closing(ArticleFile(self.path, self._file.content)) as file:
            return verify_articles(file)

    def stats(self) -> dict[str, Any]:
        """Return counts of what the store holds, and how it was built.

        Numbers of names by kind, words kept of each article.
        """
        return {**self._file.meta, "bytes": self._file.size}

    def __len__(self) -> int:
        """Return the number of articles.

        In a view each is read, and those that pass the filter count.
        """
        if self._tests:
            return sum(1 for _ in self.titles())
        return int(self._file.meta["articles"])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.path, self._file.content, self._tests)

    def close(self) -> None:
        """Close the file; later calls are refused."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _distance(title: str, form: str) -> int:
    if form == clean_name(title):
        return 0
    if canonical_title(form) == canonical_title(title):
        return 1
    return 2


def _nearest(title: str, names: Sequence[Name]) -> Name | None:
    """Return the name nearest to a title; None if names of several articles are equally near."""
    # Forms without accents or marks are not spellings of their own, only what people may type.
    distances = []
    for name in names:
        distances.append((name.kind >= NameKind.UNACCENTED, _distance(title, name.form), name.kind))
    least = min(distances, default=None)
    nearest = [name for name, distance in zip(names, distances, strict=True) if distance == least]
    if len({name.article_id for name in nearest}) == 1:
        return nearest[0]
    return None


def opened(file: ArticleFile) -> ArticleStore:
    """Return the store of an open file, or of content in memory."""
    store = object.__new__(ArticleStore)
    store._file = file
    store._tests = ()
    return store


def _unpickle(path: Path | None, content: bytes, tests: Sequence[Filter]) -> ArticleStore:
    return reduce(ArticleStore.filtered, tests, opened(ArticleFile(path, content)))
