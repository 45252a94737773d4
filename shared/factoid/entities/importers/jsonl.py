"""Articles of your own as JSON Lines, and titles with their texts as SpEL keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.sources import describe_files
from factoid.entities.importers.json_lines import (
    EXPECTED,
    Fields,
    is_json_lines,
    read_json_lines,
    text_field,
    texts_field,
)
from factoid.entities.importers.paths import Paths, list_files
from factoid.errors import InvalidInputError


class ArticleJsonl:
    """Lines such as `{"title": …, "text": …, "aliases": […], "redirects": […], "metadata": {…}}`.

    All but the title and the text may be missing. Redirects are other names that lead to the article; they go before
    aliases.

    Args:
        paths: Files, plain or compressed by gzip or bzip2, or folders of files that end in .jsonl or .ndjson.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("ArticleJsonl", self._files())

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on: of each line the article, then its redirects.

        Raises:
            UnreadableFileError: A file is missing or damaged, or a line holds something else.
        """
        return read_json_lines(self._files(), _article, skip=skip, one_each=False)

    def _files(self) -> list[Path]:
        return list_files(self._paths, accept=is_json_lines, expected=EXPECTED)


class TitleTextJsonl:
    """Lines such as `{"title of an article": "its text"}`, one or more titles a line, as SpEL's articles are published.

    Args:
        paths: As for `ArticleJsonl`.
    """

    def __init__(self, paths: Paths) -> None:
        self._paths = paths

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("TitleTextJsonl", self._files())

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the articles from number `skip` on.

        Raises:
            UnreadableFileError: A file is missing or damaged, or a line holds something else.
        """
        return read_json_lines(self._files(), _titles, skip=skip, one_each=False)

    def _files(self) -> list[Path]:
        return list_files(self._paths, accept=is_json_lines, expected=EXPECTED)


def _article(fields: Fields) -> Sequence[Record]:
    title = text_field(fields, "title")
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict):
        message = f"expected an object in 'metadata', got {metadata!r:.60}"
        raise InvalidInputError(message)
    article = Article(title, text_field(fields, "text"), texts_field(fields, "aliases"), metadata=metadata)
    return [article, *(Redirect(name, title) for name in texts_field(fields, "redirects"))]


def _titles(fields: Fields) -> Sequence[Record]:
    return [Article(title, text_field(fields, title)) for title in fields]
