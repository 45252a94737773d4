"""The rows of tables as spreadsheets save them."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from factoid.entities.importers.paths import opened
from factoid.errors import UnreadableFileError

ENDINGS = (".csv", ".csv.gz", ".csv.bz2", ".tsv", ".tsv.gz", ".tsv.bz2")
_SEPARATORS = ",;\t"
_SAID = re.compile(r"\s*sep=(.)\s*")  # the first line of some, for Excel
_HEAD = 100  # lines within which the head ends
_LONGEST_CELL = 1 << 27  # characters; Python's own limit of 131,072 is less than some articles have


def read_rows(file: Path, *wanted: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table that are not blank, each with the number of the line in which it begins.

    The separator is the one of comma, semicolon and tab under which the first row has the columns that are wanted, or else
    the most cells.

    Raises:
        UnreadableFileError: The file cannot be read, is damaged, is not UTF-8, or its quotes do not close.
    """
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))
    with opened(file) as raw:
        lines = _decoded(raw, file)
        first = list(islice(lines, _HEAD))
        said = _SAID.fullmatch(first[0]) if first else None
        separator = said[1] if said else max(_SEPARATORS, key=lambda each: _fit(first, each, wanted))
        reader = csv.reader(chain(first[1:] if said else first, lines), delimiter=separator, strict=True)
        begin = 1 + bool(said)
        try:
            for row in reader:
                if separator == "\t" and any("\t" in cell for cell in row):
                    raise csv.Error("a cell that begins with a double quote goes on over tabs")  # noqa: EM101
                if any(cell.strip() for cell in row):
                    yield begin, row
                begin = reader.line_num + 1 + bool(said)
        except csv.Error as error:
            message = (
                f"{file}:{begin}: no CSV in the row that begins here: {error}. Quotes in a text have to be doubled, and the "
                "text to stand in quotes; a spreadsheet does so where it saves a table as CSV in UTF-8"
            )
            raise UnreadableFileError(message) from error


def has_columns(file: Path, *wanted: str) -> bool:
    """Tell whether the first line of a file names such columns. It need be no table: quotes may stand anywhere.

    Raises:
        UnreadableFileError: The file cannot be read, is damaged, or is not UTF-8.
    """
    with opened(file) as raw:
        first = list(islice(_decoded(raw, file), _HEAD))
    return any(_fit(first, separator, wanted)[0] for separator in _SEPARATORS)


def find_column(columns: Sequence[str], name: str) -> int | None:
    """Return where a column is: as it is written, or else in any case; None where none or several are called so."""
    exact = [at for at, column in enumerate(columns) if column == name]
    found = exact or [at for at, column in enumerate(columns) if column.casefold() == name.casefold()]
    return found[0] if len(found) == 1 else None


def _fit(lines: Sequence[str], separator: str, wanted: Sequence[str]) -> tuple[bool, int]:
    """Return how well the first row is read under a separator: whether it has what is wanted, and how many cells."""
    try:
        head = [name.strip() for name in next(filter(any, csv.reader(lines, delimiter=separator)), [])]
    except csv.Error:  # whoever reads on will say it
        return False, 0
    return all(find_column(head, name) is not None for name in wanted), len(head)


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
