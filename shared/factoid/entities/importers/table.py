"""Articles of your own as a table: CSV as spreadsheets save it, separated by commas, semicolons or tabs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.sources import unusual_keys
from factoid.entities.importers.source_files import FileSource, Paths
from factoid.errors import InvalidInputError
from factoid.files.lines import located
from factoid.files.tables import find_column, read_rows

TABLES = ("*.csv", "*.tsv")
_BETWEEN_NAMES = re.compile(r"[|;\n]")
_OPTIONAL = ("aliases", "redirects", "id")


class ArticleCsv(FileSource):
    """Tables with a head: a column of titles, one of texts, and if you like `aliases`, `redirects` and `id`.

    Several names in one cell are separated by "|", ";" or line breaks. The id becomes that of what a retriever returns, what
    other columns hold its metadata.

    Args:
        paths: Files in UTF-8, plain or compressed by gzip or bzip2, or folders of files that end in .csv or .tsv.
        title_key: What stands over the column of titles, in any case.
        text_key: What stands over the column of texts.
    """

    patterns = TABLES

    def __init__(self, paths: Paths, *, title_key: str = "title", text_key: str = "text") -> None:
        super().__init__(paths)
        self._title_key, self._text_key = title_key, text_key
        self._options = unusual_keys(title_key, text_key)

    def read(self, skip: int = 0) -> Iterator[Record]:
        """Yield the records from number `skip` on: of each row the article, then its redirects.

        Raises:
            UnreadableFileError: A file is missing, damaged or of other columns, or a row has no title or too many cells.
        """
        return islice(chain.from_iterable(map(self._records, self._files())), skip, None)

    def _records(self, file: Path) -> Iterator[Record]:
        rows = read_rows(file, self._title_key, self._text_key)
        names = [name.strip() for name in next(rows, (0, []))[1]]
        with located(str(file)):
            columns = self._columns(names)
        for line, row in rows:
            with located(f"{file}:{line}"):
                records = _row_records(row, names, columns)
            yield from records

    def _columns(self, names: Sequence[str]) -> dict[str, int]:
        """Return where the columns of titles, texts and what is optional are."""
        wanted = {"title": self._title_key, "text": self._text_key} | {name: name for name in _OPTIONAL}
        columns = {role: at for role, name in wanted.items() if (at := find_column(names, name)) is not None}
        if not {"title", "text"} <= columns.keys():
            message = (
                f"expected one column {self._title_key!r} and one {self._text_key!r}, got "
                f"{', '.join(map(repr, names[:8])) or 'an empty file'}. Say what they are called with title_key and "
                "text_key, on the command line with --title-key and --text-key"
            )
            raise InvalidInputError(message)
        if twice := [name for name, count in Counter(filter(None, names)).items() if count > 1]:
            message = f"several columns are called {', '.join(map(repr, twice))}: give each a name of its own"
            raise InvalidInputError(message)
        return columns


def _row_records(row: Sequence[str], names: Sequence[str], columns: dict[str, int]) -> list[Record]:
    """Return the article of a row, then its redirects."""
    pairs = list(zip_longest(names, row, fillvalue=""))
    if any(cell.strip() and not name for name, cell in pairs):
        message = (
            f"a cell under no name, {len(row)} cells and {len([*filter(None, names)])} names: a text that holds a "
            "separator has to stand in double quotes"
        )
        raise InvalidInputError(message)
    cells = {role: pairs[at][1] for role, at in columns.items()}
    title = cells["title"].strip()
    if not title:
        message = "a row without a title"
        raise InvalidInputError(message)
    metadata = {name: cell for at, (name, cell) in enumerate(pairs) if at not in columns.values() and cell.strip()}
    aliases, redirects = (_split_names(cells.get(role, "")) for role in ("aliases", "redirects"))
    article = Article(title, cells["text"], aliases, metadata=metadata, document_id=cells.get("id", "").strip())
    return [article, *(Redirect(name, title) for name in redirects)]


def _split_names(cell: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(str.strip, _BETWEEN_NAMES.split(cell)))))
