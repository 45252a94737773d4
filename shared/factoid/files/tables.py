"""Tables of delimited text (CSV, TSV).

Their delimiter, what stands above the header, and rows in which no cell is lost.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from factoid.errors import UnreadableFileError
from factoid.files.encodings import read_text_lines
from factoid.files.limits import ReadLimits
from factoid.files.table_layout import (
    COMMENT,
    LONGEST_NAME,
    MOST_TITLES,
    NUMBER,
    TEXT_FIELDS,
    Layout,
    Row,
    begins_table,
    layout_of,
    merged_header,
)
from factoid.words import without_traceless

_DELIMITERS = ",;\t|"
# how Excel states the delimiter
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE | re.DOTALL)
_RETURN = re.compile(r"(?<=\r)(?!\n)")  # old line ends; within quotes a reader joins what this cuts
_LONGEST_CELL = 1 << 27  # characters; Python's own limit of 131,072 is less than some texts have
_LONG = 40  # words; longer cells are texts
_NAMING = ("title", "name", "subject", "headline", "question")  # columns whose cells name a row
_SAMPLE_ROWS = 100
_SAMPLE_CHARACTERS = 1_000_000
_RULE = re.compile(r":?-{2,}:?")
_LABEL_END = re.compile(r":(?!\S)|\n")
# A note: "* estimated", "Source: the mill", or a sentence of some words.
_NOTE = re.compile(
    r"(?:[*†‡§#]+|\(?[\d*]{1,2}\)|[¹²³])\s?\S.*|[^\W\d_][^\W_]*(?: [^\W_]+){0,3}:\s.+"
    r"|(?:\S+\s+){3,}\S+[.!?…。！？][\"'”’»)\]]*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table of delimited text."""

    place: str  # where it ends, as in ":12"
    cells: dict[str, str]  # by the names of their columns, in order; none is empty
    title: str  # what stands above the header, or ""
    columns: frozenset[str]  # all names in the header
    unnamed: frozenset[str]  # names that were made up, such as "column 3"


def read_rows(path: Path, limits: ReadLimits) -> Iterator[TableRow]:
    r"""Yield the rows of a table that are not blank.

    The delimiter is the comma, semicolon, tab or "|" that cuts the rows into equally many cells, or
    what a first line such as "sep=;" says. Rows above the header with few cells are the table's
    title, and so are comments (#). A column without a name is called "column 3" after its place; so
    are all columns where the first row holds values, such as a number above numbers. Below a blank
    line another table may begin, with a title and a header of its own.

    Raises:
        UnreadableFileError: The file is not such a table, two columns have one name, or a row of
            texts has more cells than the header, as from a delimiter outside of quotes.
    """
    csv.field_size_limit(max(_LONGEST_CELL, csv.field_size_limit()))
    reading = _Lines(path, limits)
    lines = iter(reading)
    sample = _sample(lines)
    delimiter = ""
    if sample and (stated := _SEP_LINE.fullmatch(sample[0])):
        delimiter = str(stated[1])
        sample = sample[1:]
        reading.skipped += 1
    preferred = ""
    if path.suffix.lower() == ".tsv":
        preferred = "\t"
    delimiter = delimiter or _delimiter(sample, prefer=preferred)
    rows = _Rows(path, reading, chain(sample, lines), delimiter)
    table: _Table | None = None
    number = 0
    try:
        for row in rows:
            number = row.number
            if table is None:
                table = _Table(layout_of([row, *rows.ahead()]), delimiter)
            elif row.is_below_blank and table.ends_before(row, rows):
                table = _Table(layout_of(_block(row, rows)), delimiter)
            if read := table.read(row, rows):
                yield read
        if table:
            table.check()
    except csv.Error as error:
        raise UnreadableFileError(f"{path}:{number}: not a table in CSV: {error}") from error


def row_text(row: TableRow) -> str:
    """Return a row as lines of "name: cell".

    A first cell without a name, which names the row, stands alone, and so does a note. A long cell
    is a paragraph of its own, so that the short ones before it come into one passage.
    """
    lines: list[str] = []
    follows_long = False
    if len(row.cells) == 1 and not row.unnamed.isdisjoint(row.cells):
        return next(iter(row.cells.values()))
    for name, cell in row.cells.items():
        names_row = (
            not lines
            and name in row.unnamed
            and not NUMBER.fullmatch(cell)
            and not _LABEL_END.search(cell)
        )
        line = cell if names_row else f"{name}: {cell}"
        is_long = _is_long(cell)
        if lines and (is_long or follows_long):
            line = f"\n{line}"
        lines.append(line)
        follows_long = is_long
    return "\n".join(lines)


def row_title(row: TableRow) -> str:
    """Return the title of a row: what stands above its table, or the cell that names the row.

    A short row is a passage that holds its name. Of one with a long cell the other passages need it
    as a title.
    """
    if row.title or not any(map(_is_long, row.cells.values())):
        return row.title
    for name, cell in row.cells.items():
        if name.casefold() in _NAMING and not _is_long(cell):
            return cell
    return ""


