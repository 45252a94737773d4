"""Articles of your own as a table: CSV as spreadsheets save it, separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from factoid.entities.articles.article import Article, Record, Redirect
from factoid.entities.articles.sources import describe_files
from factoid.entities.importers.paths import Paths, list_files, opened
from factoid.errors import InvalidInputError, UnreadableFileError

ENDINGS = (".csv", ".csv.gz", ".csv.bz2", ".tsv", ".tsv.gz", ".tsv.bz2")
_SEPARATORS = ",;\t"
_NAMES = re.compile(r"\s*[|;\n]\s*")
_LONGEST_CELL = 1 << 27  # characters; Python's own limit of 131,072 is less than some articles have


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
        keys = {"title_key": (self._title_key, "title"), "text_key": (self._text_key, "text")}
        others = {name: key for name, (key, usual) in keys.items() if key != usual}
        return describe_files("ArticleCsv", self._files(), **others)

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
        rows = read_rows(file)
        _, head = next(rows, (0, []))
        columns = [name.strip() for name in head]
        titles, texts = _column(columns, self._title_key), _column(columns, self._text_key)
        if titles is None or texts is None:
            message = (
                f"{file}: expected the columns {self._title_key!r} and {self._text_key!r}, got "
                f"{', '.join(map(repr, columns[:8])) or 'an empty file'}. Say what they are called with title_key and "
                "text_key, on the command line with --title-key and --text-key"
            )
            raise UnreadableFileError(message)
        aliases, redirects = _column(columns, "aliases"), _column(columns, "redirects")
        ids = _column(columns, "id")
        special = {titles, texts, aliases, redirects, ids}
        for line, row in rows:
            place = f"{file}:{line}"
            if any(map(str.strip, row[len(columns) :])):
                message = (
                    f"{place}: {len(row)} cells under a head of {len(columns)}: a text that holds a separator or a line break "
                    "has to stand in double quotes"
                )
                raise UnreadableFileError(message)
            cells = row[: len(columns)] + [""] * (len(columns) - len(row))
            others = {name: cells[at] for at, name in enumerate(columns) if name and at not in special}
            try:
                title = cells[titles].strip()
                if not title:
                    message = "a row without a title"
                    raise InvalidInputError(message)
                metadata = {name: cell for name, cell in others.items() if cell.strip()}
                own = "" if ids is None else cells[ids].strip()
                yield Article(title, cells[texts], _names(cells, aliases), metadata=metadata, document_id=own)
                yield from (Redirect(name, title) for name in _names(cells, redirects))
            except InvalidInputError as error:
                message = f"{place}: {error}"
                raise UnreadableFileError(message) from error


def read_rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table that are not blank, each with the number of the line in which it ends.

    The separator is the one of comma, semicolon and tab that the first line has most of.

    Raises:
        UnreadableFileError: The file cannot be read, is damaged, or is not UTF-8.
    """
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))
    with opened(file) as raw:
        lines = _decoded(raw, file)
        first = next(lines, "")
        reader = csv.reader(chain([first], lines), delimiter=_separator(first), strict=True)
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield reader.line_num, row
        except csv.Error as error:
            message = f"{file}:{reader.line_num}: no CSV: {error}"
            raise UnreadableFileError(message) from error


def has_columns(file: Path, *names: str) -> bool:
    """Tell whether the first line of a file names such columns. It need be no table: quotes may stand anywhere.

    Raises:
        UnreadableFileError: The file cannot be read, is damaged, or is not UTF-8.
    """
    with opened(file) as raw:
        first = next(_decoded(raw, file), "")
    columns = [name.strip() for name in next(csv.reader([first], delimiter=_separator(first)), [])]
    return all(_column(columns, name) is not None for name in names)


def _separator(line: str) -> str:
    return max(_SEPARATORS, key=line.count)


def _column(columns: Sequence[str], name: str) -> int | None:
    """Return where a column is: as it is written, or else in any case, where one alone is called so."""
    if name in columns:
        return columns.index(name)
    found = [at for at, column in enumerate(columns) if column.casefold() == name.casefold()]
    return found[0] if len(found) == 1 else None


def _decoded(raw: Iterable[bytes], file: Path) -> Iterator[str]:
    number = 0
    try:
        for number, line in enumerate(raw, start=1):
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        message = f"{file}:{number}: not UTF-8: {error}. Save the table again as CSV in UTF-8"
        raise UnreadableFileError(message) from error
    except (EOFError, zlib.error, OSError) as error:
        message = f"{file} is damaged or cut short after line {number}: {error}. Copy or download it again"
        raise UnreadableFileError(message) from error


def _names(cells: Sequence[str], column: int | None) -> tuple[str, ...]:
    if column is None:
        return ()
    return tuple(dict.fromkeys(filter(None, _NAMES.split(cells[column].strip()))))
