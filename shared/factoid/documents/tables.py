"""Tables as grids of cells, with their caption, footnotes, place and pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.sentences import Span

if TYPE_CHECKING:
    import pandas as pd

TICK = r"(?::(?:un)?selected:|[☐☑☒])"  # how services write a ticked or empty box
SELECTION = re.compile(rf"\s?{TICK}")
_OPTION = re.compile(rf"({TICK})((?:(?!{TICK}).)*)", re.DOTALL)
_OPTION_WORDS = 6  # most words beside a box; more are a text with a mark that was misread
_UNTICKED = (":unselected:", "☐")
_NUMBER = re.compile(
    r"[-+−–±~<>≤≥≈]?\s?[$€£¥]?\s?\d[\d,. ]*\s?(?:%|‰|[kKMB]|bn|million|billion)?[*†‡]?"
)
_LABEL = re.compile(
    r"(?:Table|Tab\.|Exhibit|Schedule)\s+(?:[A-Z]{0,2}[\d.]*\d[a-z]?|[IVXLC]+|[A-Z])(?=[\s:.|—–-]"
    r"|$)"
)
_ROW_HEADER_WORDS = 8  # most words in the name of a row
_LONGEST_NUMBER = 100  # characters
# most characters of a text that is written once more, such as a header in the sentence of each
# value
_REPEATED = 200
MOST_UNFILLED = 5_000
MOST_UNFILLED_PER_CELL = 10
"""The most positions of a table's grid without a cell of their own, and more for each cell.

These are gaps, and what merged cells cover.
"""


class Region(NamedTuple):
    """A part of a page."""

    page: int  # its number, from 1
    # left, top, right and bottom in the page's unit; () if only the page is known
    rectangle: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table; a merged cell appears once, at its upper left. Positions count from 0.

    Attributes:
        text: What a reader sees, on one line.
        row_span: How many rows it covers.
        kind: "columnHeader", "rowHeader", "stubHead", "description" (of the rows below it, such as
            "Supervised models") or "content".
        regions: Its places on the pages.
    """

    row: int
    column: int
    text: str
    row_span: int = 1
    column_span: int = 1
    kind: str = "content"
    regions: tuple[Region, ...] = ()


