"""Read the tables that reStructuredText writes as lists or as values between commas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from factoid.text.blocks import Block, Lead
from factoid.text.paragraphs import Read, Source, joined, named_rows

_ROW = re.compile(r"(?P<indent>[ \t]*)[*+-][ \t]+(?P<mark>[*+-])(?:[ \t]+|\Z)")
_CELL = re.compile(r"(?P<indent>[ \t]*)[*+-](?:[ \t]+|\Z)")
_VALUE = re.compile(r'[ \t]*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<bare>[^,\n]*))[ \t]*(?:,|\Z)')

_MOST_HEADERS = 10  # rows

Line = tuple[int, int]  # where a line begins and ends in its text


def directive_table(
    name: str,
    text: str,
    title: Line | None,
    options: Mapping[str, Line],
    lines: Sequence[Line],
    inline: Read,
) -> list[Block]:
    """Return the blocks of a table that a directive holds: its title, if it has one, and its rows.

    Args:
        name: "list-table" or "csv-table".
        text: The source.
        title: Where the title is in it.
        options: Where the values of its options are, by their names; "header" and "header-rows"
            name the columns.
        lines: Where the lines of its body are.
        inline: Returns what a reader sees of a cell.
    """
    leads: tuple[Lead, ...] = ()
    blocks: list[Block] = []
    if title is not None:
        visible = inline(text[slice(*title)], range(*title))
        if visible.text:
            leads = (Lead(*title, visible.text),)
            blocks.append(Block("paragraph", *title, visible))
    headers = 0
    if "header-rows" in options:
        count = text[slice(*options["header-rows"])]
        if count.isdecimal() and len(count) < 3:
            headers = min(int(count), _MOST_HEADERS)
    if "header" in options:
        lines = [options["header"], *lines]
        headers += 1
    if name == "list-table":
        rows = _list_rows(text, lines)
    else:
        rows = [list(_values(text, *line)) for line in lines]
    return [*blocks, *_named(rows, headers, leads, inline)]


def _list_rows(text: str, lines: Sequence[Line]) -> list[list[Source]]:
    """Return the cells of rows that are items of a list, the cells those of the lists in them."""
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
    return [[joined_lines(text, cell) for cell in row] for row in rows]


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


def joined_lines(text: str, lines: Sequence[Line]) -> Source:
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


def _named(
    rows: Sequence[Sequence[Source]], headers: int, leads: tuple[Lead, ...], inline: Read
) -> list[Block]:
    blocks: list[Block | None] = []
    for row in rows:
        cells = [inline(*source) for source in row]
        filled = [cell for cell in cells if cell.text]
        if not filled:
            continue
        starts = [cell.offsets[0] if cell.text else filled[0].offsets[0] for cell in cells[1:]]
        visible, spans = joined(cells, starts)
        blocks.append(
            Block("row", filled[0].offsets[0], filled[-1].offsets[-1] + 1, visible, cells=spans)
        )
    return named_rows(blocks, min(headers, len(blocks)) - 1, leads)
