"""Tables as spreadsheets save them: CSV in UTF-8, separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from factoid.errors import UnreadableFileError
from factoid.files.lines import read_lines

_SEPARATORS = ",;\t"
_DECLARED_SEPARATOR = re.compile(r"\s*sep=(.)\s*")  # the first line of some tables, for Excel
_HEAD = 100  # lines within which the header ends
_LONGEST_CELL = 1 << 27  # characters; Python's own limit of 131,072 is less than some articles have

Row = tuple[int, dict[str, str]]  # number of the line in which it begins, cells by the names of their columns


def read_table(file: Path, *columns: str) -> tuple[list[str], Iterator[Row]]:
    """Return a table's column names and non-blank rows, from a file in UTF-8, plain or compressed.

    The separator is the one of comma, semicolon and tab with which the first row has the expected columns, or else the most
    cells. Cells in columns without a name are left out. Anything but a table raises an UnreadableFileError.
    """
    lists = _read_lists(file, columns)
    names = [name.strip() for name in next(lists, (0, []))[1]]
    if twice := sorted({name for name in names if name and names.count(name) > 1}):
        raise UnreadableFileError(
            f"{file}: several columns are called {', '.join(map(repr, twice))}: give each a name of its own"
        )
    return names, _read_rows(file, names, lists)


def _read_rows(file: Path, names: Sequence[str], lists: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    for line, cells in lists:
        if any(map(str.strip, cells[len(names) :])):
            raise UnreadableFileError(
                f"{file}:{line}: {len(cells)} cells under {len(names)} names: put texts that hold a separator into "
                "double quotes"
            )
        yield line, {name: cell for name, cell in zip(names, cells, strict=False) if name}


def _read_lists(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))
    lines = _decoded_lines(file)
    head = list(islice(lines, _HEAD))
    declared = _DECLARED_SEPARATOR.fullmatch(head[0]) if head else None
    separator = declared[1] if declared else max(_SEPARATORS, key=lambda sign: _fit(head, sign, columns))
    skipped = 1 if declared else 0
    reader = csv.reader(chain(head[skipped:], lines), delimiter=separator, strict=True)
    begin = 1 + skipped
    try:
        for row in reader:
            if separator == "\t" and any("\t" in cell for cell in row):
                raise csv.Error("a cell that begins with a double quote extends over tabs")
            if any(cell.strip() for cell in row):
                yield begin, row
            begin = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise UnreadableFileError(
            f"{file}:{begin}: the row that begins here is not CSV: {error}. Double the quotes in a text, and put the text into "
            "quotes, as a spreadsheet does when it saves a table as CSV in UTF-8"
        ) from error


def find_column(names: Sequence[str], name: str) -> str | None:
    """Return the column with a name: as written, or else in any case; None if none or several have it."""
    columns = [name] if name in names else [column for column in names if column.casefold() == name.casefold()]
    return columns[0] if len(columns) == 1 else None


def _fit(lines: Sequence[str], separator: str, columns: Sequence[str]) -> tuple[bool, int]:
    """Return whether the first row, read with a separator, has the columns, and its number of cells."""
    try:
        names = [name.strip() for name in next(filter(any, csv.reader(lines, delimiter=separator)), [])]
    except csv.Error:  # reported when the rows are read
        return False, 0
    return all(find_column(names, name) is not None for name in columns), len(names)


def _decoded_lines(file: Path) -> Iterator[str]:
    for number, line in read_lines(file):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise UnreadableFileError(f"{file}:{number}: not UTF-8: {error}. Save the table as CSV in UTF-8") from error