class Row(NamedTuple):
    """A row of a table's body."""

    number: int  # its place in the grid, from 0
    cells: list[Cell | None]  # at each column; merged cells repeat
    description: str = ""  # text of the row above that describes this one and its neighbours


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a grid of cells.

    A position without a cell is empty; where cells overlap, the first one counts.

    Raises:
        InvalidInputError: A cell lies outside of the grid, or too many positions have no cell of
            their own (`MOST_UNFILLED`).

    Attributes:
        cells: The cells in reading order.
        row_count: Rows of the grid, header rows included.
        caption: The caption, such as "Table 2: Passage retrieval performance".
        footnotes: Texts below the table.
        title: Title of the document.
        section: Path of headings, outermost first, joined by ", ".
        pages: Numbers of its pages, from 1.
        span: Its place in the content that was read.
        caption_span: The place of its caption there, if outside of the table.
        regions: Its places on the pages.
    """

    cells: tuple[Cell, ...]
    row_count: int
    column_count: int
    caption: str = ""
    footnotes: tuple[str, ...] = ()
    title: str = ""
    section: str = ""
    pages: tuple[int, ...] = ()
    span: Span | None = None
    caption_span: Span | None = None
    regions: tuple[Region, ...] = ()

    def __post_init__(self) -> None:
        covered = 0
        for cell in self.cells:
            is_inside = (
                cell.row + cell.row_span <= self.row_count
                and cell.column + cell.column_span <= self.column_count
            )
            if not is_inside or min(cell.row, cell.column) < 0:
                size = f"{self.row_count} rows and {self.column_count} columns"
                raise InvalidInputError(
                    f"a cell at row {cell.row} and column {cell.column} leaves a grid of {size}"
                )
            covered += cell.row_span * cell.column_span
        check_unfilled(
            self.row_count, len(self.cells), max(covered, self.row_count * self.column_count)
        )

    @property
    def label(self) -> str:
        """The name of the table in the text, such as "Table 2", or ""."""
        match = _LABEL.match(self.caption)
        if match:
            return match[0]
        return ""

    @property
    def header_rows(self) -> int:
        """Number of rows at the top that hold column headers."""
        return len(list(takewhile(_has_header, self.grid())))

    def grid(self) -> list[list[Cell | None]]:
        """Return the cell at each position, row by row.

        A merged cell is at every position that it covers.
        """
        rows: list[list[Cell | None]] = [[None] * self.column_count for _ in range(self.row_count)]
        for cell in self.cells:
            for row in range(cell.row, cell.row + cell.row_span):
                for column in range(cell.column, cell.column + cell.column_span):
                    rows[row][column] = rows[row][column] or cell
        return rows

    def texts(self) -> list[list[str]]:
        """Return the text at each position, row by row, "" if there is none.

        Merged cells repeat theirs.
        """
        texts = []
        for row in self.grid():
            texts.append(_texts_of(row))
        return texts

    def headers(self) -> list[tuple[str, ...]]:
        """Return the headers above each column, outermost first.

        One that is repeated counts once.
        """
        rows = self.texts()[: self.header_rows]
        headers = []
        for column in range(self.column_count):
            headers.append(tuple(dict.fromkeys(row[column] for row in rows if row[column])))
        return headers

    def rows(self) -> Iterator[Row]:
        """Yield the rows below the headers.

        A text that spans a row describes the rows below it and is not yielded. In the last row it
        describes nothing and is yielded. A row with a name and empty cells is a row like any other.
        """
        rows = []
        for index, cells in list(enumerate(self.grid()))[self.header_rows :]:
            texts = []
            for cell in dict.fromkeys(cells):
                if cell and cell.text:
                    texts.append(cell)
            if texts:
                rows.append((index, cells, texts))
        description = ""
        for index, cells, texts in rows:
            if self.column_count > 1 and _describes(texts) and index != rows[-1][0]:
                description = texts[0].text
            else:
                yield Row(index, cells, description)

    def row_header_columns(self) -> int:
        """Return the number of columns at the left that name the rows.

        These are the columns that the service calls row headers. Otherwise they are as many of the
        columns before the first measure as are needed to tell the rows apart, up to one with words
        if there is one, else the first. In a table without numbers, it is the first column if all
        its texts are short and distinct.
        """
        marked = []
        for cell in self.cells:
            if cell.kind == "rowHeader":
                marked.append(cell.column + cell.column_span)
        rows = list(self.rows())
        if marked or not rows or self.column_count < 2:
            return min(max(marked, default=0), max(self.column_count - 1, 0))
        columns = []
        for column in range(self.column_count):
            columns.append([plain_text(row.cells[column]) for row in rows])
        numeric = [any(map(is_number, texts)) for texts in columns]
        if any(numeric[1:]):
            counts = _distinguishing(columns[: numeric.index(True, 1)])
            worded = (count for count in counts if not numeric[count - 1])
            if counts:
                return next(worded, counts[0])
            return int(not (numeric[0] and self.headers()[0]))
        first = columns[0]
        if all(map(_is_short, first)) and len(set(first)) == len(rows):
            return 1
        return 0

    def map_texts(self, change: Callable[[str], str]) -> Table:
        """Return the table with all its texts changed, for example cleaned."""
        cells = []
        for cell in self.cells:
            if cell.text:
                cell = _with_text(cell, change(cell.text))
            cells.append(cell)
        footnotes = tuple(map(change, self.footnotes))
        return replace(self, cells=tuple(cells), caption=change(self.caption), footnotes=footnotes)

    def names(self) -> list[str]:
        """Return a distinct name for each column.

        It has its headers joined by " / ", else it is "column 1" and so on.
        """
        names: dict[str, None] = {}
        for column, levels in enumerate(self.headers(), 1):
            name = shortened(" / ".join(levels)) or f"column {column}"
            if name in names:
                name = f"{name} ({column})"
            names[name] = None
        return list(names)

    def to_records(self) -> list[dict[str, str]]:
        """Return each row of the body as a dict of texts by column name.

        If rows describe others (see `rows`), their text is under "description".
        """
        rows = list(self.rows())
        names = self.names()
        are_described = any(row.description for row in rows)
        records = []
        for row in rows:
            record = {}
            if are_described:
                record["description"] = row.description
            record |= zip(names, _texts_of(row.cells), strict=True)
            records.append(record)
        return records

    def to_pandas(self) -> pd.DataFrame:
        """Return the records as a data frame. A column whose texts are all numbers holds numbers.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        pandas: Any = require("pandas", extra="documents")
        frame = pandas.DataFrame(self.to_records())
        for name, texts in frame.items():
            digits = {text: text.replace(",", "") for text in set(texts)}
            numbers = pandas.to_numeric(texts.map(digits), errors="coerce")
            if numbers.notna().any() and (texts[numbers.isna()] == "").all():
                frame[name] = numbers
        return frame

    def to_markdown(self) -> str:
        """Return the table as Markdown that every parser reads.

        It has one header row, merged cells are repeated, and the caption is below.
        Where it is repeated, a long text is cut.
        """
        header_rows = self.header_rows
        names = [""] * self.column_count
        if header_rows:
            names = self.names()
        lines = []
        if self.column_count:
            lines = [_line(names), "|" + " - |" * self.column_count]
        written: set[int] = set()
        body = self.grid()[header_rows:]
        for row in body:
            lines.append(_line(_text_once(cell, written) for cell in row))
        lines.append("")
        if self.caption:
            lines.append(self.caption)
        lines += self.footnotes
        return "\n".join(lines).rstrip("\n")


