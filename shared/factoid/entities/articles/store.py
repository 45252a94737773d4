"""An article store: titles and other names to articles, from one file that is only read (Entity Retrieval, Appendix A.3)."""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from factoid.entities.articles.article import Article, Name
from factoid.entities.articles.names import NameKind, canonical_title, name_key, split_title
from factoid.entities.articles.schema import check_format
from factoid.errors import InvalidInputError, StoreError, StoreFormatError, UnreadableFileError

_MOST_KEYS = 200  # of one statement


class ArticleStore:
    """Articles by their titles, redirects and aliases. Any number of processes and threads may read one file.

    Args:
        path: A file that `build_articles` or `factoid build-articles` made.

    Raises:
        UnreadableFileError: There is no such file.
        StoreFormatError: The file is no article store of this version, or is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            message = f"there is no article store {self.path}. Build one with factoid build-articles"
            raise UnreadableFileError(message)
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        check_format(self._connection(), self.path)

    def get(self, title: str) -> Article | None:
        """Return the article of a title, or of the redirect or alias of this name; None if there is none.

        A title goes before a redirect, and a redirect before an alias; what is written as given goes before what differs in
        case. A name of several articles that nothing tells apart gives None: see `names`.
        """
        found = self.resolve(title)
        return None if found is None else self.article(found.article_id)

    def resolve(self, title: str) -> Name | None:
        """Return the name that `get` follows, without reading the article."""
        wanted = canonical_title(title)
        named = self.names([name_key(title)]).get(name_key(title), [])
        named = [name for name in named if name.kind in (NameKind.TITLE, NameKind.REDIRECT, NameKind.ALIAS)]
        written = [name for name in named if canonical_title(name.form) == wanted] or named
        best = [name for name in written if name.kind == min(other.kind for other in written)]
        return best[0] if len({name.article_id for name in best}) == 1 else None

    def names(self, keys: Sequence[str]) -> dict[str, list[Name]]:
        """Return what is known by some names, by their keys (see `name_key`); keys that name nothing are left out."""
        found: dict[str, list[Name]] = {}
        for start in range(0, len(keys), _MOST_KEYS):
            some = list(keys[start : start + _MOST_KEYS])
            marks = ",".join("?" * len(some))
            rows = self._query(
                "SELECT name.key, name.form, name.kind, name.count, name.article, article.title "  # noqa: S608
                f"FROM name JOIN article ON article.id = name.article WHERE name.key IN ({marks})",
                some,
            )
            for key, form, kind, count, article, title in rows:
                own = form if form is not None else split_title(title)[0] if kind == NameKind.BASE else title
                found.setdefault(key, []).append(Name(own, NameKind(kind), count, article, title))
        return found

    def article(self, article_id: int) -> Article:
        """Return an article by its number.

        Raises:
            InvalidInputError: There is none.
            StoreFormatError: Its text is damaged.
        """
        rows = self._query("SELECT title, body, metadata FROM article WHERE id = ?", [article_id])
        if not rows:
            message = f"{self.path} has no article {article_id}"
            raise InvalidInputError(message)
        title, body, metadata = rows[0]
        try:
            return Article(title, zlib.decompress(body).decode(), metadata=json.loads(metadata) if metadata else {})
        except (zlib.error, ValueError) as error:
            message = f"the article {title!r} of {self.path} is damaged: {error}. Build the store again"
            raise StoreFormatError(message) from error

    def titles(self) -> Iterator[str]:
        """Yield all titles."""
        last = 0
        while rows := self._query("SELECT id, title FROM article WHERE id > ? ORDER BY id LIMIT 10000", [last]):
            yield from (title for _, title in rows)
            last = rows[-1][0]

    def __len__(self) -> int:
        """Return how many articles there are."""
        return int(self._query("SELECT COUNT(*) FROM article", [])[0][0])

    def __contains__(self, title: object) -> bool:
        return isinstance(title, str) and self.resolve(title) is not None

    def close(self) -> None:
        """Close the file; what is asked later is refused."""
        with self._lock:
            self._closed = True
            while self._open:
                self._open.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _query(self, sql: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._connection().execute(sql, values).fetchall()
        except sqlite3.ProgrammingError as error:
            message = f"{self.path} was closed while it was read"
            raise StoreError(message) from error
        except sqlite3.DatabaseError as error:
            message = f"{self.path} cannot be read: {error}. Build it again with factoid build-articles"
            raise StoreFormatError(message) from error

    def _connection(self) -> sqlite3.Connection:
        """Return this thread's connection: SQLite serves one caller at a time on each."""
        if self._closed:
            message = f"{self.path} is closed"
            raise StoreError(message)
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            address = f"file:{quote(str(self.path.absolute()))}?mode=ro&immutable=1"
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            with self._lock:
                self._open.append(connection)
            self._local.connection = connection
        return connection