def _is_long(cell: str) -> bool:
    return len(cell.split()) > _LONG


class _Lines:
    """The lines of a file, of which no row may take more than the limit."""

    def __init__(self, path: Path, limits: ReadLimits) -> None:
        self._path = path
        self._limits = limits
        self.size = 0  # bytes since the last row
        self.skipped = 0  # lines before the table

    def __iter__(self) -> Iterator[str]:
        is_first = True
        for _, line in read_text_lines(self._path, self._limits):
            if is_first and not line.strip(f"{_DELIMITERS}\r\n "):
                self.skipped += 1
                continue
            is_first = False
            yield from _RETURN.split(line)

    def counted(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines; raise an UnreadableFileError if a row takes too many."""
        for number, line in enumerate(lines, start=self.skipped + 1):
            self.size += len(line.encode("utf-8", "replace"))
            if self.size > self._limits.unpacked_bytes:
                self._limits.refuse(f"{self._path}:{number}: a row has", "unpacked_bytes", "bytes")
            yield line


class _Rows:
    """The rows that are not blank, which can be looked at before they are read."""

    def __init__(self, path: Path, reading: _Lines, lines: Iterable[str], delimiter: str) -> None:
        self._path = path
        self._reading = reading
        self._reader = csv.reader(
            reading.counted(lines), delimiter=delimiter, strict=True, skipinitialspace=True
        )
        self._coming: deque[Row] = deque()
        self._error: UnreadableFileError | None = None  # behind the rows that come

    def __iter__(self) -> Iterator[Row]:
        while self._coming or self._read():
            yield self._coming.popleft()

    def ahead(self) -> Iterator[Row]:
        """Yield the rows that come, up to a number of rows and of characters."""
        size = 0
        for place in range(_SAMPLE_ROWS):
            if place == len(self._coming) and (self._error or not self._read(later=True)):
                return
            row = self._coming[place]
            yield row
            size += sum(map(len, row.cells))
            if size >= _SAMPLE_CHARACTERS:
                return

    def _read(self, *, later: bool = False) -> bool:
        """Read one more row; of an error `later`, the rows before it are read first."""
        try:
            if self._error:
                raise self._error
            is_below_blank = False
            for row in self._reader:
                self._reading.size = 0
                cells = [cell.strip() for cell in row]
                if any(cells):
                    number = self._reader.line_num + self._reading.skipped
                    self._coming.append(Row(cells, number, is_below_blank))
                    return True
                is_below_blank = True
        except csv.Error as error:
            number = self._reader.line_num + self._reading.skipped
            self._error = UnreadableFileError(f"{self._path}:{number}: not a table in CSV: {error}")
            self._error.__cause__ = error
        except UnreadableFileError as error:
            self._error = error
        if self._error and not later:
            raise self._error
        return False


def _block(row: Row, rows: _Rows) -> list[Row]:
    """Return a row with those below it, up to a blank line unless it is below titles."""
    block = [row]
    for below in rows.ahead():
        is_titled = len(block) <= MOST_TITLES and max(map(_filled, block)) == 1
        if below.is_below_blank and not is_titled:
            break
        block.append(below)
    return block


def _filled(row: Row) -> int:
    """Return the number of cells that are not empty."""
    return sum(map(bool, row.cells))


class _Table:
    """A table with its title and the names of its columns."""

    def __init__(self, layout: Layout, delimiter: str) -> None:
        self._layout = layout
        self._delimiter = delimiter
        self._titles: list[str] = []
        self._header: list[list[str]] = []
        self._columns: _Columns | None = None
        self._holds_notes = False  # rather rows like them, such as sentences with labels
        self._has_rows = False

    def ends_before(self, row: Row, rows: _Rows) -> bool:
        """Return whether another table begins at a row below a blank line."""
        if self._columns is None or self._columns.has_texts:
            return False
        block = _block(row, rows)
        if max(map(_filled, block)) == 1:
            return False
        is_note = len(block) > 1 and block[1].is_below_blank and _NOTE.fullmatch(row.cells[0])
        return not is_note and begins_table(block, self._columns.names)

    def read(self, row: Row, rows: _Rows) -> TableRow | None:
        """Return what a row says of the columns; nothing if it is a title, a header or a rule."""
        cells = row.cells
        if self._header and self._columns is None and _is_rule(cells):
            return None  # below the header of a table in Markdown
        if len(self._titles) < self._layout.titles:
            stated = (COMMENT.sub("", cells[0]), *cells[1:])
            self._titles.append(", ".join(filter(None, stated)))
            return None
        if len(self._header) < self._layout.levels:
            self._header.append([without_traceless(cell).strip() for cell in cells])
            return None
        columns = self._columns or _Columns(merged_header(self._header), self._delimiter)
        self._columns = columns  # without a header, all names are made up
        named = columns.named(cells)
        if self._is_note(row, rows):
            named = columns.note(cells[0])
        elif _NOTE.fullmatch(cells[0]):
            self._holds_notes = True
        self._has_rows = self._has_rows or len(named) > 1
        title = ", ".join(filter(None, self._titles))
        return TableRow(f":{row.number}", named, title, columns.stated, frozenset(columns.unnamed))

    def check(self) -> None:
        """Raise a csv.Error if the header of a table without rows has one name twice."""
        if self._header and self._columns is None:
            _Columns(merged_header(self._header), self._delimiter)

    def _is_note(self, row: Row, rows: _Rows) -> bool:
        """Return whether a row is a note below the table, such as its source."""
        columns = self._columns
        if _filled(row) > 1 or not row.cells[0] or columns is None or columns.has_texts:
            return False
        if row.is_below_blank:
            # One word is rather a row of which nothing else is known.
            return " " in row.cells[0]
        is_like_rows = self._holds_notes or not self._has_rows
        if is_like_rows or not _NOTE.fullmatch(row.cells[0]):
            return False
        for below in rows.ahead():
            if below.is_below_blank:
                break
            if _filled(below) > 1:
                return False
        return True


class _Columns:
    """The names of columns, with names made up for those that have none."""

    def __init__(self, header: Sequence[str], delimiter: str) -> None:
        self.names = list(header)
        self._delimiter = delimiter
        self.unnamed: dict[str, None] = {}
        while self.names and not self.names[-1]:
            self.names.pop()
        twice = []
        for name, count in Counter(self.names).items():
            if name and count > 1:
                twice.append(name)
        if twice:
            raise csv.Error(
                f"several columns are called {', '.join(map(repr, twice))}: give each a name of "
                "its own"
            )
        longest = max(self.names, key=len, default="")
        if len(longest) > LONGEST_NAME:
            raise csv.Error(
                f"the name of a column has {len(longest):,} characters, and at most "
                f"{LONGEST_NAME} are read: the first line of a table names its columns, got "
                f"{longest:.40}"
            )
        self.stated = frozenset(filter(None, self.names))
        self.has_texts = not self.stated.isdisjoint(TEXT_FIELDS)
        self._width = len(header)

    def named(self, cells: Sequence[str]) -> dict[str, str]:
        """Return the cells of a row that are not empty by the names of their columns."""
        if self.has_texts and any(cells[self._width :]):
            raise csv.Error(
                f"more cells than the {self._width} names: put texts that hold a "
                f"{self._delimiter!r} into quotes"
            )
        result = {}
        for place, cell in enumerate(cells):
            if cell:
                result[self._name(place)] = cell
        return result

    def note(self, text: str) -> dict[str, str]:
        """Return a text below a table of several columns, such as its source, as the only cell."""
        return {self._made_up(0) if len(self.names) > 1 else self._name(0): text}

    def _name(self, place: int) -> str:
        name = self.names[place] if place < len(self.names) else ""
        return name or self._made_up(place)

    def _made_up(self, place: int) -> str:
        name = f"column {place + 1}"
        while name in self.stated:
            name += " (unnamed)"
        self.unnamed[name] = None
        return name


def _sample(lines: Iterator[str]) -> list[str]:
    """Take the first lines, up to a number of lines and of characters."""
    sample: list[str] = []
    size = 0
    for line in lines:
        sample.append(line)
        size += len(line)
        if len(sample) >= _SAMPLE_ROWS or size >= _SAMPLE_CHARACTERS:
            break
    return sample


def _parsed(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Return the rows of lines that are not blank, as far as they can be parsed."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            cells = [cell.strip() for cell in row]
            if any(cells):
                rows.append(cells)
    except csv.Error:
        pass  # the strict reading says where
    return rows


def _delimiter(sample: Sequence[str], *, prefer: str) -> str:
    """Return what cuts most rows into the same number of cells.

    It stands beside all quotes around cells. Where that is the same, it cuts into more cells.
    """
    best = (False, 0.0, 0)
    chosen = prefer or _DELIMITERS[0]
    candidates: list[str] = [*prefer, *_DELIMITERS]
    for delimiter in candidates:
        widths = Counter(map(len, _parsed(sample, delimiter)))
        total = widths.total()
        wide = {width: count for width, count in widths.items() if width > 1}
        if not wide:
            continue
        width = max(wide, key=lambda width: (wide[width], width))
        score = (_fits_quotes(sample, delimiter), wide[width] / total, width)
        if delimiter == prefer and wide[width] * 2 >= total:
            return delimiter
        if score > best:
            best = score
            chosen = delimiter
    return chosen


def _fits_quotes(sample: Sequence[str], delimiter: str) -> bool:
    """Return whether each quote around a cell stands beside the delimiter or at a row's end."""
    try:
        for _ in csv.reader(sample, delimiter=delimiter, strict=True, skipinitialspace=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)  # the sample ends within a cell
    return True


def _is_rule(cells: Sequence[str]) -> bool:
    """Return whether a row holds hyphens only."""
    return all(_RULE.fullmatch(cell) for cell in cells if cell)
