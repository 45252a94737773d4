"""The tables of the papers, with our numbers beside the published ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from factoid.errors import InvalidInputError

_NOTHING = "–"
_COUNTS = ("# units", "Max.", "Inv #")  # columns of whole numbers

Measured = Mapping[tuple[str, str], float]
"""Our numbers, by row and column."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: for each column our number and the published one, None where there is none."""

    name: str
    ours: Sequence[float | None]
    published: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class ReproducedTable:
    """A table in the layout of its paper.

    Attributes:
        paper: "dense-x", "agrame" or "entity-retrieval".
        name: As in the paper, or of a figure or section whose numbers it holds.
        title: What it measures.
        columns: Their names.
        rows: Those of the paper, then those that only we have.
        notes: What differs from the paper's experiment.
        decimals: Of the numbers.
    """

    paper: str
    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = field(default=())
    decimals: int = 1

    def to_markdown(self, *, all_rows: bool = False) -> str:
        """Return the table as Markdown, each cell as "ours (published)".

        Rows and columns in which nothing was measured are left out, unless `all_rows` is set.
        """
        rows = [row for row in self.rows if all_rows or _has_number(row.ours)]
        places = []
        for place in range(len(self.columns)):
            if all_rows or _has_number([row.ours[place] for row in rows]):
                places.append(place)
        lines = [f"{self.name}. {self.title}", ""]
        if rows:
            lines.append(_line(["", *(self.columns[place] for place in places)]))
            lines.append("| - |" + " -: |" * len(places))
        for row in rows:
            cells = [row.name]
            for place in places:
                is_count = self.columns[place].endswith(_COUNTS)
                cells.append(self._cell(row.ours[place], row.published[place], is_count))
            lines.append(_line(cells))
        if not rows:
            lines.append("Nothing was measured.")
        for note in self.notes:
            lines += ["", f"* {note}"]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON holds it."""
        return asdict(self)

    def _cell(self, ours: float | None, published: float | None, is_count: bool) -> str:
        text = self._number(ours, is_count)
        if published is not None:
            text += f" ({self._number(published, is_count)})"
        return text

    def _number(self, value: float | None, is_count: bool) -> str:
        if value is None:
            return _NOTHING
        if is_count:
            return f"{round(value):,}"
        return f"{value:.{self.decimals}f}"


def published_table(paper: str, name: str) -> ReproducedTable:
    """Return a table as it is published, without numbers of ours.

    Raises:
        InvalidInputError: The paper has no such table, or it has no numbers.
    """
    tables = _published().get(paper, {})
    if name not in tables:
        raise InvalidInputError(
            f"no numbers are kept of {name!r} of {paper!r}: choose one of {', '.join(tables)}"
        )
    record = tables[name]
    columns = record["columns"]
    rows = []
    for row, values in record["rows"].items():
        rows.append(Row(row, [None] * len(columns), values))
    return ReproducedTable(paper, name, record["title"], columns, rows, decimals=record["decimals"])


def beside_published(
    paper: str, name: str, measured: Measured, notes: Sequence[str] = ()
) -> ReproducedTable:
    """Return a published table with our numbers.

    Rows that the paper does not have follow, and so do columns.
    """
    table = published_table(paper, name)
    columns = list(dict.fromkeys([*table.columns, *(column for _, column in measured)]))
    published = {}
    for row in table.rows:
        missing = [None] * (len(columns) - len(table.columns))
        published[row.name] = [*row.published, *missing]
    return _table(paper, name, table.title, columns, published, measured, notes, table.decimals)


def new_table(
    paper: str,
    name: str,
    title: str,
    measured: Measured,
    *,
    published: Mapping[str, Sequence[float | None]] | None = None,
    notes: Sequence[str] = (),
    decimals: int = 1,
) -> ReproducedTable:
    """Return a table of which the paper prints a figure, or numbers that follow from others."""
    columns = list(dict.fromkeys(column for _, column in measured))
    return _table(paper, name, title, columns, published or {}, measured, notes, decimals)


def _table(
    paper: str,
    name: str,
    title: str,
    columns: Sequence[str],
    published: Mapping[str, Sequence[float | None]],
    measured: Measured,
    notes: Sequence[str],
    decimals: int,
) -> ReproducedTable:
    names = dict.fromkeys([*published, *(row for row, _ in measured)])
    rows = []
    for row in names:
        ours = [measured.get((row, column)) for column in columns]
        rows.append(Row(row, ours, published.get(row, [None] * len(columns))))
    return ReproducedTable(paper, name, title, columns, rows, list(notes), decimals)


@cache
def _published() -> dict[str, Any]:
    source = files("factoid.evaluate.reproduce").joinpath("published.json")
    tables: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
    return tables


def _has_number(values: Sequence[float | None]) -> bool:
    return any(value is not None for value in values)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
