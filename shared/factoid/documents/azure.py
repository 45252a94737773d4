"""Read results of Azure Document Intelligence and Content Understanding."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from factoid.documents.layout import Element, Layout, Page, broken_pages
from factoid.documents.tables import Cell, Region, Table
from factoid.documents.word_boxes import Box
from factoid.errors import InvalidInputError
from factoid.sentences import Span

EXPECTED = (
    "expected a result of Azure Document Intelligence (a dict with content and pages, or "
    "readResults) or of Azure Content Understanding (contents with markdown)"
)
_SOURCE = re.compile(r"D\((\d+),([-+\d.,\seE]+)\)")  # how Content Understanding writes a place
_LINE_GAP = 0.5  # of a line's height: lines further apart belong to different paragraphs
# times that paragraphs, figures and tables may hold the content: more means damage
_MOST_OVERLAPS = 10
_MOST_PLACES = 100  # regions of one cell
# Names of API v3 by those of v2.1.
_VERSION_3 = {
    "boundingBox": "polygon",
    "columns": "columnCount",
    "page": "pageNumber",
    "rows": "rowCount",
    "text": "content",
}

Json = Mapping[str, Any]
Places = Sequence[int]  # in the content, by the service's offsets; the last is the end


def read_result(source: Json) -> Layout:
    """Return the layout of a parsed result; see `read_layout`.

    Its names may be in camel case or in the snake case of the Python packages.
    """
    try:
        return _read(source)
    except InvalidInputError:
        raise
    except (
        LookupError,
        TypeError,
        AttributeError,
        ValueError,
        OverflowError,
        RecursionError,
    ) as error:
        raise InvalidInputError(
            f"the layout is damaged, {type(error).__name__}: {error}. "
            f"{EXPECTED[0].upper()}{EXPECTED[1:]}"
        ) from error


def _read(source: Json) -> Layout:
    result = _result(source)
    content = result.get("markdown", result.get("content"))
    is_layout = "markdown" in result or isinstance(result.get("pages"), list)
    if not isinstance(content, str) or not is_layout:
        names = ", ".join(map(repr, sorted(map(str, result))[:8])) or "nothing"
        raise InvalidInputError(f"a dict with {names} is not a layout: {EXPECTED}")
    sources = result.get("pages") or []
    words: list[dict[str, Any]] = []
    for page in sources:
        words += page.get("words") or []
    places = _places(content, words, str(result.get("stringIndexType")))
    elements = []
    for part in result.get("paragraphs") or []:
        elements.append(Element(_spans(part, places), str(part.get("role") or "")))
    figures = []
    for figure in result.get("figures") or []:
        figures.append(
            Element(_spans(figure, places), "figure", _spans(figure.get("caption") or {}, places))
        )
    tables = [_table(table, places) for table in result.get("tables") or []]
    spans: list[Span] = []
    for element in figures + elements:
        spans += [*element.spans, *element.caption]
    for table in tables:
        for span in (table.span, table.caption_span):
            if span:
                spans.append(span)
    _check_overlaps(content, spans)
    form = result.get("contentFormat")
    pages = []
    for number, page in enumerate(sources, start=1):
        pages.append(_page(page, number, _spans(page, places)))
    return Layout(
        content,
        is_markdown="markdown" in (form, *result) or (form is None and not elements),
        pages=tuple(pages) or broken_pages(content),
        words=_words(zip(pages, sources, strict=True), places),
        elements=tuple(element for element in figures + elements if element.spans),
        tables=tuple(tables),
    )


def _result(source: Json) -> Json:
    """Return the result in a service's answer, in camel case and in the form of v3.

    Raises:
        InvalidInputError: The operation failed, or there are several contents.
    """
    status = str(source.get("status", "succeeded")).lower()
    if status != "succeeded":
        raise InvalidInputError(
            f"the operation is {status!r}: expected one that succeeded. "
            f"{source.get('error', '')}".rstrip()
        )
    result = (
        source.get("analyzeResult")
        or source.get("analyze_result")
        or source.get("result")
        or source
    )
    if contents := result.get("contents"):
        texts = []
        for part in contents:
            if "markdown" in part:
                texts.append(part)
        if len(texts) != 1:
            raise InvalidInputError(
                f"the result holds {len(texts)} contents with Markdown: read each separately, "
                "read_layout(contents[0])"
            )
        result = texts[0]
    if "_" in "".join(result):  # a name
        result = _renamed(result, lambda name: re.sub("_(.)", lambda match: match[1].upper(), name))
    if "readResults" in result:
        result = _as_version_3(result)
    return result


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    """Return a copy of some JSON with other names.

    Points of the Python packages, dicts of x and y, become flat lists.
    """
    if isinstance(value, Mapping):
        result = {}
        for name, part in value.items():
            result[rename(name)] = _renamed(part, rename)
        return result
    if not isinstance(value, list):
        return value
    if value and isinstance(value[0], Mapping) and value[0].keys() == {"x", "y"}:
        numbers = []
        for point in value:
            for axis in ("x", "y"):
                numbers.append(point[axis])
        return numbers
    return [_renamed(part, rename) for part in value]


def _page(source: Json, number: int, spans: tuple[Span, ...]) -> Page:
    width = float(source.get("width") or 0)
    height = float(source.get("height") or 0)
    return Page(
        int(source.get("pageNumber") or number), width, height, str(source.get("unit") or ""), spans
    )


def _words(pages: Iterable[tuple[Page, Json]], places: Places) -> list[Box]:
    """Return the words with a place; of overlapping words, the first in the content counts."""
    boxes: list[Box] = []
    for page, source in pages:
        for word in source.get("words") or []:
            regions = [Region(page.number, _rectangle(word.get("polygon") or ())), *_regions(word)]
            region = next((region for region in regions if region.rectangle), None)
            for span in _spans(word, places)[:1]:
                if region and span[0] < span[1]:
                    boxes.append(Box(*span, *region))
    words: list[Box] = []
    for box in sorted(boxes):
        if not words or box.start >= words[-1].end:
            words.append(box)
    return words


def _table(source: Json, places: Places) -> Table:
    """Return a table, cell by cell as the service returns it."""
    cells = list(map(_cell, source.get("cells") or []))
    rows = int(source["rowCount"])
    columns = int(source["columnCount"])
    for cell in cells:
        rows = max(rows, cell.row + cell.row_span)
        columns = max(columns, cell.column + cell.column_span)
    regions = tuple(_regions(source))
    caption = source.get("caption") or {}
    return Table(
        tuple(cells),
        rows,
        columns,
        caption.get("content") or "",
        tuple(note["content"] for note in source.get("footnotes") or []),
        pages=tuple(dict.fromkeys(region.page for region in regions)),
        span=_extent(source, places),
        caption_span=_extent(caption, places),
        regions=regions,
    )


def _cell(source: Json) -> Cell:
    kind = str(source.get("kind") or "content")
    text = source.get("content") or ""
    if not isinstance(text, str):
        raise TypeError(f"a cell's content is {text!r:.40}")
    row = int(source["rowIndex"])
    column = int(source["columnIndex"])
    row_span = int(source.get("rowSpan") or 1)
    column_span = int(source.get("columnSpan") or 1)
    if min(row, column) < 0 or min(row_span, column_span) < 1:
        raise ValueError(
            f"a cell is at row {row} and column {column}, and spans {row_span} and {column_span}"
        )
    return Cell(
        row,
        column,
        text,
        row_span,
        column_span,
        kind,
        tuple(islice(_regions(source), _MOST_PLACES)),
    )


def _spans(source: Json, places: Places) -> tuple[Span, ...]:
    spans = source.get("spans") or []
    if source.get("span"):
        spans = [source["span"]]
    last = len(places) - 1
    bounds = []
    for span in spans:
        start = span["offset"]
        length = span["length"]
        end = start + length
        if not 0 <= start <= end:
            raise ValueError(f"a span has the offset {start} and the length {length}")
        bounds.append((places[min(start, last)], places[min(end, last)]))
    return tuple(bounds)


def _extent(source: Json, places: Places) -> Span | None:
    spans = _spans(source, places)
    if not spans:
        return None
    starts, ends = zip(*spans, strict=True)
    return (min(starts), max(ends))


def _regions(source: Json) -> Iterator[Region]:
    for region in source.get("boundingRegions") or []:
        yield Region(int(region["pageNumber"]), _rectangle(region.get("polygon") or ()))
    for match in _SOURCE.finditer(str(source.get("source") or "")):
        yield Region(int(match[1]), _rectangle(match[2].split(",")))


def _rectangle(polygon: Sequence[Any]) -> tuple[float, ...]:
    """Return left, top, right and bottom of a polygon.

    It is given as x and y of its corners in turn.
    """
    xs = list(map(float, polygon[::2]))
    ys = list(map(float, polygon[1::2]))
    if ys:
        return (min(xs), min(ys), max(xs), max(ys))
    return ()


def _places(content: str, words: Sequence[Json], stated: str) -> Places:
    """Return the places that fit most words.

    Services count code points, UTF-16 code units, or what a reader sees as one.
    """
    length = len(content)
    ways: dict[str, Places] = {"unicodeCodePoint": range(length + 1)}
    if not content.isascii() or "\r\n" in content:
        units: list[int] = []
        seen: list[int] = []
        for place, character in enumerate(content):
            units.append(place)
            if character > "\uffff":
                units.append(place)
            if not _continues_element(character, content[place - 1 : place]):
                seen.append(place)
        ways |= {"utf16CodeUnit": [*units, length], "textElements": [*seen, length]}

    def fitting(name: str) -> tuple[int, bool]:
        count = 0
        for word in words:
            for span in _spans(word, ways[name])[:1]:
                count += _stands_at(content, *span, word.get("content"))
        return count, name == stated

    return ways[max(ways, key=fitting)]


def _stands_at(content: str, start: int, end: int, text: object) -> bool:
    return isinstance(text, str) and len(text) == end - start and content.startswith(text, start)


def _check_overlaps(content: str, spans: Iterable[Span]) -> None:
    """Refuse spans that together are many times as long as the content.

    Those of no service are.
    """
    total = sum(end - start for start, end in spans)
    if total > _MOST_OVERLAPS * len(content):
        raise ValueError(
            f"paragraphs, figures and tables hold {total:,} characters of a content of "
            f"{len(content):,}"
        )


def _continues_element(character: str, before: str) -> bool:
    """Return whether a character forms one element with the one before.

    Such are marks, joined emoji and line ends.
    """
    is_part = unicodedata.category(character)[0] == "M" or "\U0001f3fb" <= character <= "\U0001f3ff"
    is_joined = "\u200d" in (character, before) or before + character == "\r\n"
    return before != "" and (is_part or is_joined)


def _as_version_3(result: Json) -> Json:
    """Return a result of API v2.1, which has lines but no content, in the form of v3.

    The lines make up the content, those of tables behind the others of their page. Close lines are
    a paragraph. In a table without a marked header it is a full first row of distinct texts.
    """
    copy = _renamed(result, lambda name: _VERSION_3.get(name, name))
    tables, homes = _version_2_tables(copy)
    texts: list[str] = []
    paragraphs: list[dict[str, Any]] = []
    at = 0
    for number, page in enumerate(copy["readResults"]):
        page["span"] = {"offset": at}
        page["words"] = []
        above: Sequence[float] = ()
        lines = []
        for row, line in enumerate(page.get("lines") or []):
            lines.append((f"#/readResults/{number}/lines/{row}", line))
        for name, line in sorted(lines, key=lambda line: homes.get(line[0], -1)):
            begin = at
            height = 0.0
            if above:
                height = above[7] - above[1]
            for word in line["words"]:
                word["span"] = {"offset": at, "length": len(word["content"])}
                texts.append(word["content"])
                at += len(word["content"]) + 1
            page["words"] += line["words"]
            span = {"offset": begin, "length": at - 1 - begin}
            box = line["polygon"]
            if name in homes:
                tables[homes[name]]["spans"].append(span)
            elif (
                height
                and -height < box[1] - above[7] < _LINE_GAP * height
                and abs(box[0] - above[0]) < height
            ):
                paragraphs[-1]["spans"].append(span)
            else:
                paragraphs.append({"spans": [span]})
            above = box
        page["span"]["length"] = at - page["span"]["offset"]
    return {
        "content": " ".join(texts),
        "pages": copy["readResults"],
        "paragraphs": paragraphs,
        "tables": tables,
    }


def _version_2_tables(copy: Json) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return the tables of a renamed result of API v2.1, and the number of each line's table."""
    tables: list[dict[str, Any]] = []
    homes: dict[str, int] = {}  # the tables of lines, by the lines' names
    for page in copy.get("pageResults") or []:
        for table in page.get("tables") or []:
            cells = table["cells"]
            place = {"pageNumber": page["pageNumber"]}
            is_named = _has_named_columns(table)
            for cell in cells:
                is_header = cell.get("isHeader") or (is_named and cell["rowIndex"] == 0)
                cell["boundingRegions"] = [cell | place]
                cell["kind"] = "content"
                if is_header:
                    cell["kind"] = "columnHeader"
                for name in cell.get("elements") or []:
                    line = name.rpartition("/words/")[0]
                    homes[line] = len(tables)
            tables.append(table | {"spans": [], "boundingRegions": [table | place]})
    return tables, homes


def _has_named_columns(table: Json) -> bool:
    """Return whether the first row has a distinct text for each column, where none is marked."""
    cells = table["cells"]
    first = set()
    for cell in cells:
        if cell["rowIndex"] == 0:
            first.add(cell["content"])
    names = set()
    for text in first:
        if text and not text.isdecimal():
            names.add(text)
    if not len(names) == table["columnCount"] > 1:
        return False
    return not any(cell.get("isHeader") for cell in cells)
