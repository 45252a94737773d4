"""Make rows with the names of their columns of the cells of a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from factoid.text.blocks import Block, Lead, Span, Visible, VisibleText
from factoid.text.html.flow import lead_of

_LONGEST_REPEATED = 200  # characters of a cell that is repeated in the rows below
_REPEATED_COST = 10  # more than its characters
_MOST_CAPTIONS = 3  # paragraphs of a caption that lead to rows
_NAME_WORDS = 5  # most words of a column's name, where nothing marks it as one
_NAMED_COLUMNS = 8  # most columns whose names a cell that spans them has
_NUMBER = re.compile(r"[^\w\s]*+\d[\d.,\s]*+[^\w\s]*+")


@dataclass
class Cell:
    """A cell, with the blocks in it."""

    blocks: list[Block]
    is_header: bool  # of a column
    columns: int = 1
    rows: int = 1
    has_struck_name: bool = False  # whether words in it are struck out

    @cached_property
    def text(self) -> str:
        """The text that a reader sees, on one line."""
        return " ".join(" ".join(block.visible.text for block in self.blocks).split())

    @property
    def is_bold(self) -> bool:
        """Whether all of its text is bold."""
        return bool(self.text) and all(block.visible.is_strong for block in self.blocks)


class _Placed(NamedTuple):
    column: int
    cell: Cell
    is_repeated: bool = False  # from a row above


@dataclass
class _Row:
    is_head: bool
    cells: list[Cell] = field(default_factory=list)

    @cached_property
    def filled(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.text]

    @property
    def is_bold(self) -> bool:
        """Whether all of its text is bold."""
        return all(cell.is_bold for cell in self.filled)

    def withdraw(self) -> None:
        """Empty the row if its first cell, which names it, is struck out."""
        if not self.cells or all(cell.is_header for cell in self.cells):
            return
        if not self.cells[0].has_struck_name or self.cells[0].text:
            return
        for cell in self.cells:
            if cell.rows == 1:
                cell.blocks.clear()

    @cached_property
    def is_marked(self) -> bool:
        """Whether it holds header cells only, unlike a row with a name and without values."""
        if not all(cell.is_header for cell in self.filled):
            return False
        if len(self.filled) > 1 or len(self.filled) == len(self.cells):
            return True
        has_corner = bool(self.filled) and not self.cells[0].text
        return has_corner and all(cell.is_header for cell in self.cells)


class Table:
    """A table while it is read, and its rows as blocks."""

    def __init__(self, start: int, depth: int, first: int) -> None:
        self.start = start
        self.depth = depth  # how many flows are open around it
        self.first = first  # how many blocks stand before it
        self.is_layout = False
        self.is_implicit = False  # its tag is missing
        self.in_head = False
        self.rows: list[_Row] = []
        self.row: _Row | None = None
        self.caption: list[Block] = []

    def start_row(self) -> _Row:
        """Add a row, and return it."""
        self.row = _Row(self.in_head)
        self.rows.append(self.row)
        return self.row

    def blocks(self, budget: int) -> list[Block]:
        """Return the rows, or the paragraphs of a table that only arranges the page.

        Args:
            budget: The most columns and characters that cells across rows and columns may fill. If
                it is not enough, no row has names.
        """
        for row in self.rows:
            row.withdraw()
        rows = [row for row in self.rows if row.cells]
        if self._only_arranges(rows):
            arranged = [*self.caption]
            for row in rows:
                for cell in row.cells:
                    arranged += cell.blocks
            return arranged
        grid = _Grid(rows, budget)
        leads = tuple(lead_of(block) for block in self.caption[:_MOST_CAPTIONS])
        blocks = []
        for number in range(len(rows)):
            block = grid.block(number, leads)
            if block is not None:
                blocks.append(block)
        if grid.budget < 0:
            blocks = [replace(block, names=()) for block in blocks]
        return [*self.caption, *blocks]

    def _only_arranges(self, rows: list[_Row]) -> bool:
        if self.is_layout:
            return True
        cells = list(chain.from_iterable(row.cells for row in rows))
        if any(cell.is_header for cell in cells):
            return False
        for cell in cells:
            if any(block.kind == "heading" for block in cell.blocks):
                return True
        return all(len(row.cells) == 1 for row in rows)


class _Grid:
    """The rows of a table from first to last, with the names of columns and what spans rows."""

    def __init__(self, rows: list[_Row], budget: int) -> None:
        self.rows = rows
        self.budget = budget
        self.width = max((len(row.cells) for row in rows), default=0)
        self.headers = _header_rows(rows)
        self.in_header = False
        self.names: dict[int, str] = {}
        # By column, a cell from a row above, and how many more rows it is in.
        self.spanning: dict[int, tuple[Cell, int]] = {}
        self.label: Lead | None = None  # the last row that is one header cell across the table

    def block(self, number: int, leads: tuple[Lead, ...]) -> Block | None:
        """Return a row, or nothing if it has no text of its own. Rows are asked for in order."""
        row = self.rows[number]
        is_alone = len(row.cells) == 1 and not self.spanning and self.width > 1
        placed = self._place(row, len(self.rows) - number)
        if not row.filled:
            return None
        is_label = is_alone and (number in self.headers or row.cells[0].is_header)
        is_header = number in self.headers and not is_label
        names: tuple[str, ...] = ()
        if is_header:
            self._add_names(placed)
            placed = [place for place in placed if not place.is_repeated]
        elif not is_label and not (is_alone and row.cells[0].columns >= self.width):
            names = tuple(self._name(place) for place in placed)
        self.in_header = is_header
        start = min(cell.blocks[0].start for cell in row.filled)
        end = max(cell.blocks[-1].end for cell in row.filled)
        visible, cells = _row_text(placed, start)
        if not any(names):
            names = ()
        if self.label and not is_label:
            leads = (*leads, self.label)
        block = Block("row", start, end, visible, 0, cells, names, is_header, leads)
        if is_label:
            self.label = lead_of(block)
        return block

    def _place(self, row: _Row, rows_left: int) -> list[_Placed]:
        """Return the cells of a row by columns, among them those from rows above that span it."""
        above = sorted(self.spanning.items(), reverse=True)
        if self.budget < 0:
            above = []
        cells_of_row = row.cells[::-1]
        self.spanning = {}
        placed = []
        column = 0
        while cells_of_row or above:
            is_repeated = bool(above) and (not cells_of_row or above[-1][0] <= column)
            if is_repeated:
                at, (cell, remaining_rows) = above.pop()
                column = max(column, at)
                self.budget -= len(cell.text) + _REPEATED_COST
            else:
                cell = cells_of_row.pop()
                remaining_rows = min(cell.rows, rows_left)
            if remaining_rows > 1:
                self.spanning[column] = (cell, remaining_rows - 1)
            if not is_repeated or len(cell.text) <= _LONGEST_REPEATED:
                placed.append(_Placed(column, cell, is_repeated))
            columns = self._columns(cell)
            self.budget -= columns
            column += columns
        return placed

    def _columns(self, cell: Cell) -> int:
        return min(cell.columns, self.width)

    def _add_names(self, placed: list[_Placed]) -> None:
        if not self.in_header:
            self.names = {}
        for column, cell, is_repeated in placed:
            if is_repeated or not cell.text or self.budget < 0:
                continue
            for place in range(column, column + self._columns(cell)):
                above = self.names.get(place, "")
                if above == cell.text:
                    continue
                if above:
                    self.names[place] = f"{above} {cell.text}"
                    self.budget -= len(self.names[place])
                else:
                    self.names[place] = cell.text

    def _name(self, place: _Placed) -> str:
        columns = self._columns(place.cell)
        if columns > _NAMED_COLUMNS:
            return ""
        names: dict[str, None] = {}  # in order, without repetitions
        for column in range(place.column, place.column + columns):
            if self.names.get(column):
                names[self.names[column]] = None
        name = ", ".join(names)
        if columns > 1:
            self.budget -= len(name)
        return name


def _header_rows(rows: list[_Row]) -> set[int]:
    """Return the numbers of the rows that name the columns, or the rows below."""
    filled = [number for number, row in enumerate(rows) if row.filled]
    headers = {number for number in filled if rows[number].is_head}
    data = [number for number in filled if number not in headers and not rows[number].is_marked]
    if not data:
        return headers or {*filled[:1]}
    first = min([*data, *headers])
    for number in filled:
        row = rows[number]
        is_total = any(_NUMBER.fullmatch(cell.text) for cell in row.filled)
        if row.is_marked and (number < first or (number < data[-1] and not is_total)):
            headers.add(number)
    if any(cell.is_header for row in rows for cell in row.cells):
        return headers
    bold = [number for number in filled if rows[number].is_bold]
    if bold == filled[:1] and len(rows[bold[0]].filled) > 1 and len(filled) > 1:
        headers.add(bold[0])
    elif not headers and _names_columns([rows[number].cells for number in filled]):
        headers.add(filled[0])
    return headers


def _names_columns(rows: list[list[Cell]]) -> bool:
    """Return whether the first row holds short names above a column of numbers.

    The table has no header cells.
    """
    names = [cell.text for cell in rows[0]]
    is_named = len(rows) > 1 and len(names) > 1 and all(names) and len({*names}) == len(names)
    if not is_named:
        return False
    for name in names:
        if _NUMBER.fullmatch(name) or len(name.split()) > _NAME_WORDS:
            return False
    below = rows[1:]
    if any(len(row) != len(names) or not row[0].text for row in below):
        return False
    for column in range(1, len(names)):
        values = [row[column].text for row in below if row[column].text]
        if values and all(map(_NUMBER.fullmatch, values)):
            return True
    return False


def _row_text(placed: list[_Placed], start: int) -> tuple[Visible, tuple[Span, ...]]:
    """Return what a reader sees of a row, and the spans of its cells in this."""
    text = VisibleText()
    spans: list[Span] = []
    for place in placed:
        at = text.offsets[-1] if text.offsets else start
        if spans:
            text.put(" | ", at)
        first = len(text)
        if place.is_repeated:
            text.put(place.cell.text, at)
        else:
            _add_cell(text, place.cell)
        spans.append((first, len(text)))
    visible = text.visible()
    seen = "".join(text.parts)
    stripped = len(seen) - len(seen.lstrip())
    length = len(visible.text)
    cells = []
    for first, last in spans:
        cells.append((_clip(first - stripped, length), _clip(last - stripped, length)))
    is_strong = all(place.cell.is_bold for place in placed if place.cell.text)
    return visible._replace(is_strong=is_strong), tuple(cells)


def _add_cell(text: VisibleText, cell: Cell) -> None:
    for number, block in enumerate(cell.blocks):
        if number:
            text.put("\n", text.offsets[-1])
        shift = len(text)
        text.add_at(block.visible.text, block.visible.offsets)
        for first, last in block.visible.protected:
            text.protected.append((shift + first, shift + last))


def _clip(place: int, length: int) -> int:
    return min(max(place, 0), length)
