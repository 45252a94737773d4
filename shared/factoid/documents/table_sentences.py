"""Turn rows of tables into propositions without a model.

Each value is in a sentence with the headers that say what it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factoid.documents.tables import Cell, Row, Table, is_number, plain_text, shortened

_SCOPES = dict.fromkeys(("avg", "average", "mean"), " on average") | dict.fromkeys(
    ("total", "all", "sum"), " in total"
)
_ABBREVIATED = re.compile(r"\bAvg\.", re.IGNORECASE)
_COMMON_NOUN = re.compile(r"[A-Z][a-z]+(?: [a-z]+)*")
_MOST_HEADS = 10  # cells that name a row; further ones are values
_LONG = 8  # number of words from which a text is quoted after a colon
_QUANTITY = re.compile(r"[^\w(]*+\d[\d.,\s–-]*+(.*)", re.DOTALL)  # a number and its unit
_EMPTY = re.compile(r"[-–—]{1,3}|n/a", re.IGNORECASE)  # how a cell is printed that has no value
_ENDS = (".", "!", "?", "…", '."', ".”", '?"', "?”")


@dataclass(frozen=True, slots=True)
class RowProposition:
    """A sentence about one value of a table, at this position in the grid.

    Attributes:
        text: Such as "In Table 2, Contriever with Proposition granularity has R@5 of 52.7 on
            average.".
        cells: The value's cell, then those of the row's name: the evidence.
    """

    text: str
    row: int
    column: int
    cells: tuple[Cell, ...]


def row_propositions(table: Table) -> list[RowProposition]:
    """Return a sentence for every value of a table's body, row by row.

    A row is named by its first columns (see `Table.row_header_columns`). The outermost of several
    headers says what a value holds for, the others what it is. The row above that describes a row
    ("Supervised models") is named if rows could be mixed up without it, or if they or the table
    have no name. A row with only a name is one sentence, "Name: Ann." Where each row has a unit of
    its own, as in a data sheet, its name is the measure. Values are as printed; a dash and "n/a"
    are none. The table's label or caption begins each sentence. What several sentences repeat is
    cut if it is long.
    """
    count = table.row_header_columns()
    levels = list(map(_levels, table.headers()))
    rows = list(table.rows())
    parts = [_heads_and_values(row, count) for row in rows]
    names = [_name(heads, levels) for heads, _ in parts]
    repeated = {name for name, times in Counter(names).items() if times > 1}
    are_measures = _are_measures([list(values) for _, values in parts])
    propositions = []
    written: set[Cell] = set()
    for row, name, (heads, values) in zip(rows, names, parts, strict=True):
        place = [_place(table)]
        if row.description and (not name or name in repeated or not place[0]):
            place.append(f"under “{shortened(row.description)}”")
        if not values:  # the row has only a name
            name = ""
            values = {}
            for cell, column in heads.items():
                if levels[column] or cell.column_span > 1:
                    values[cell] = column
        start = ", ".join(filter(None, place))
        for cell, column in values.items():
            headers = levels[column]
            if cell in heads and cell.column_span > 1:
                headers = ()
            subject = name
            measures = headers
            if are_measures and len(headers) == 1:
                subject = headers[0]
                measures = (name,)
            value = plain_text(cell)
            if cell in written:
                value = shortened(value)
            sentence = _sentence(subject, measures, value)
            written.add(cell)
            if start:
                sentence = f"{start[0].upper()}{start[1:]}, {sentence}"
            cells = tuple({cell: column} | heads)
            propositions.append(RowProposition(sentence, row.number, column, cells))
    return propositions


def _heads_and_values(row: Row, count: int) -> tuple[dict[Cell, int], dict[Cell, int]]:
    """Return the cells that name a row, and the others, all with their columns.

    Those that name it are in the first columns, else its first text.
    """
    texts: dict[Cell, int] = {}
    for column, cell in enumerate(row.cells):
        text = plain_text(cell)
        if cell and text and not _EMPTY.fullmatch(text):
            texts.setdefault(cell, column)
    heads: dict[Cell, int] = {}
    for cell, column in texts.items():
        if column < count and len(heads) < _MOST_HEADS:
            heads[cell] = column
    if count and not heads:
        for cell, column in texts.items():
            if not is_number(plain_text(cell)):
                heads[cell] = column
                break
    return heads, {cell: column for cell, column in texts.items() if cell not in heads}


def _are_measures(rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether the rows are what is measured ("Weight | 59 kg | 64 kg").

    Each has one unit, and not all the same.
    """
    units: set[str] = set()
    for row in rows:
        quantities = map(_QUANTITY.fullmatch, map(plain_text, row))
        units_of_row = {quantity[1] for quantity in quantities if quantity}
        if len(row) > 1 and units_of_row:
            if len(units_of_row) > 1:
                return False
            units |= units_of_row
    return len(units) > 1


def _place(table: Table) -> str:
    if table.label:
        return f"in {shortened(table.label)}"
    if table.caption:
        return f"in the table “{shortened(table.caption.rstrip('. '))}”"
    return ""


def _levels(headers: Sequence[str]) -> tuple[str, ...]:
    """Return the outermost of a column's headers, and the others in one."""
    levels = list(map(shortened, headers[:1]))
    measure = shortened(" ".join(headers[1:]))
    if measure:
        levels.append(measure)
    return tuple(levels)


def _name(heads: Mapping[Cell, int], levels: Sequence[tuple[str, ...]]) -> str:
    """Return what a row is about: its first header that is not a number, "with" the others."""
    parts = []
    for cell, column in heads.items():
        parts.append((shortened(plain_text(cell)), " ".join(levels[column])))
    name, *others = sorted(parts, key=lambda part: is_number(part[0])) or [("", "")]
    with_others = []
    for value, header in others:
        if _COMMON_NOUN.fullmatch(header):
            header = header.lower()
        with_others.append(f"{value} {header}".rstrip())
    if with_others:
        return f"{name[0]} with {' and '.join(with_others)}"
    return name[0]


def _sentence(name: str, levels: tuple[str, ...], value: str) -> str:
    """Return the sentence for a row's value, with a full stop."""
    outer = ""
    if len(levels) > 1:
        outer = levels[0]
        levels = levels[1:]
    # a full stop would end the sentence for splitters
    measure = _ABBREVIATED.sub("average", " ".join(levels))
    scope = ""
    if outer:
        scope = f" for {outer}"
    scope = _SCOPES.get(outer.lower().strip(". "), scope)
    is_text = not is_number(value) and (len(value.split()) >= _LONG or value.endswith(_ENDS))
    if name and measure and not is_text:
        sentence = f"{name} has {measure} of {value}{scope}"
    else:
        if measure:
            measure += scope
        subject = ", ".join(filter(None, (name, measure)))
        sentence = value
        if subject:
            sentence = f"{subject}: {value}"
    if sentence.endswith(_ENDS):
        return sentence
    return f"{sentence}."
