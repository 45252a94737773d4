"""Articles of your own as JSON Lines, and titles with their texts as SpEL keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.sources import describe_files, unusual_keys
from factoid.entities.importers.json_lines import (
    EXPECTED,
    Fields,
    is_json_lines,
    read_json_lines,
    text_field,
)
from factoid.entities.importers.other_names import other_names, own_id
from factoid.entities.importers.paths import Paths, list_files
from factoid.errors import InvalidInputError


class ArticleJsonl:
    """Lines such as `{"id": …, "title": …, "text": …, "aliases": […], "redirects": […], "metadata": {…}}`.

    All but the title and the text may be missing. The id becomes that of what a retriever returns. Redirects are other
    names that lead to the article; they go before aliases. Aliases may also stand in the metadata, as those of
    `OwnDocuments` do; one name need be no list.

    Args:
        paths: Files, plain or compressed by gzip or bzip2, or folders of files that end in .jsonl or .ndjson.
        title_key: Field that holds the title.
        text_key: Field that holds the text.
    """

    def __init__(self, paths: Paths, *, title_key: str = "title", text_key: str = "text") -> None:
        self._paths, self._title_key, self._text_key = paths, title_key, text_key

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("ArticleJsonl", self._files(), **unusual_keys(self._title_key, self._text_key))

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on: of each line the article, then its redirects.

        Raises:
            UnreadableFileError: A file is missing or damaged, or a line holds something else.
        """
        return read_json_lines(self._files(), self._records, skip=skip, one_each=False)

    def _records(self, fields: Fields) -> Sequence[Record]:
        if not {self._title_key, self._text_key} <= set(fields):
            found = ", ".join(map(repr, list(fields)[:8])) or "an empty object"
            message = (
                f"expected the fields {self._title_key!r} and {self._text_key!r}, got {found}. Say what they are called with "
                "title_key and text_key, on the command line with --title-key and --text-key"
            )
            raise InvalidInputError(message)
        title = text_field(fields, self._title_key)
        metadata = fields.get("metadata") or {}
        if not isinstance(metadata, dict):
            message = f"expected an object in 'metadata', got {metadata!r:.60}"
            raise InvalidInputError(message)
        aliases, more = _names(fields, "aliases"), _names(metadata, "aliases")
        aliases += tuple(alias for alias in more if alias not in aliases)
        text = text_field(fields, self._text_key)
        article = Article(title, text, aliases, metadata=metadata, document_id=own_id(fields.get("id")))
        return [article, *(Redirect(name, title) for name in _names(fields, "redirects"))]

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


def _titles(fields: Fields) -> Sequence[Record]:
    return [Article(title, text_field(fields, title)) for title in fields]


def _names(fields: Fields, name: str) -> tuple[str, ...]:
    return other_names(fields.get(name), f"expected a list of strings in {name!r}")
