"""Records on their way into a store that is built: a batch of them, as rows of its tables."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Executor, Future

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.names import clean_name
from factoid.entities.articles.report import EXAMPLES
from factoid.errors import InvalidInputError
from factoid.words import cut_words

LEVEL = 6  # of zlib: on Wikipedia's text as small as 9, and 1 % smaller than 4 in 1.3 times its time
_MOST_RECORDS = 20_000  # of a batch, and what else bounds its memory:
_MOST_TEXT = 32_000_000  # characters
_MOST_LINKS = 500_000  # different ones
_CHUNK = 64  # bodies that are compressed at a time


class Batch:
    """Rows of the records that one transaction will add.

    Args:
        words: How many words of an article to keep.
        first_id: Number of the next article.
        executor: Where texts are compressed, which Python lets run beside it.

    Attributes:
        articles: Rows of `article`: (id, title, metadata as JSON or None, document's id or None).
        aliases: (form, article).
        redirects: (name, target).
        records: How many were added.
        links: How many links the articles hold.
        empty: Titles of articles without text; at most EXAMPLES of `empty_count`.
    """

    def __init__(self, words: int, first_id: int, executor: Executor) -> None:
        self.articles: list[tuple[int, str, str | None, str | None]] = []
        self.aliases: list[tuple[str, int]] = []
        self.redirects: list[tuple[str, str]] = []
        self.records = self.links = self.empty_count = 0
        self.empty: list[str] = []
        self._words, self._id, self._executor = words, first_id, executor
        self._links: Counter[tuple[str, str]] = Counter()
        self._texts: list[str] = []
        self._bodies: list[Future[list[bytes]]] = []
        self._characters = 0

    @property
    def full(self) -> bool:
        """Whether it is time to write it."""
        return self.records >= _MOST_RECORDS or self._characters >= _MOST_TEXT or len(self._links) >= _MOST_LINKS

    def add(self, record: Record) -> None:
        """Add a record.

        Raises:
            InvalidInputError: It is no record, has no title, or its metadata cannot be JSON.
        """
        if isinstance(record, Redirect):
            self.redirects.append((clean_name(record.name), clean_name(record.target)))
        elif isinstance(record, Article):
            self._add_article(record)
        else:
            message = f"a source must give articles and redirects, got {type(record).__name__}"
            raise InvalidInputError(message)
        self.records += 1

    def bodies(self) -> list[tuple[int, bytes]]:
        """Return the rows of `body`: (id, compressed text)."""
        self._compress()
        texts = (text for future in self._bodies for text in future.result())
        return [(number, text) for (number, *_), text in zip(self.articles, texts, strict=True)]

    def link_rows(self) -> list[tuple[str, str | None, int]]:
        """Return the links as (target, text or None where that is the target, count)."""
        rows = []
        for (form, target), count in self._links.items():
            to, written = clean_name(target), clean_name(form)
            if to and written:
                rows.append((to, None if written == to else written, count))
        return rows

    def _add_article(self, article: Article) -> None:
        title = clean_name(article.title)
        if not title:
            message = f"an article needs a title, got {article.title!r} with the text {article.text[:60]!r}"
            raise InvalidInputError(message)
        text = cut_words(article.text, self._words)
        if not text.strip():
            self.empty_count += 1
            self.empty += [title] if len(self.empty) < EXAMPLES else []
            return
        self.articles.append((self._id, title, _json(article), article.document_id or None))
        self.aliases += [(form, self._id) for form in map(clean_name, article.aliases) if form]
        self._links.update(article.links)
        self.links += len(article.links)
        self._id += 1
        self._characters += len(text)
        self._texts.append(text)
        if len(self._texts) == _CHUNK:
            self._compress()

    def _compress(self) -> None:
        if self._texts:
            self._bodies.append(self._executor.submit(_compressed, self._texts))
            self._texts = []


def compress(text: str) -> bytes:
    """Return a body as it is stored."""
    return zlib.compress(text.encode(), LEVEL)


def _compressed(texts: list[str]) -> list[bytes]:
    return [compress(text) for text in texts]


def _json(article: Article) -> str | None:
    if not article.metadata:
        return None
    try:
        return _dumped(dict(article.metadata))
    except (TypeError, ValueError, RecursionError) as error:
        document = f" (id {article.document_id!r})" if article.document_id else ""
        message = f"the metadata of {article.title!r}{document} must hold what JSON can hold: {_fault(article.metadata)}{error}"
        raise InvalidInputError(message) from error


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _fault(metadata: Mapping[str, object]) -> str:
    """Return which value of the metadata is no JSON, as the beginning of an error."""
    for key, value in metadata.items():
        try:
            _dumped({key: value})
        except (TypeError, ValueError, RecursionError):
            return f"{key!r} is {value!r:.60}, and "
    return ""
