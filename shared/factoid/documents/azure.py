"""Read results of Azure Document Intelligence, of every version, and of Azure Content Understanding as layouts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast, get_args

import numpy as np

from factoid.documents.boxes import Box
from factoid.documents.layout import Element, Layout, Page, Picture, Role, Words, broken_pages, words_of
from factoid.documents.tables import Cell, CellKind, Region, Table
from factoid.errors import InvalidInputError
from factoid.sentences import Span

EXPECTED = (
    "expected a result of Azure Document Intelligence (a dict with content and pages, or readResults) or of Azure Content "
    "Understanding (contents with markdown)"
)
_SOURCE = re.compile(r"D\((\d+),([-+\d.,\seE]+)\)")  # how Content Understanding writes a place
_LINE_GAP = 0.5  # of a line's height: lines further apart belong to different paragraphs
_MOST_CELLS = 10_000_000  # positions of one grid: more means damage

Offset = Callable[[int], int]


def read_result(source: Mapping[str, Any]) -> Layout:
    """Return the layout of a parsed result, in camel case or in the snake case of the Python packages; see `read_layout`."""
    try:
        return _read(source)
    except InvalidInputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"the layout is damaged, {type(error).__name__}: {error}. {EXPECTED[0].upper()}{EXPECTED[1:]}"
        ) from error


def _read(source: Mapping[str, Any]) -> Layout:
    result = source
    for key in ("analyzeResult", "result"):
        inner = _get(result, key)
        result = inner if isinstance(inner, Mapping) else result
    status = str(source.get("status", "succeeded")).lower()
    if result is source and status != "succeeded":
        raise InvalidInputError(
            f"the operation is {status!r}: expected one that succeeded. {source.get('error', '')}".rstrip()
        )
    if contents := _get(result, "contents"):
        texts = [part for part in contents if "markdown" in part]
        if len(texts) != 1:
            raise InvalidInputError(
                f"the result holds {len(texts)} contents with Markdown: read each separately, read_layout(contents[0])"
            )
        result = texts[0]
    if _get(result, "readResults") is not None:
        return _read_version_2(result)
    markdown, content = _get(result, "markdown"), _get(result, "content")
    if isinstance(markdown, str):
        return _read_content(markdown, result, is_markdown=True)
    if isinstance(content, str) and isinstance(_get(result, "pages"), list):
        return _read_content(content, result, is_markdown=False)
    names = ", ".join(map(repr, sorted(map(str, result))[:8])) or "nothing"
    raise InvalidInputError(f"a dict with {names} is not a layout: {EXPECTED}")


def _read_content(content: str, result: Mapping[str, Any], *, is_markdown: bool) -> Layout:
    sources = [page for page in _get(result, "pages") or [] if isinstance(page, Mapping)]
    offset = _offsets(content, sources, str(_get(result, "stringIndexType") or ""))
    depths = _depths(_get(result, "sections") or [])
    elements = [
        Element(_spans(paragraph, offset), _role(paragraph), depths.get(position, 0))
        for position, paragraph in enumerate(_get(result, "paragraphs") or [])
    ]
    form = _get(result, "contentFormat")
    pages = tuple(_page(page, number, _spans(page, offset)) for number, page in enumerate(sources, start=1))
    return Layout(
        content,
        is_markdown=is_markdown or form == "markdown" or (form is None and not elements),
        pages=pages or broken_pages(content),
        words=_words(sources, offset, len(content)),
        elements=tuple(element for element in elements if element.spans),
        tables=tuple(_table(table, offset) for table in _get(result, "tables") or []),
        pictures=tuple(
            Picture(_spans(figure, offset), _spans(_get(figure, "caption") or {}, offset))
            for figure in _get(result, "figures") or []
        ),
    )


def _read_version_2(result: Mapping[str, Any]) -> Layout:
    """Read API v2.1, which has lines but no content: the lines make up the content, and close lines a paragraph."""
    texts: list[str] = []
    pages: list[Page] = []
    boxes: list[Box] = []
    elements: list[Element] = []
    length = 0
    for source in _get(result, "readResults"):
        page, start = int(source["page"]), length
        lines: list[tuple[Span, tuple[float, ...]]] = []
        for line in source.get("lines") or []:
            text, end = line["text"], 0
            for word in line.get("words") or []:
                begin = text.find(word["text"], end)
                if begin >= 0 and (polygon := _polygon(_get(word, "boundingBox"))):
                    end = begin + len(word["text"])
                    boxes.append(Box(length + begin, length + end, page, polygon))
            lines.append(((length, length + len(text)), _polygon(_get(line, "boundingBox"))))
            texts.append(text)
            length += len(text) + 1
        pages.append(_page(source, page, ((start, length),) if lines else ()))
        elements += [Element((span,)) for span in _paragraphs(lines)]
    tables: list[Table] = []
    for source in _get(result, "pageResults") or []:
        tables += [_table(table, int, _get(source, "page")) for table in _get(source, "tables") or []]
    return Layout("\n".join(texts), False, tuple(pages), words_of(boxes), tuple(elements), tuple(tables))


def _paragraphs(lines: Sequence[tuple[Span, tuple[float, ...]]]) -> Iterator[Span]:
    """Yield spans of lines of which each is directly below the one before and begins at about the same place."""
    start = lines[0][0][0] if lines else 0
    for ((_, end), upper), ((begin, _), lower) in pairwise(lines):
        height = upper[7] - upper[1] if upper else 0.0
        close = bool(upper and lower) and -height < lower[1] - upper[7] < _LINE_GAP * height
        if not (close and abs(lower[0] - upper[0]) < height):
            yield start, end
            start = begin
    if lines:
        yield start, lines[-1][0][1]


def _page(source: Mapping[str, Any], number: int, spans: tuple[Span, ...]) -> Page:
    width, height, angle = (float(_get(source, name) or 0) for name in ("width", "height", "angle"))
    number = int(_get(source, "pageNumber") or number)
    return Page(number, width, height, str(_get(source, "unit") or ""), angle, spans)


def _words(pages: Iterable[Mapping[str, Any]], offset: Offset, length: int) -> Words:
    boxes: list[Box] = []
    for position, page in enumerate(pages, start=1):
        number = int(_get(page, "pageNumber") or position)
        for word in _get(page, "words") or []:
            region = next(_regions(word, number), None)
            for start, end in _spans(word, offset)[:1]:
                if region and len(region.polygon) == 8 and start < end <= length:
                    boxes.append(Box(start, end, region.page, region.polygon))
    return words_of(boxes)


def _role(source: Mapping[str, Any]) -> Role:
    role = _get(source, "role")
    return cast("Role", role) if role in get_args(Role) else ""


def _depths(sections: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return the depth of the section in the service's tree for each paragraph that begins one; the root is 0."""
    depths: dict[int, int] = {}
    waiting = [(0, 0)] if sections else []
    visited: set[int] = set()
    while waiting:
        section, depth = waiting.pop()
        if section in visited or section >= len(sections):
            continue
        visited.add(section)
        elements = [str(element).split("/") for element in _get(sections[section], "elements") or []]
        places = [(parts[1], int(parts[2])) for parts in elements if len(parts) == 3]
        if depth and places and places[0][0] == "paragraphs":
            depths[places[0][1]] = depth
        waiting += [(place, depth + 1) for kind, place in places if kind == "sections"]
    return depths


