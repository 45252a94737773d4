"""Tables of results of Azure Document Intelligence, of every version, and of Azure Content Understanding."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

from factoid.documents.tables import Cell, CellKind, Region, Span, Table
from factoid.errors import InvalidInputError

_SOURCE = re.compile(r"D\((\d+),([-\d.,\s]+)\)")  # of Content Understanding
_MOST_CELLS = 10_000_000  # positions of one grid: more is damage


def azure_tables(result: Mapping[str, Any], *, offset: Callable[[int], int] = int) -> list[Table]:
    """Return the tables of an analysis result, cell by cell as the service gives them.

    Args:
        result: Parsed JSON of API v2.1 (`pageResults`), v3 or v4 (`tables`), in camel case or in the snake case of the Python
            package, or of Content Understanding (`contents`); with or without the envelope of the operation.
        offset: Converts the service's offsets into positions in the content as a Python string.

    Raises:
        InvalidInputError: A table is not one: it has no size, or values of a wrong type.
    """
    result = _unwrapped(result)
    sources = [(table, None) for table in _get(result, "tables") or []]
    for page in _get(result, "pageResults") or []:
        sources += [(table, _get(page, "page")) for table in _get(page, "tables") or []]
    for content in _get(result, "contents") or []:
        sources += [(table, None) for table in _get(content, "tables") or []]
    tables = []
    for number, (source, page) in enumerate(sources, 1):
        try:
            tables.append(_table(source, page, offset))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            message = f"table {number} of the result is damaged ({error!r}): analyse the document again"
            raise InvalidInputError(message) from error
    return tables


def _unwrapped(result: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("analyzeResult", "result"):
        inner = _get(result, key)
        if isinstance(inner, Mapping):
            return inner
    return result


def _table(source: Mapping[str, Any], page: int | None, offset: Callable[[int], int]) -> Table:
    rows, columns = (int(_first(source, *names)) for names in (("rowCount", "rows"), ("columnCount", "columns")))
    cells = [_cell(cell, page, offset) for cell in _get(source, "cells") or []]
    rows = max([rows, *(cell.row + cell.row_span for cell in cells)])
    columns = max([columns, *(cell.column + cell.column_span for cell in cells)])
    if rows * columns > _MOST_CELLS:
        message = f"a grid of {rows} rows and {columns} columns"
        raise ValueError(message)
    if page is not None:
        cells = list(_with_first_row_as_header(cells, columns))
    regions = tuple(_regions(source, page))
    caption = _get(source, "caption") or {}
    footnotes = tuple(_get(note, "content") for note in _get(source, "footnotes") or [])
    return Table(
        tuple(cells),
        rows,
        columns,
        _get(caption, "content") or "",
        footnotes,
        pages=tuple(dict.fromkeys(region.page for region in regions)),
        span=_span(source, offset),
        caption_span=_span(caption, offset),
        regions=regions,
    )


def _cell(source: Mapping[str, Any], page: int | None, offset: Callable[[int], int]) -> Cell:
    kind: Any = _get(source, "kind") or ("columnHeader" if _get(source, "isHeader") else "content")
    text = _get(source, "text") if page is not None else _get(source, "content")
    if not isinstance(text or "", str):
        message = f"a cell's content is {text!r:.40}"
        raise TypeError(message)
    return Cell(
        int(_first(source, "rowIndex")),
        int(_first(source, "columnIndex")),
        text or "",
        int(_get(source, "rowSpan") or 1),
        int(_get(source, "columnSpan") or 1),
        kind if kind in get_args(CellKind) else "content",
        _span(source, offset),
        tuple(_regions(source, page)),
    )


def _with_first_row_as_header(cells: Iterable[Cell], columns: int) -> Iterator[Cell]:
    """Yield cells of v2.1, which often marks no headers: then a full first row of distinct texts without numbers is one."""
    cells = list(cells)
    first = [cell.text for cell in cells if cell.row == 0]
    is_header = len(set(first)) == columns > 1 and all(text and not text.isdecimal() for text in first)
    is_header = is_header and not any(cell.kind == "columnHeader" for cell in cells)
    for cell in cells:
        yield replace(cell, kind="columnHeader") if is_header and cell.row == 0 else cell


def _span(source: Mapping[str, Any], offset: Callable[[int], int]) -> Span | None:
    single = _get(source, "span")
    spans = [single] if single else _get(source, "spans") or []
    if not spans:
        return None
    begins, ends = [span["offset"] for span in spans], [span["offset"] + span["length"] for span in spans]
    return offset(min(begins)), offset(max(ends))


def _regions(source: Mapping[str, Any], page: int | None) -> Iterator[Region]:
    for region in _get(source, "boundingRegions") or []:
        yield Region(int(_first(region, "pageNumber")), _polygon(_first(region, "polygon")))
    box = _get(source, "boundingBox")
    if page is not None and box:
        yield Region(page, _polygon(box))
    for match in _SOURCE.finditer(str(_get(source, "source") or "")):
        yield Region(int(match[1]), tuple(float(number) for number in match[2].split(",")))


def _polygon(points: Iterable[Any]) -> tuple[float, ...]:
    """Return the coordinates of points, which are numbers in turn or, in the Python package of v3, records of x and y."""
    numbers: list[float] = []
    for point in points:
        numbers += [point["x"], point["y"]] if isinstance(point, Mapping) else [point]
    return tuple(map(float, numbers))


def _get(source: Mapping[str, Any], key: str) -> Any:
    """Return a value under its name in camel case or in snake case, or None."""
    if key in source:
        return source[key]
    return source.get(re.sub(r"[A-Z]", lambda match: f"_{match.group().lower()}", key))


def _first(source: Mapping[str, Any], *keys: str) -> Any:
    for key in keys:
        if (value := _get(source, key)) is not None:
            return value
    raise KeyError(keys[0])
