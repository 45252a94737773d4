"""An article store: finds articles by title and other names, in one file (Entity Retrieval, Appendix A.3)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any, Self

from factoid.entities.articles.article import Article, Name
from factoid.entities.articles.changes import change_articles
from factoid.entities.articles.file import ARTICLE, ArticleFile, read_article
from factoid.entities.articles.names import NameKind, canonical_title, clean_name, name_key
from factoid.errors import InvalidInputError, StoreFormatError
from factoid.filters import Filter, matches, parse_filter
from factoid.units import check_text


class ArticleStore:
    """Finds articles by title, redirect or alias, in a file that `build_articles` or `factoid build-articles` made.

    Any number of processes and threads may read one file. When a new build, or a change by another instance, replaces the
    file, an instance keeps reading the one that it opened: `reload` reads the new one. It may be pickled; the copy opens the
    file at the path.

    Raises:
        UnreadableFileError: There is no such file.
        StoreFormatError: The file is not an article store of this version, or is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = ArticleFile(self.path)
        self._origin: ArticleStore | None = None  # of a view: a temporary file goes with the store
        self._tests: tuple[Callable[[dict[str, Any]], bool], ...] = ()  # of metadata, in a view

    @property
    def version(self) -> int:
        """The number of files that this instance has read before the current one, through changes and `reload`."""
        return self._file.version

    def reload(self) -> None:
        """Switch to the file that is at the path now; readers in other threads go on without an error."""
        self._file.reopen()

    def delete(self, document_ids: Iterable[str]) -> None:
        """Delete the articles of some documents, all or none; an unknown id is an InvalidInputError.

        The file is built again, so delete many at once. This instance then reads the new one.
        """
        if isinstance(document_ids, str):
            raise InvalidInputError(f"expected several ids, got the string {document_ids!r}")
        change_articles(self.path, (), set(document_ids))
        self.reload()

    def filtered(self, condition: Filter) -> ArticleStore:
        """Return a view of the articles whose metadata pass a filter (as for `UnitStore.search`), such as one tenant's.

        The view reloads, changes and closes with this store.
        """
        view = object.__new__(ArticleStore)
        view.__dict__.update(self.__dict__, _origin=self)
        test = condition if callable(condition) else partial(matches, parse_filter(condition))
        view._tests = (*self._tests, test)
        return view

    def _passes(self, metadata: str) -> bool:
        return not self._tests or all(test(json.loads(metadata)) for test in self._tests)

    def get(self, title: str) -> Article | None:
        """Return the article of a title, redirect or alias; None if there is none, or if several share the name equally.

        A name written exactly so goes before one that differs in the case of its first letter, and that before any other
        spelling. Of names written alike, a title goes before a redirect, and a redirect before an alias.
        """
        name = self.resolve(title)
        return None if name is None else self.find(name.article_id)

    def resolve(self, title: str) -> Name | None:
        """Return the name that `get` follows."""
        return _nearest(title, self._named(title))

    def articles_titled(self, title: str) -> list[int]:
        """Return the numbers of the articles that a title means: the one of `get`, or several with exactly this title."""
        named = self._named(title)
        if name := _nearest(title, named):
            return [name.article_id]
        return list(dict.fromkeys(name.article_id for name in named if name.title in (title, canonical_title(title))))

    def _named(self, title: str) -> list[Name]:
        key = name_key(title)
        return [name for name in self.names([key]).get(key, []) if name.kind < NameKind.ANCHOR]

    def names(self, keys: Sequence[str]) -> dict[str, list[Name]]:
        """Return the names of some keys (see `name_key`), by key, in the order of `NameKind`, then by links."""
        names: dict[str, list[Name]] = {}
        sql = (
            "SELECT key, form, kind, count, article, title, metadata FROM name JOIN article ON id = article "
            "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY key, kind, count DESC, article, form"
        )
        try:
            for key, form, kind, count, article, title, metadata in self._file.query(sql, [json.dumps(keys)]):
                if self._passes(metadata):
                    check_text(form, "name")
                    names.setdefault(key, []).append(Name(form, NameKind(kind), count, article, title))
        except (ValueError, TypeError) as error:
            raise StoreFormatError(f"damaged names in {self.path}: {error}. Build the store again") from error
        return names

    def find(self, article_id: int) -> Article | None:
        """Return an article by its number; None if there is none that passes, or it was deleted after its name was looked up."""
        rows = self._file.query(ARTICLE, [article_id])
        try:
            article = read_article(*rows[0]) if rows else None
        except (zlib.error, ValueError, TypeError) as error:
            place = f"the article {rows[0][0]!r} of {self.path}"
            raise StoreFormatError(f"{place} is damaged: {error}. Build the store again") from error
        if article is None or not all(test(dict(article.metadata)) for test in self._tests):
            return None
        return article

    def titles(self) -> Iterator[str]:
        """Yield all titles, in the order in which their articles were read."""
        last = 0
        sql = "SELECT id, title, metadata FROM article WHERE id > ? ORDER BY id LIMIT 10000"
        while rows := self._file.query(sql, [last]):
            yield from (title for _, title, metadata in rows if self._passes(metadata))
            last = rows[-1][0]

    def keys(self, kinds: Collection[NameKind]) -> list[str]:
        """Return the keys of all names of some kinds, each once."""
        listed = "kind IN (SELECT value FROM json_each(?))"
        sql = f"SELECT key, metadata FROM name JOIN article ON id = article WHERE {listed} ORDER BY key"  # noqa: S608
        rows = self._file.query(sql, [json.dumps([*kinds])])
        return list(dict.fromkeys(key for key, metadata in rows if self._passes(metadata)))

    def stats(self) -> dict[str, Any]:
        """Return counts of what the store holds, and how it was built: numbers of names by kind, words kept of each article."""
        return {**self._file.meta, "bytes": self._file.size}

    def __len__(self) -> int:
        """Return the number of articles; in a view each is read, and those that pass the filter count."""
        return sum(1 for _ in self.titles()) if self._tests else int(self._file.meta["articles"])

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.path, self._tests)

    def close(self) -> None:
        """Close the file; later calls are refused."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _distance(title: str, form: str) -> int:
    return 0 if form == clean_name(title) else 1 if canonical_title(form) == canonical_title(title) else 2


def _nearest(title: str, names: Sequence[Name]) -> Name | None:
    """Return the name nearest to a title; None if names of several articles are equally near."""
    # Forms without accents or marks are not spellings of their own, only what people may type.
    distances = [(name.kind >= NameKind.UNACCENTED, _distance(title, name.form), name.kind) for name in names]
    least = min(distances, default=None)
    nearest = [name for name, distance in zip(names, distances, strict=True) if distance == least]
    return nearest[0] if len({name.article_id for name in nearest}) == 1 else None


def _unpickle(path: Path, tests: Sequence[Filter]) -> ArticleStore:
    return reduce(ArticleStore.filtered, tests, ArticleStore(path))