# Tables


def _table(source: Mapping[str, Any], offset: Offset, page: int = 0) -> Table:
    """Return a table, cell by cell as the service returns it; `page` is that of a table of API v2.1."""
    cells = [_cell(cell, offset, page) for cell in _get(source, "cells") or []]
    rows = max([_number(source, "rowCount", "rows"), *(cell.row + cell.row_span for cell in cells)])
    columns = max([_number(source, "columnCount", "columns"), *(cell.column + cell.column_span for cell in cells)])
    if rows * columns > _MOST_CELLS:
        raise ValueError(f"a table has {rows} rows and {columns} columns")
    first = [cell.text for cell in cells if cell.row == 0]
    named = len(set(first)) == columns > 1 and all(text and not text.isdecimal() for text in first)
    if page and named and not any(cell.kind == "columnHeader" for cell in cells):  # v2.1 often marks no headers
        cells = [replace(cell, kind="columnHeader") if cell.row == 0 else cell for cell in cells]
    regions = tuple(_regions(source, page))
    caption = _get(source, "caption") or {}
    return Table(
        tuple(cells),
        rows,
        columns,
        _get(caption, "content") or "",
        tuple(_get(note, "content") for note in _get(source, "footnotes") or []),
        pages=tuple(dict.fromkeys(region.page for region in regions)),
        span=_extent(source, offset),
        caption_span=_extent(caption, offset),
        regions=regions,
    )


