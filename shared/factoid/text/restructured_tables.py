"""Read the tables that reStructuredText writes as lists or as values between commas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from factoid.text.blocks import Block, Lead
from factoid.text.paragraphs import Read, Source, joined, named_rows

_ROW = re.compile(r"(?P<indent>[ \t]*)[*+-][ \t]+(?P<mark>[*+-])(?:[ \t]+|\Z)")
_CELL = re.compile(r"(?P<indent>[ \t]*)[*+-](?:[ \t]+|\Z)")
_VALUE = re.compile(r'[ \t]*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^,\n]*))[ \t]*(?:,|\Z)')

Line = tuple[int, int]  # where a line begins and ends in its text


def list_table_rows(
    text: str, lines: Sequence[Line], headers: int, leads: tuple[Lead, ...], inline: Read
) -> list[Block]:
    """Return the rows of a table whose rows are items of a list, and its cells those of the lists in them.

    Args:
        text: The source.
        lines: The lines of the list.
        headers: How many rows name the columns; the last of them counts.
        leads: What the rows go on from.
        inline: Returns what a reader sees of a cell.
    """
    rows: list[list[list[Line]]] = []  # the lines of each cell
    column = 0
    for start, end in lines:
        line = text[start:end]
        if row := _ROW.match(line):
            column = row.start("mark")
            rows.append([[(start + row.end(), end)]])
            continue
        cell = _CELL.match(line)
        if rows and cell and len(cell["indent"]) == column:
            rows[-1].append([(start + cell.end(), end)])
        elif rows and line.strip():
            begin = end - len(line.lstrip())
            rows[-1][-1].append((begin, end))
    return _named([[_source(text, cell) for cell in row] for row in rows], headers, leads, inline)


def csv_table_rows(
    text: str, lines: Sequence[Line], headers: int, leads: tuple[Lead, ...], inline: Read
) -> list[Block]:
    """Return the rows of a table whose rows are lines of values between commas; arguments are those of `list_table_rows`."""
    rows = [list(_values(text, *line)) for line in lines if text[slice(*line)].strip()]
    return _named(rows, headers, leads, inline)


def _values(text: str, start: int, end: int) -> Iterator[Source]:
    line = text[start:end]
    at = 0
    while at <= len(line):
        value = _VALUE.match(line, at)
        if value is None:
            yield line[at:], range(start + at, end)  # what stands behind a quote
            return
        group = "quoted" if value["quoted"] is not None else "bare"
        first, last = value.span(group)
        yield line[first:last], range(start + first, start + last)
        if value.end() == len(line) and not value[0].endswith(","):
            return
        at = value.end()


def _source(text: str, lines: Sequence[Line]) -> Source:
    """Return lines as one text, with the place of each of its characters."""
    parts: list[str] = []
    places: list[int] = []
    for start, end in lines:
        if parts:
            parts.append("\n")
            places.append(start - 1)
        parts.append(text[start:end])
        places += range(start, end)
    return "".join(parts), places


def _named(rows: Sequence[Sequence[Source]], headers: int, leads: tuple[Lead, ...], inline: Read) -> list[Block]:
    blocks: list[Block | None] = []
    for row in rows:
        cells = [inline(*source) for source in row]
        filled = [cell for cell in cells if cell.text]
        if not filled:
            continue
        starts = [cell.offsets[0] if cell.text else filled[0].offsets[0] for cell in cells[1:]]
        visible, spans = joined(cells, starts)
        blocks.append(Block("row", filled[0].offsets[0], filled[-1].offsets[-1] + 1, visible, cells=spans))
    return named_rows(blocks, min(headers, len(blocks)) - 1, leads)
