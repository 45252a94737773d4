"""Tables as grids of cells, with what a document says about them: caption, footnotes, place and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from factoid.errors import InvalidInputError

# The names of Azure Document Intelligence. A "description" is a row about the rows below it, such as "Supervised models".
CellKind = Literal["content", "columnHeader", "rowHeader", "stubHead", "description"]
Span = tuple[int, int]  # [start, end) in characters of the content that was read


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page.

    Attributes:
        page: Number of the page, from 1.
        polygon: x and y of each corner in turn, in the page's unit, clockwise from the text's upper left.
    """

    page: int
    polygon: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table; a merged one stands once, at its upper left.

    Attributes:
        row, column: Position, from 0.
        text: What a reader sees, on one line.
        row_span, column_span: Rows and columns that it covers, at least 1.
        kind: What it is for.
        span: Where it stands in the content that was read, or None.
        regions: Where it stands on the pages.
    """

    row: int
    column: int
    text: str
    row_span: int = 1
    column_span: int = 1
    kind: CellKind = "content"
    span: Span | None = None
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table as a grid of cells.

    Attributes:
        cells: In reading order; a position without a cell is empty.
        row_count, column_count: Size of the grid, header rows included.
        caption: Such as "Table 2: Passage retrieval performance", or "".
        footnotes: Texts below the table.
        title: The document's title.
        section: Path of headings, outermost first, joined by ", ".
        pages: Numbers of the pages that it stands on, from 1.
        span: Where it stands in the content that was read, or None.
        regions: Where it stands on the pages.
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
    regions: tuple[Region, ...] = ()

    def __post_init__(self) -> None:
        for cell in self.cells:
            bottom, right = cell.row + cell.row_span, cell.column + cell.column_span
            if min(cell.row, cell.column) < 0 or min(cell.row_span, cell.column_span) < 1:
                message = f"a cell's row and column must be at least 0 and its spans at least 1, got {cell}"
                raise InvalidInputError(message)
            if bottom > self.row_count or right > self.column_count:
                message = f"a cell reaches out of the grid of {self.row_count} rows and {self.column_count} columns: {cell}"
                raise InvalidInputError(message)

    def grid(self) -> list[list[Cell | None]]:
        """Return the cell at each position, row by row; a merged cell stands at every position that it covers."""
        rows: list[list[Cell | None]] = [[None] * self.column_count for _ in range(self.row_count)]
        for cell in self.cells:
            for row in range(cell.row, cell.row + cell.row_span):
                for column in range(cell.column, cell.column + cell.column_span):
                    rows[row][column] = rows[row][column] or cell
        return rows

    def texts(self) -> list[list[str]]:
        """Return the text at each position, row by row, "" where there is none; merged cells repeat theirs."""
        return [[cell.text if cell else "" for cell in row] for row in self.grid()]


def table_of(rows: Sequence[Sequence[str]], *, header_rows: int = 1, caption: str = "") -> Table:
    """Return a table of plain rows of texts, the first of which are headers."""
    width = max(map(len, rows), default=0)
    cells = tuple(
        Cell(row, column, text, kind="columnHeader" if row < header_rows else "content")
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
    )
    return Table(cells, len(rows), width, caption)
