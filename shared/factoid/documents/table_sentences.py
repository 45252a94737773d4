"""Turn rows of tables into propositions without a model.

Each value in a sentence with the headers that say what it is.
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
    """A sentence about one value of a table, at this position in the grid."""

    # such as "In Table 2, Contriever with Proposition granularity has R@5 of 52.7 on average."
    text: str
    row: int
    column: int
    cells: tuple[Cell, ...]  # the value's, then those of the row's name: the evidence


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
    levels = [_levels(headers) for headers in table.headers()]
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
            values = {
                cell: column
                for cell, column in heads.items()
                if levels[column] or cell.column_span > 1
            }
        start = ", ".join(filter(None, place))
        for cell, column in values.items():
            headers = () if cell in heads and cell.column_span > 1 else levels[column]
            subject, measures = (
                (headers[0], (name,)) if are_measures and len(headers) == 1 else (name, headers)
            )
            value = plain_text(cell)
            sentence = _sentence(subject, measures, shortened(value) if cell in written else value)
            written.add(cell)
            whole = f"{start[0].upper()}{start[1:]}, {sentence}" if start else sentence
            propositions.append(
                RowProposition(whole, row.number, column, tuple({cell: column} | heads))
            )
    return propositions


def _heads_and_values(row: Row, count: int) -> tuple[dict[Cell, int], dict[Cell, int]]:
    """Return the cells that name a row (the first columns, else its first text) and the others, all with their columns."""
    texts: dict[Cell, int] = {}
    for column, cell in enumerate(row.cells):
        if cell and (text := plain_text(cell)) and not _EMPTY.fullmatch(text):
            texts.setdefault(cell, column)
    heads = dict([(cell, column) for cell, column in texts.items() if column < count][:_MOST_HEADS])
    words = [(cell, column) for cell, column in texts.items() if not is_number(plain_text(cell))]
    heads = heads or dict(words[:1] if count else [])
    return heads, {cell: column for cell, column in texts.items() if cell not in heads}


def _are_measures(rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether the rows are what is measured ("Weight | 59 kg | 64 kg").

    Each has one unit, and not all the same.
    """
    units = [
        {match[1] for cell in row if (match := _QUANTITY.fullmatch(plain_text(cell)))}
        for row in rows
    ]
    in_rows = [of_row for row, of_row in zip(rows, units, strict=True) if len(row) > 1 and of_row]
    return all(len(of_row) == 1 for of_row in in_rows) and len(set().union(*in_rows)) > 1


def _place(table: Table) -> str:
    if table.label:
        return f"in {shortened(table.label)}"
    return f"in the table “{shortened(table.caption.rstrip('. '))}”" if table.caption else ""


def _levels(headers: Sequence[str]) -> tuple[str, ...]:
    """Return the outermost of a column's headers, and the others in one."""
    measure = shortened(" ".join(headers[1:]))
    return (*map(shortened, headers[:1]), *([measure] if measure else []))


def _name(heads: Mapping[Cell, int], levels: Sequence[tuple[str, ...]]) -> str:
    """Return what a row is about: its first header that is not a number, "with" the others."""
    parts = [
        (shortened(plain_text(cell)), " ".join(levels[column])) for cell, column in heads.items()
    ]
    name, *others = sorted(parts, key=lambda part: is_number(part[0])) or [("", "")]
    with_others = [
        f"{value} {header.lower() if _COMMON_NOUN.fullmatch(header) else header}".rstrip()
        for value, header in others
    ]
    return f"{name[0]} with {' and '.join(with_others)}" if with_others else name[0]


def _sentence(name: str, levels: tuple[str, ...], value: str) -> str:
    """Return the sentence for a row's value, with a full stop."""
    outer, measure = (
        (levels[0], " ".join(levels[1:])) if len(levels) > 1 else ("", " ".join(levels))
    )
    # a full stop would end the sentence for splitters
    measure = _ABBREVIATED.sub("average", measure)
    scope = _SCOPES.get(outer.lower().strip(". "), f" for {outer}" if outer else "")
    is_text = not is_number(value) and (len(value.split()) >= _LONG or value.endswith(_ENDS))
    if name and measure and not is_text:
        sentence = f"{name} has {measure} of {value}{scope}"
    else:
        subject = ", ".join(part for part in (name, measure + scope if measure else "") if part)
        sentence = f"{subject}: {value}" if subject else value
    return sentence if sentence.endswith(_ENDS) else f"{sentence}."
