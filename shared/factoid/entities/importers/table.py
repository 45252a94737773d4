"""Articles of your own as a table: CSV as spreadsheets save it, separated by commas, semicolons or tabs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.sources import describe_files, unusual_keys
from factoid.entities.importers.paths import Paths, list_files
from factoid.entities.importers.table_rows import ENDINGS, find_column, read_rows
from factoid.errors import InvalidInputError, UnreadableFileError

_OTHERS = ("aliases", "redirects", "id")
_NAMES = re.compile(r"\s*[|;\n]\s*")


class ArticleCsv:
    """Tables with a head: a column of titles, one of texts, and if you like `aliases`, `redirects` and `id`.

    Several names in one cell are separated by "|", ";" or line breaks. The id becomes that of what a retriever returns, what
    other columns hold its metadata.

    Args:
        paths: Files in UTF-8, plain or compressed by gzip or bzip2, or folders of files that end in .csv or .tsv.
        title_key: What stands over the column of titles, in any case.
        text_key: What stands over the column of texts.
    """

    def __init__(self, paths: Paths, *, title_key: str = "title", text_key: str = "text") -> None:
        self._paths, self._title_key, self._text_key = paths, title_key, text_key

    @property
    def name(self) -> str:
        """What is read."""
        return describe_files("ArticleCsv", self._files(), **unusual_keys(self._title_key, self._text_key))

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on: of each row the article, then its redirects.

        Raises:
            UnreadableFileError: A file is missing, damaged or not UTF-8, has other columns, or a row has no title or
                more cells than the head.
        """
        records = (record for file in self._files() for record in self._records(file))
        return islice(records, skip, None)

    def _files(self) -> list[Path]:
        expected = f"files that end in {', '.join(ENDINGS)}"
        return list_files(self._paths, accept=lambda file: file.name.lower().endswith(ENDINGS), expected=expected)

    def _records(self, file: Path) -> Iterator[Record]:
        rows = read_rows(file, self._title_key, self._text_key)
        _, head = next(rows, (0, []))
        columns = _Columns(file, head, self._title_key, self._text_key)
        for line, row in rows:
            try:
                yield from columns.records(row)
            except InvalidInputError as error:
                message = f"{file}:{line}: {error}"
                raise UnreadableFileError(message) from error


class _Columns:
    """What the columns of a table hold."""

    def __init__(self, file: Path, head: Sequence[str], title_key: str, text_key: str) -> None:
        self.names = [name.strip() for name in head]
        title, text = find_column(self.names, title_key), find_column(self.names, text_key)
        if title is None or text is None:
            message = (
                f"{file}: expected one column {title_key!r} and one {text_key!r}, got "
                f"{', '.join(map(repr, self.names[:8])) or 'an empty file'}. Say what they are called with title_key and "
                "text_key, on the command line with --title-key and --text-key"
            )
            raise UnreadableFileError(message)
        twice = [name for name, count in Counter(self.names).items() if name and count > 1]
        if twice:
            message = f"{file}: several columns are called {', '.join(map(repr, twice))}: give each a name of its own"
            raise UnreadableFileError(message)
        self.title, self.text = title, text
        self.aliases, self.redirects, self.id = (find_column(self.names, name) for name in _OTHERS)

    def records(self, row: Sequence[str]) -> Iterator[Record]:
        """Yield the article of a row, then its redirects.

        Raises:
            InvalidInputError: The row has no title, or a cell under no name.
        """
        cells = [*row, *[""] * (len(self.names) - len(row))]
        if any(cell.strip() and not name for cell, name in zip_longest(cells, self.names, fillvalue="")):
            message = (
                f"a cell under no name, {len(row)} cells and {len([*filter(None, self.names)])} names: a text that holds a "
                "separator has to stand in double quotes"
            )
            raise InvalidInputError(message)
        title = cells[self.title].strip()
        if not title:
            message = "a row without a title"
            raise InvalidInputError(message)
        special = {self.title, self.text, self.aliases, self.redirects, self.id}
        metadata = {name: cells[at] for at, name in enumerate(self.names) if at not in special and cells[at].strip()}
        own = "" if self.id is None else cells[self.id].strip()
        yield Article(title, cells[self.text], _names(cells, self.aliases), metadata=metadata, document_id=own)
        yield from (Redirect(name, title) for name in _names(cells, self.redirects))


def _names(cells: Sequence[str], column: int | None) -> tuple[str, ...]:
    if column is None:
        return ()
    return tuple(dict.fromkeys(filter(None, _NAMES.split(cells[column].strip()))))
