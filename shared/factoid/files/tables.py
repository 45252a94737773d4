"""Tables of delimited text (CSV, TSV).

Their delimiter, what stands above the header, and rows in which no cell is lost.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

from factoid.errors import UnreadableFileError
from factoid.files.encodings import read_text_lines
from factoid.files.limits import ReadLimits

TEXT_FIELDS = ("text", "content", "page_content")  # columns whose cells are the texts of documents

_DELIMITERS = ",;\t|"
# how Excel states the delimiter
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE | re.DOTALL)
_RETURN = re.compile(r"(?<=\r)(?!\n)")  # old line ends; within quotes a reader joins what this cuts
_LONGEST_CELL = 1 << 27  # characters; Python's own limit of 131,072 is less than some texts have
_LONGEST_NAME = 500  # characters of a column's name, which the text of each row repeats
_LONG = 40  # words; longer cells are texts
_NAMING = ("title", "name", "subject", "headline", "question")  # columns whose cells name a row
_SAMPLE_ROWS = 100
_SAMPLE_CHARACTERS = 1_000_000
_MOST_TITLES = 10  # rows above the header
_NUMBER = re.compile(r"[-+]?[$€£]?\s?\d[\d.,' ]*\s?[%€$£]?")
_RULE = re.compile(r":?-{2,}:?")
_LABEL_END = re.compile(r":(?!\S)|\n")
# Values that name no column where all below have their form: a number, a day, an hour, an address.
_VALUES = (
    _NUMBER,
    re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ]\d\d:\d\d\S*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"),
    re.compile(r"\d{1,2}:\d\d(?::\d\d)?"),
    re.compile(r"[^@\s]+@[^@\s]+\.\w+|https?://\S+"),
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


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
    title. A column without a name is called "column 3" after its place; so are all columns where
    the first row holds values, such as a number above numbers.

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
    parsed = _parsed(sample, delimiter)
    above = _title_rows(parsed)
    levels = _header_levels(parsed[above:])
    if not above and _lacks_header(parsed):
        levels = 0
    counted = reading.counted(chain(sample, lines))
    reader = csv.reader(counted, delimiter=delimiter, strict=True, skipinitialspace=True)
    titles: list[str] = []
    header: list[list[str]] = []
    columns: _Columns | None = None
    is_below_blank = False
    try:
        for row in reader:
            reading.size = 0
            cells = [cell.strip() for cell in row]
            if not any(cells):
                is_below_blank = True
                continue
            if header and columns is None and _is_rule(cells):
                continue  # below the header of a table in Markdown
            if len(titles) < above:
                titles.append(", ".join(filter(None, cells)))
            elif len(header) < levels:
                header.append(cells)
            else:
                columns = columns or _Columns(
                    _merged(header), delimiter
                )  # without a header, all names are made up
                place = f":{reader.line_num + reading.skipped}"
                title = ", ".join(titles)
                named = columns.named(cells)
                # One word is rather a row of which nothing else is known.
                is_note = len(named) == 1 and " " in cells[0]
                if is_below_blank and is_note:
                    named = columns.note(cells[0])
                yield TableRow(place, named, title, columns.stated, frozenset(columns.unnamed))
            is_below_blank = False
        if header and columns is None:
            _Columns(_merged(header), delimiter)  # raises if two columns have one name
    except csv.Error as error:
        number = reader.line_num + reading.skipped
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
            and not _NUMBER.fullmatch(cell)
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


class _Columns:
    """The names of columns, with names made up for those that have none."""

    def __init__(self, header: Sequence[str], delimiter: str) -> None:
        self._names = list(header)
        self._delimiter = delimiter
        self.unnamed: dict[str, None] = {}
        while self._names and not self._names[-1]:
            self._names.pop()
        twice = []
        for name, count in Counter(self._names).items():
            if name and count > 1:
                twice.append(name)
        if twice:
            raise csv.Error(
                f"several columns are called {', '.join(map(repr, twice))}: give each a name of "
                "its own"
            )
        longest = max(self._names, key=len, default="")
        if len(longest) > _LONGEST_NAME:
            raise csv.Error(
                f"the name of a column has {len(longest):,} characters, and at most "
                f"{_LONGEST_NAME} are read: the first line of a table names its columns, got "
                f"{longest:.40}"
            )
        self.stated = frozenset(filter(None, self._names))
        self._has_texts = not self.stated.isdisjoint(TEXT_FIELDS)
        self._width = len(header)

    def named(self, cells: Sequence[str]) -> dict[str, str]:
        """Return the cells of a row that are not empty by the names of their columns."""
        if self._has_texts and any(cells[self._width :]):
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
        return {self._made_up(0) if len(self._names) > 1 else self._name(0): text}

    def _name(self, place: int) -> str:
        name = self._names[place] if place < len(self._names) else ""
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


def _title_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows stand above the header.

    Those with a cell or two, before one that names the columns.
    """
    filled = [sum(map(bool, row)) for row in rows]
    for place in range(1, min(_MOST_TITLES + 1, len(rows))):
        below = filled[place:]
        usual = max(Counter(below).items(), key=lambda item: (item[1], item[0]))[0]
        if filled[place] < 2 or _is_narrow(filled[place], usual) or not _names_columns(rows[place]):
            continue
        are_single = all(
            count == 1 and row[0] for row, count in zip(rows[:place], filled, strict=False)
        )
        are_narrow = are_single or all(_is_narrow(count, usual) for count in filled[:place])
        # What stands above may also be a header with few names: then the rows below have to show
        # another one.
        is_clear = (are_single and usual >= 3) or _differs(rows[place], rows[place + 1 :])
        if are_narrow and is_clear:
            return place
        return 0
    return 0


