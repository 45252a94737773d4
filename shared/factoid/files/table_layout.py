"""What the rows of delimited text are: titles, a header of one or two rows, or values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

TEXT_FIELDS = ("text", "content", "page_content")  # columns whose cells are the texts of documents
LONGEST_NAME = 500  # characters of a column's name, which the text of each row repeats
MOST_TITLES = 10  # rows above the header
NUMBER = re.compile(r"[-+]?[$€£]?\s?\d[\d.,' ]*\s?[%€$£]?")
COMMENT = re.compile(r"\A(?:##+\s*|#(?:\s+|\Z))")  # "#tag" and "#1" are none
# Values that name no column where all below have their form: a number, a day, an hour, an address.
_VALUES = (
    NUMBER,
    re.compile(r"\d{4}-\d\d?-\d\d?(?:[T ]\d\d:\d\d\S*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"),
    re.compile(r"\d{1,2}:\d\d(?::\d\d)?"),
    re.compile(r"[^@\s]+@[^@\s]+\.\w+|https?://\S+"),
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_NO_VALUE = re.compile(r"\W+|n\.?[/ ]?a\.?|none|null|nan|nil", re.IGNORECASE)

Cells = Sequence[str]


class Row(NamedTuple):
    """A row that is not blank."""

    cells: list[str]  # without white space around them
    number: int  # of the line at which it ends
    is_below_blank: bool


class Layout(NamedTuple):
    """How many of the first rows of a table are something else than its values."""

    titles: int  # with comments
    levels: int  # of the header: 0, 1 or 2 rows


def layout_of(rows: Sequence[Row]) -> Layout:
    """Return the layout of a table from its first rows."""
    cells = [row.cells for row in rows]
    comments = _comment_rows(cells)
    titles = comments + _title_rows(rows[comments:])
    table = [*cells[titles : titles + 1], *_values(rows, titles)]
    levels = _header_levels(table)
    if titles == comments and _lacks_header(table):
        levels = 0
    return Layout(titles, levels)


def begins_table(rows: Sequence[Row], names: Cells) -> bool:
    """Return whether rows below a blank line are another table than the one above them.

    They are if they have a header that repeats one of the names of the columns above, or that has
    another width and stands above numbers.
    """
    layout = layout_of(rows)
    start = layout.titles + layout.levels
    values = [row.cells for row in rows[start:]]
    if layout.levels == 0 or not values:
        return False
    header = merged_header([row.cells for row in rows[layout.titles : start]])
    width = _extent(header)
    stated = [name for name in header[:width] if name]
    is_whole = len(stated) >= 2 and all(header[1:width])
    is_header = is_whole and _names_columns(header) and not any(map(_NO_VALUE.fullmatch, stated))
    if not is_header or max(map(_extent, values)) > width:
        return False
    repeats = any(name and name == above for name, above in zip(header, names, strict=False))
    return repeats or (width != _extent(names) and _differs(header, values))


def _values(rows: Sequence[Row], header: int) -> list[list[str]]:
    """Return the cells of the rows below a header, up to a blank line unless it is the next."""
    values: list[list[str]] = []
    for place, row in enumerate(rows[header + 1 :]):
        if row.is_below_blank and place and not rows[header + 1].is_below_blank:
            break
        values.append(row.cells)
    return values


def merged_header(levels: Sequence[Cells]) -> list[str]:
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
        if group == name:
            group = ""
        names.append(" / ".join(filter(None, (group, name))))
    return names


# What stands above the header


def _comment_rows(rows: Sequence[Cells]) -> int:
    """Return how many of the first rows are comments; the last may be the header instead."""
    count = 0
    while count < len(rows) and COMMENT.match(rows[count][0]):
        count += 1
    if count == len(rows):
        return 0
    below = rows[count]
    if _names_columns(below) and _differs(below, rows[count + 1 :]):
        return count
    for place, row in enumerate(rows[:count]):
        if _extent(row) == _extent(below):
            return place
    return count


def _title_rows(rows: Sequence[Row]) -> int:
    """Return how many rows stand above the header.

    Those with a cell or two, before one that names the columns.
    """
    filled = [sum(map(bool, row.cells)) for row in rows]
    cells = [row.cells for row in rows]
    for place in range(1, min(MOST_TITLES + 1, len(rows))):
        if _is_set_apart(rows, filled, place):
            return place
    for place in range(1, min(MOST_TITLES + 1, len(rows))):
        usual = _usual(filled[place:])
        names_columns = _names_columns(cells[place])
        if filled[place] < 2 or _is_narrow(filled[place], usual) or not names_columns:
            continue
        are_single = all(
            count == 1 and row[0] for row, count in zip(cells[:place], filled, strict=False)
        )
        are_narrow = are_single or all(_is_narrow(count, usual) for count in filled[:place])
        # What stands above may also be a header with few names: then the rows below have to show
        # another one.
        is_clear = (are_single and usual >= 3) or _differs(cells[place], _values(rows, place))
        if are_narrow and is_clear:
            return place
        return 0
    return 0


def _is_set_apart(rows: Sequence[Row], filled: Sequence[int], place: int) -> bool:
    """Return whether a blank line parts narrower rows, which are no table, from a header."""
    if not rows[place].is_below_blank or len(rows) == place + 1:
        return False
    if rows[place + 1].is_below_blank:  # as each row may be
        return False
    usual = _usual(filled[place:])
    is_narrower = max(filled[:place]) < min(usual, filled[place])
    is_wide = filled[place] >= 2 and not _is_narrow(filled[place], usual)
    above = [row.cells for row in rows[:place]]
    is_table = _differs(above[0], above[1:])
    return is_narrower and is_wide and _names_columns(rows[place].cells) and not is_table


def _usual(filled: Sequence[int]) -> int:
    """Return how many cells most rows have."""
    return max(Counter(filled).items(), key=lambda item: (item[1], item[0]))[0]


def _is_narrow(filled: int, usual: int) -> bool:
    """Return whether a row has few cells for a header of a table with usually so many."""
    return filled * 2 < usual or (filled * 2 == usual and usual >= 4)


# The header


def _names_columns(row: Cells) -> bool:
    """Return whether a row looks like a header: distinct texts, or years."""
    texts = [cell for cell in row if cell]
    return (
        all(map(_is_label, texts))
        and len({*texts}) == len(texts)
        and max(map(len, texts), default=0) <= LONGEST_NAME
    )


def _is_label(cell: str) -> bool:
    """Return whether a cell is a text or a year."""
    return not NUMBER.fullmatch(cell) or bool(_YEAR.fullmatch(cell))


def _header_levels(rows: Sequence[Cells]) -> int:
    """Return 2 if the row below the header belongs to it, else 1.

    It does if it gives a name to each column without one, as below a merged cell, whose name may
    be repeated instead. Years, or names in each column, have to stand above other values.
    """
    if len(rows) < 3:
        return 1
    header, below, *values = rows
    unnamed = _unnamed(header, max(len(header), len(below)))
    are_named = bool(unnamed) and all(_cell(below, column) for column in unnamed)
    are_used = all(any(_cell(row, column) for row in values) for column in unnamed)
    are_labels = all(_is_label(cell) for cell in below if cell)
    if not (are_named and are_used and are_labels):
        return 1
    if below[0]:
        names_rows = below[0] == header[0] or not header[0]
    else:
        names_rows = bool(header[0]) or all(_cell(row, 0) for row in values)
    is_plain = not below[0] and not any(map(_YEAR.fullmatch, below))
    are_above_values = all(_is_above_values(below, values, column) for column in unnamed)
    if names_rows and (is_plain or are_above_values):
        return 2
    return 1


def _unnamed(header: Cells, width: int) -> list[int]:
    """Return the columns, but the first, without a name or with that of the column before."""
    columns = []
    for column in range(1, width):
        name = _cell(header, column)
        if not name or name == header[column - 1]:
            columns.append(column)
    return columns


def _is_above_values(header: Cells, values: Sequence[Cells], column: int) -> bool:
    """Return whether a name stands above numbers, which are no years if the name is one."""
    cells = []
    for row in values:
        cell = _cell(row, column)
        if cell and not _NO_VALUE.fullmatch(cell):
            cells.append(cell)
    are_numbers = bool(cells) and all(map(NUMBER.fullmatch, cells))
    is_year = _YEAR.fullmatch(_cell(header, column)) is not None
    return are_numbers and not (is_year and all(map(_YEAR.fullmatch, cells)))


def _lacks_header(rows: Sequence[Cells]) -> bool:
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


def _counts_up(row: Cells, *, in_steps: bool = False) -> bool:
    """Return whether the whole numbers in a row rise, perhaps in equal steps.

    There must be two at least.
    """
    numbers = []
    for cell in row:
        if cell.isdecimal() and len(cell) < 10:
            numbers.append(int(cell))
    steps = [after - before for before, after in pairwise(numbers)]
    return bool(steps) and min(steps) > 0 and not (in_steps and len({*steps}) > 1)


def _cell(row: Cells, column: int) -> str:
    if column < len(row):
        return row[column]
    return ""


def _differs(header: Cells, rows: Sequence[Cells]) -> bool:
    """Return whether a column has only numbers below a name."""
    for column, name in enumerate(header):
        cells = []
        for row in rows:
            if column < len(row) and row[column]:
                cells.append(row[column])
        if name and not NUMBER.fullmatch(name) and cells and all(map(NUMBER.fullmatch, cells)):
            return True
    return False


def _extent(row: Cells) -> int:
    """Return the number of cells up to the last that is not empty."""
    extent = len(row)
    while extent and not row[extent - 1]:
        extent -= 1
    return extent