def _with_text(cell: Cell, text: str) -> Cell:
    if text == cell.text:
        return cell
    return replace(cell, text=text)


def _describes(texts: Sequence[Cell]) -> bool:
    """Return whether a row is one cell that describes the rows below.

    It spans the row, or is marked as their head.
    """
    marked = texts[0].column_span > 1 or texts[0].kind in ("stubHead", "description")
    return len(texts) == 1 and marked and not is_number(plain_text(texts[0]))


def check_unfilled(rows: int, cells: int, positions: int) -> None:
    """Refuse a table with so many empty positions that it would fill the memory."""
    unfilled = positions - cells
    limit = MOST_UNFILLED + MOST_UNFILLED_PER_CELL * cells
    if unfilled > limit:
        raise InvalidInputError(
            f"a table of {rows:,} rows has {cells:,} cells, and {unfilled:,} positions that are "
            f"empty or covered by merged cells: at most {limit:,} are read (MOST_UNFILLED and "
            "MOST_UNFILLED_PER_CELL in factoid.documents.tables)"
        )


def shortened(text: str) -> str:
    """Return a text that is written once more, cut if it is long."""
    if len(text) <= _REPEATED:
        return text
    return f"{text[:_REPEATED].rstrip()}…"


def _text_once(cell: Cell | None, written: set[int]) -> str:
    """Return the text of a cell, cut if it is long and the cell was written before.

    `written` holds the `id` of those.
    """
    if cell is None:
        return ""
    if id(cell) in written:
        return shortened(cell.text)
    written.add(id(cell))
    return cell.text


def _distinguishing(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return the numbers of columns, from the left, that tell the rows apart.

    Rows without a text in them do not count.
    """
    counts = []
    names = [0] * len(columns[0])  # equal for rows with the same texts so far
    named = [False] * len(names)
    for count, texts in enumerate(columns, start=1):
        numbers: dict[tuple[int, str], int] = {}
        names = [numbers.setdefault(pair, len(numbers)) for pair in zip(names, texts, strict=True)]
        named = [before or bool(text) for before, text in zip(named, texts, strict=True)]
        distinct = set()
        for name, is_named in zip(names, named, strict=True):
            if is_named:
                distinct.add(name)
        if len(distinct) == sum(named):
            counts.append(count)
    return counts


def _line(texts: Iterable[str]) -> str:
    escaped = (" ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|") for text in texts)
    return "| " + " | ".join(escaped) + " |"


@lru_cache(512)  # one cell may be at many positions
def plain_text(cell: Cell | None) -> str:
    """Return the text of a cell with boxes as answers (see `answered`)."""
    if cell:
        return answered(cell.text).strip()
    return ""


def answered(text: str) -> str:
    """Return the text of a cell with ticked boxes read as answers, and other marks removed.

    "☒ Yes ☐ No" is "Yes", or "not selected" if no box is ticked; "☐ Approved" is "Approved: not
    selected"; a mark on its own is "selected" or "not selected".
    """
    if not SELECTION.search(text):
        return text
    options = list(_OPTION.finditer(text))
    names = []
    ticked = []
    for option in options:
        name = option[2].strip()
        names.append(name)
        if option[1] not in _UNTICKED:
            ticked.append(name)
    is_form = text.lstrip().startswith(options[0][1]) and all(map(_is_option, names))
    if is_form and not any(map(is_number, names)):
        if len(names) == 1:
            if ticked:
                return names[0]
            return f"{names[0].rstrip(': ')}: not selected"
        return ", ".join(ticked) or "not selected"
    rest = SELECTION.sub("", text)
    if rest.strip() or not text.strip():
        return rest
    if ticked:
        return "selected"
    return "not selected"


def _is_option(name: str) -> bool:
    """Return whether a text is as short as the name of an option."""
    return 0 < len(name.split()) <= _OPTION_WORDS


def is_number(text: str) -> bool:
    """Return whether a text is a number.

    It may have a currency, a percent sign or footnote marks.
    """
    return len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) is not None


def _has_header(row: Sequence[Cell | None]) -> bool:
    return any(cell and cell.kind in ("columnHeader", "stubHead") for cell in row)


def _texts_of(row: Sequence[Cell | None]) -> list[str]:
    """Return the texts of cells, "" where there is none."""
    texts = []
    for cell in row:
        text = ""
        if cell:
            text = cell.text
        texts.append(text)
    return texts


def _is_short(text: str) -> bool:
    """Return whether a text is as short as a name of a row."""
    return 0 < len(text.split()) <= _ROW_HEADER_WORDS and ":" not in text