def _is_narrow(filled: int, usual: int) -> bool:
    """Return whether a row has few cells for a header of a table with usually so many."""
    return filled * 2 < usual or (filled * 2 == usual and usual >= 4)


def _names_columns(row: Sequence[str]) -> bool:
    """Return whether a row looks like a header: distinct texts, or years."""
    texts = [cell for cell in row if cell]
    is_text = [not _NUMBER.fullmatch(text) or bool(_YEAR.fullmatch(text)) for text in texts]
    return (
        all(is_text)
        and len({*texts}) == len(texts)
        and max(map(len, texts), default=0) <= _LONGEST_NAME
    )


def _header_levels(rows: Sequence[Sequence[str]]) -> int:
    """Return 2 if the row below the header belongs to it, else 1.

    It does if it gives a name to each column without one, as below a merged cell.
    """
    if len(rows) < 2:
        return 1
    header, below = rows[:2]
    unnamed = []
    for column in range(1, max(len(header), len(below))):
        if not _cell(header, column):
            unnamed.append(column)
    are_named = bool(unnamed) and all(_cell(below, column) for column in unnamed)
    are_used = all(any(_cell(row, column) for row in rows[2:]) for column in unnamed)
    is_header = (
        are_used
        and (bool(header[0]) or all(_cell(row, 0) for row in rows[2:]))
        and not below[0]
        and not any(_NUMBER.fullmatch(cell) for cell in below if cell)
    )
    if are_named and is_header:
        return 2
    return 1


def _lacks_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row holds values.

    Such are a number, a date or an address above others of its kind. Numbers that count up in equal
    steps, or only there, and years above other numbers, name their columns.
    """
    if len(rows) < 2:
        return False
    first, *others = rows
    if not {*first}.isdisjoint(TEXT_FIELDS) or (not first[0] and all(row[0] for row in others)):
        return False
    if _counts_up(first, in_steps=True) or (_counts_up(first) and not all(map(_counts_up, others))):
        return False
    years = [column for column, cell in enumerate(first) if _YEAR.fullmatch(cell)]
    if years and not all(_YEAR.fullmatch(_cell(row, column)) for row in others for column in years):
        return False
    for column, cell in enumerate(first):
        form = next((form for form in _VALUES if form.fullmatch(cell)), None)
        below = [row[column] for row in others if _cell(row, column)]
        if form is not None and below and all(map(form.fullmatch, below)):
            return True
    return False


def _counts_up(row: Sequence[str], *, in_steps: bool = False) -> bool:
    """Return whether the whole numbers in a row rise, perhaps in equal steps.

    There must be two at least.
    """
    numbers = []
    for cell in row:
        if cell.isdecimal() and len(cell) < 10:
            numbers.append(int(cell))
    steps = [after - before for before, after in pairwise(numbers)]
    return bool(steps) and min(steps) > 0 and not (in_steps and len({*steps}) > 1)


def _merged(levels: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns from one or two rows.

    The name of a merged cell holds for those at its right.
    """
    if len(levels) < 2:
        return list(chain.from_iterable(levels))
    outer, inner = levels
    names: list[str] = []
    last = ""
    for column in range(max(len(outer), len(inner))):
        name = _cell(inner, column)
        last = _cell(outer, column) or last
        group = last if name else _cell(outer, column)
        names.append(" / ".join(filter(None, (group, name))))
    return names


def _cell(row: Sequence[str], column: int) -> str:
    if column < len(row):
        return row[column]
    return ""


def _differs(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a column has only numbers below a name."""
    for column, name in enumerate(header):
        cells = []
        for row in rows:
            if column < len(row) and row[column]:
                cells.append(row[column])
        if name and not _NUMBER.fullmatch(name) and cells and all(map(_NUMBER.fullmatch, cells)):
            return True
    return False
