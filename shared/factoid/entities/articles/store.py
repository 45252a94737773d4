"""An article store: titles and other names to articles, from one file that is only read (Entity Retrieval, Appendix A.3)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from factoid.entities.articles.article import Article, Name
from factoid.entities.articles.connections import Connections
from factoid.entities.articles.names import NameKind, canonical_title, clean_name, name_key, split_title
from factoid.entities.articles.schema import FORMAT
from factoid.entities.articles.stats import ArticleStats
from factoid.errors import InvalidInputError, StoreFormatError

_MOST_KEYS = 200  # of one statement
_NAMED = (NameKind.TITLE, NameKind.REDIRECT, NameKind.ALIAS, NameKind.UNACCENTED)


class ArticleStore:
    """Articles by their titles, redirects and aliases. Any number of processes and threads may read one file.

    An instance reads the file that it opened until it is closed, also when a new build has replaced that file: open it again
    for the new one. From then on threads share the connections that there are. An instance may be used after a fork. It can
    be pickled: what is unpickled opens the file that lies at the path then.

    Args:
        path: A file that `build_articles` or `factoid build-articles` made.

    Raises:
        UnreadableFileError: There is no such file.
        StoreFormatError: The file is no article store of this version, or is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = Connections(self.path)
        try:
            self._meta = {key: json.loads(value) for key, value in self._file.query("SELECT key, value FROM meta")}
        except (ValueError, StoreFormatError) as error:
            self._file.close()
            message = f"{self.path} is damaged: {error}. Build it again with factoid build-articles"
            raise StoreFormatError(message) from error

    def get(self, title: str) -> Article | None:
        """Return the article of a title, or of the redirect or alias of this name; None if there is none.

        What is written as given goes before what differs in the case of its first letter, and that before what differs
        otherwise; of what is written alike, a title goes before a redirect, and a redirect before an alias. A name of
        several articles that nothing tells apart gives None: see `names`.
        """
        found = self.resolve(title)
        return None if found is None else self.article(found.article_id)

    def resolve(self, title: str) -> Name | None:
        """Return the name that `get` follows, without reading the article."""
        return self._meant(title, self._named(title))

    def _named(self, title: str) -> list[Name]:
        key = name_key(title)
        return [name for name in self.names([key]).get(key, []) if name.kind in _NAMED]

    def _meant(self, title: str, named: Sequence[Name]) -> Name | None:
        if not named:
            return None
        written, canonical = clean_name(title), canonical_title(title)
        ranks = [
            (
                name.kind is NameKind.UNACCENTED,  # it is nobody's spelling, but only how others may be typed
                0 if name.form == written else 1 if canonical_title(name.form) == canonical else 2,
                name.kind,
            )
            for name in named
        ]
        best = [name for name, rank in zip(named, ranks, strict=True) if rank == min(ranks)]
        return best[0] if len({name.article_id for name in best}) == 1 else None

    def title_of(self, name: str) -> str | None:
        """Return the title of the article that `get` gives, also where a redirect leads to one that is not in the store.

        That happens in a part of a dump, or where an article had no text. None for other names without an article.
        """
        if named := self._named(name):
            found = self._meant(name, named)
            return None if found is None else found.title
        title, seen = self._outside(name), {name}
        while title is not None and title not in seen and (further := self._outside(title)) is not None:
            seen.add(title)
            title = further
        return title

    def _outside(self, name: str) -> str | None:
        written, canonical = clean_name(name), canonical_title(name)
        rows = self._file.query("SELECT form, target FROM outside WHERE key = ? ORDER BY form", [name_key(name)])
        ranked = sorted(rows, key=lambda row: (row[0] != written, canonical_title(row[0]) != canonical))
        return ranked[0][1] if ranked else None

    def names(self, keys: Sequence[str]) -> dict[str, list[Name]]:
        """Return what is known by some names, by their keys (see `name_key`); keys that name nothing are left out.

        Of each key titles come first, then redirects, aliases, texts of links and bases of titles; of one kind, what more
        links mean.
        """
        found: dict[str, list[Name]] = {}
        for start in range(0, len(keys), _MOST_KEYS):
            some = list(keys[start : start + _MOST_KEYS])
            marks = ",".join("?" * len(some))
            rows = self._file.query(
                "SELECT name.key, name.form, name.kind, name.count, name.article, article.title "  # noqa: S608
                f"FROM name JOIN article ON article.id = name.article WHERE name.key IN ({marks}) "
                "ORDER BY name.key, name.rank",
                some,
            )
            try:
                for key, form, kind, count, article, title in rows:
                    own = form if form is not None else _form(kind, key, title)
                    found.setdefault(key, []).append(Name(own, NameKind(kind), count, article, title))
            except (ValueError, TypeError) as error:
                message = f"the names of {self.path} are damaged: {error}. Build the store again"
                raise StoreFormatError(message) from error
        return found

    def article(self, article_id: int) -> Article:
        """Return an article by its number.

        Raises:
            InvalidInputError: There is none.
            StoreFormatError: Its text is damaged.
        """
        rows = self._file.query(
            "SELECT article.title, body.text, article.metadata, article.document_id "
            "FROM article LEFT JOIN body USING (id) WHERE id = ?",
            [article_id],
        )
        if not rows:
            message = f"{self.path} has no article {article_id}"
            raise InvalidInputError(message)
        title, body, metadata, document_id = rows[0]
        try:
            text, own = zlib.decompress(body).decode(), json.loads(metadata) if metadata else {}
            return Article(title, text, metadata=own, document_id=document_id or "")
        except (zlib.error, ValueError, TypeError) as error:
            message = f"the article {title!r} of {self.path} is damaged: {error}. Build the store again"
            raise StoreFormatError(message) from error

    def titles(self) -> Iterator[str]:
        """Yield all titles, in the order in which their articles were read."""
        last = 0
        sql = "SELECT id, title FROM article WHERE id > ? ORDER BY id LIMIT 10000"
        while rows := self._file.query(sql, [last]):
            yield from (title for _, title in rows)
            last = rows[-1][0]

    def stats(self) -> ArticleStats:
        """Return what the store holds, in numbers."""
        meta = self._meta
        return ArticleStats(
            articles=meta["articles"],
            names=meta["names"],
            outside=meta["outside"],
            links=meta["links"],
            words=meta["words"],
            sources=tuple(meta["sources"]),
            format=FORMAT,
            bytes=self._file.size,
        )

    def __len__(self) -> int:
        """Return how many articles there are."""
        return int(self._meta["articles"])

    def __contains__(self, title: object) -> bool:
        return isinstance(title, str) and self.resolve(title) is not None

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return ArticleStore, (self.path,)

    def close(self) -> None:
        """Close the file; what is asked later is refused."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _form(kind: int, key: str, title: str) -> str:
    """Return the form of a name for which none is stored."""
    if kind == NameKind.TITLE:
        return title
    return split_title(title)[0] if kind == NameKind.BASE else key