def _cell(source: Mapping[str, Any], offset: Offset, page: int) -> Cell:
    kind = _get(source, "kind") or ("columnHeader" if _get(source, "isHeader") else "content")
    text = _get(source, "text" if page else "content") or ""
    if not isinstance(text, str):
        raise TypeError(f"a cell's content is {text!r:.40}")
    return Cell(
        _number(source, "rowIndex"),
        _number(source, "columnIndex"),
        text,
        int(_get(source, "rowSpan") or 1),
        int(_get(source, "columnSpan") or 1),
        cast("CellKind", kind) if kind in get_args(CellKind) else "content",
        _extent(source, offset),
        tuple(_regions(source, page)),
    )


# Fields


def _get(source: Any, name: str) -> Any:
    """Return a field by its name in JSON or in the Python packages: "pageNumber", `page_number`."""
    if not isinstance(source, Mapping):
        raise TypeError(f"expected a dict with {name!r}, got {source!r:.60}")
    if name in source:
        return source[name]
    return source.get(re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name))


def _number(source: Mapping[str, Any], *names: str) -> int:
    for name in names:
        if (value := _get(source, name)) is not None:
            return int(value)
    raise KeyError(names[0])


def _spans(source: Mapping[str, Any], offset: Offset) -> tuple[Span, ...]:
    single = _get(source, "span")
    spans = [single] if single else _get(source, "spans") or []
    return tuple((offset(span["offset"]), offset(span["offset"] + span["length"])) for span in spans)


def _extent(source: Mapping[str, Any], offset: Offset) -> Span | None:
    spans = _spans(source, offset)
    return (min(start for start, _ in spans), max(end for _, end in spans)) if spans else None


def _regions(source: Mapping[str, Any], page: int) -> Iterator[Region]:
    if polygon := _polygon(_get(source, "polygon") or _get(source, "boundingBox")):
        yield Region(page, polygon)
    for region in _get(source, "boundingRegions") or []:
        yield Region(_number(region, "pageNumber"), _polygon(_get(region, "polygon")))
    for match in _SOURCE.finditer(str(_get(source, "source") or "")):
        yield Region(int(match[1]), tuple(map(float, match[2].split(","))))


def _polygon(points: Iterable[Any] | None) -> tuple[float, ...]:
    """Return coordinates of points, given as a flat list of numbers or as records of x and y as in the Python package of v3."""
    pairs = ((point["x"], point["y"]) if isinstance(point, Mapping) else (point,) for point in points or [])
    return tuple(float(number) for pair in pairs for number in pair)


# Offsets: services count code points, UTF-16 code units, or what a reader sees as one character


def _offsets(content: str, pages: Sequence[Mapping[str, Any]], kind: str) -> Offset:
    """Return the conversion of the service's offsets to those of a Python string: what fits most words, else what it states."""
    length = len(content)
    ways: dict[str, Any] = {"unicodeCodePoint": range(length + 1)}
    if not content.isascii() or "\r\n" in content:
        units = np.fromiter((1 + (character > "\uffff") for character in content), np.int32, length)
        ways["utf16CodeUnit"] = np.append(np.repeat(np.arange(length), units), length)
        elements = (place for place in range(length) if not _continues_element(content, place))
        ways["textElements"] = np.append(np.fromiter(elements, np.int32), length)
    words = [word for page in pages for word in _get(page, "words") or []]

    def fitting(name: str) -> int:
        offset = _clipped(ways[name])
        spans = ((word.get("content"), *_spans(word, offset)) for word in words)
        return sum(content[span[0][0] : span[0][1]] == text for text, *span in spans if span)

    order = sorted(ways, key=lambda name: name != kind)
    differ = len({len(positions) for positions in ways.values()}) > 1
    return _clipped(ways[max(order, key=fitting) if differ else order[0]])


def _clipped(positions: Sequence[int]) -> Offset:
    last = len(positions) - 1

    def offset(value: int) -> int:
        if not isinstance(value, int) or value < 0:
            raise TypeError(f"an offset must be a number of characters, got {value!r}")
        return int(positions[min(value, last)])

    return offset


def _continues_element(content: str, place: int) -> bool:
    """Return whether a character forms one element with the one before: a mark, joined emoji or a line end."""
    character, before = content[place], content[place - 1] if place else ""
    joins = character in "\u200d\ufe0e\ufe0f" or "\U0001f3fb" <= character <= "\U0001f3ff" or before == "\u200d"
    return bool(before) and (unicodedata.combining(character) > 0 or joins or before + character == "\r\n")
