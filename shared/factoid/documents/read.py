"""Results of layout services into layouts: Azure Document Intelligence of every version, Content Understanding, bare Markdown."""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, cast, get_args

from factoid.documents.azure_tables import azure_tables
from factoid.documents.boxes import Box
from factoid.documents.layout import Element, Layout, Page, Picture, Role, Words, words_of
from factoid.documents.tables import Region
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.sentences import Span

_ROLES = frozenset(get_args(Role))
_SOURCE = re.compile(r"D\((\d+),([-+\d.,eE]+)\)")  # where Content Understanding says that something stands
_PAGE_BREAK = re.compile(r"<!--\s*PageBreak\s*-->")
_LINE_GAP = 0.5  # of a line's height: lines further apart are different paragraphs
_EXPECTED = (
    "expected a result of Azure Document Intelligence (a dict with content and pages, or readResults) or of Azure Content "
    "Understanding (contents with markdown)"
)

Offset = Callable[[int], int]


def read_layout(source: str | PathLike[str] | Mapping[str, Any] | Any) -> Layout:
    """Read the result of a layout service.

    Args:
        source: A path of a JSON file, the parsed JSON, or an object of the service's Python package (with `as_dict` or
            `to_dict`). API v2.1, v3.x and v4 of Azure Document Intelligence, content as text or Markdown, and Azure Content
            Understanding, with or without the envelope of the operation. A file that ends in .md or .txt is bare Markdown, and a
            PDF is read without a service (`read_pdf`).

    Raises:
        UnreadableFileError: The file is missing, no JSON or cut off.
        InvalidInputError: It is JSON of something else, the operation has failed, or a field is of a wrong type.
    """
    if isinstance(source, str | PathLike):
        return _read_file(Path(source))
    if not isinstance(source, Mapping):
        convert = getattr(source, "as_dict", None) or getattr(source, "to_dict", None)
        source = convert() if callable(convert) else source
    if not isinstance(source, Mapping):
        message = f"a {type(source).__name__} is no layout: {_EXPECTED}, its JSON file or an SDK object"
        raise InvalidInputError(message)
    try:
        return _read_result(source)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidInputError):
            raise
        message = f"the layout is damaged, {type(error).__name__}: {error}. {_EXPECTED[0].upper()}{_EXPECTED[1:]}"
        raise InvalidInputError(message) from error


def read_markdown(content: str) -> Layout:
    """Read bare Markdown, as converters and layout services write it. Comments that are page breaks tell its pages."""
    pages = _broken_pages(content) if _PAGE_BREAK.search(content) else ()
    return Layout(content, pages=pages)


def _read_file(path: Path) -> Layout:
    if path.suffix.lower() == ".pdf":
        from factoid.documents.pdf import read_pdf  # it builds on this module

        return read_pdf(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() in (".md", ".markdown", ".txt"):
            return read_markdown(text)
        result = json.loads(text)
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
        raise UnreadableFileError(message) from error
    except (ValueError, RecursionError) as error:
        advice = "Analyse the document again; a file of Markdown needs a name that ends in .md"
        message = f"{path} is no JSON, or was cut off: {error}. {advice}"
        raise UnreadableFileError(message) from error
    if not isinstance(result, Mapping):
        message = f"{path} holds a {type(result).__name__}: {_EXPECTED}"
        raise InvalidInputError(message)
    return read_layout(result)


def _read_result(source: Mapping[str, Any]) -> Layout:
    result = source
    for key in ("analyzeResult", "result"):
        inner = _get(result, key)
        result = inner if isinstance(inner, Mapping) else result
    status = str(source.get("status", "succeeded")).lower()
    if result is source and status != "succeeded":
        message = f"the operation is {status!r}: expected one that succeeded. {source.get('error', '')}".rstrip()
        raise InvalidInputError(message)
    if contents := _get(result, "contents"):
        texts = [part for part in contents if "markdown" in part]
        if len(texts) != 1:
            message = (
                f"the result holds {len(texts)} contents with Markdown: read each by itself, read_layout(contents[0])"
            )
            raise InvalidInputError(message)
        result = texts[0]
    if _get(result, "readResults") is not None:
        return _read_version_2(result)
    content = _get(result, "markdown")
    is_markdown = isinstance(content, str)
    content = content if is_markdown else _get(result, "content")
    pages = _get(result, "pages")
    if not isinstance(content, str) or not (is_markdown or isinstance(pages, list)):
        names = ", ".join(map(repr, sorted(map(str, result))[:8])) or "nothing"
        message = f"a dict with {names} is no layout: {_EXPECTED}"
        raise InvalidInputError(message)
    return _read_content(content, result, is_markdown=is_markdown)


def _read_content(content: str, result: Mapping[str, Any], *, is_markdown: bool) -> Layout:
    sources = [page for page in _get(result, "pages") or [] if isinstance(page, Mapping)]
    offset = _offsets(content, sources, str(_get(result, "stringIndexType") or ""))
    paragraphs = _get(result, "paragraphs") or []
    depths = _depths(_get(result, "sections") or [])
    elements = [
        Element(_spans(paragraph, offset), _role(paragraph), depths.get(position, 0), tuple(_regions(paragraph)))
        for position, paragraph in enumerate(paragraphs)
    ]
    form = _get(result, "contentFormat")
    pages = tuple(_page(page, position, offset) for position, page in enumerate(sources, start=1))
    return Layout(
        content,
        is_markdown=is_markdown or form == "markdown" or (form is None and not elements),
        pages=pages or read_markdown(content).pages,
        words=_words(sources, offset, len(content)),
        elements=tuple(element for element in elements if element.spans),
        tables=tuple(azure_tables({"tables": _get(result, "tables") or []}, offset=offset)),
        pictures=tuple(_picture(figure, offset) for figure in _get(result, "figures") or []),
    )


def _read_version_2(result: Mapping[str, Any]) -> Layout:
    """Read API v2.1, which has lines and no content: it is made of the lines, and paragraphs of lines that stand close."""
    parts: list[str] = []
    pages: list[Page] = []
    boxes: list[tuple[Box, float]] = []
    elements: list[Element] = []
    at = 0
    for source in _get(result, "readResults"):
        number, begin = int(source["page"]), at
        lines: list[tuple[Span, tuple[float, ...]]] = []
        for line in source.get("lines") or []:
            text = line["text"]
            place = at
            for word in line.get("words") or []:
                found = text.find(word["text"], place - at)
                if found >= 0 and (polygon := _polygon(_get(word, "boundingBox"))):
                    place = at + found + len(word["text"])
                    boxes.append((Box(at + found, place, number, polygon), float(word.get("confidence", "nan"))))
            lines.append(((at, at + len(text)), _polygon(_get(line, "boundingBox"))))
            parts.append(text)
            at += len(text) + 1
        pages.append(Page(*_size(source, number), spans=((begin, at),) if lines else ()))
        elements += [Element((span,)) for span in _paragraphs(lines)]
    tables = azure_tables({"pageResults": _get(result, "pageResults") or []})
    return Layout("\n".join(parts), False, tuple(pages), words_of(boxes), tuple(elements), tuple(tables))


def _paragraphs(lines: Sequence[tuple[Span, tuple[float, ...]]]) -> Iterator[Span]:
    """Yield spans of lines of which each stands right below the one before, beginning at about the same place."""
    start = lines[0][0][0] if lines else 0
    for ((_, end), upper), ((begin, _), lower) in pairwise(lines):
        height = upper[7] - upper[1] if upper else 0.0
        close = bool(upper and lower) and -height < lower[1] - upper[7] < _LINE_GAP * height
        if not (close and abs(lower[0] - upper[0]) < height):
            yield start, end
            start = begin
    if lines:
        yield start, lines[-1][0][1]


def _page(source: Mapping[str, Any], position: int, offset: Offset) -> Page:
    return Page(*_size(source, int(_get(source, "pageNumber") or position)), spans=_spans(source, offset))


def _size(source: Mapping[str, Any], number: int) -> tuple[int, float, float, str, float]:
    width, height, angle = (float(_get(source, name) or 0) for name in ("width", "height", "angle"))
    return number, width, height, str(_get(source, "unit") or ""), angle


def _words(pages: Iterable[Mapping[str, Any]], offset: Offset, length: int) -> Words:
    boxes: list[tuple[Box, float]] = []
    for position, page in enumerate(pages, start=1):
        number = int(_get(page, "pageNumber") or position)
        for word in _get(page, "words") or []:
            region = next(_regions(word, number), None)
            for start, end in _spans(word, offset)[:1]:
                if region and len(region.polygon) == 8 and start < end <= length:
                    confidence = word.get("confidence")
                    box = Box(start, end, region.page, region.polygon)
                    boxes.append((box, float("nan" if confidence is None else confidence)))
    return words_of(boxes)


def _picture(source: Mapping[str, Any], offset: Offset) -> Picture:
    caption = _get(source, "caption") or {}
    return Picture(_spans(source, offset), _spans(caption, offset), tuple(_regions(source)))


def _role(source: Mapping[str, Any]) -> Role:
    role = _get(source, "role") or ""
    return cast("Role", role) if role in _ROLES else ""


def _spans(source: Mapping[str, Any], offset: Offset) -> tuple[Span, ...]:
    single = _get(source, "span")
    spans = [single] if single else _get(source, "spans") or []
    return tuple((offset(span["offset"]), offset(span["offset"] + span["length"])) for span in spans)


def _regions(source: Mapping[str, Any], page: int = 0) -> Iterator[Region]:
    if polygon := _polygon(_get(source, "polygon") or []):
        yield Region(page, polygon)
    for region in _get(source, "boundingRegions") or []:
        yield Region(int(_get(region, "pageNumber")), _polygon(_get(region, "polygon") or []))
    for match in _SOURCE.finditer(str(_get(source, "source") or "")):
        yield Region(int(match[1]), tuple(map(float, match[2].split(","))))


def _polygon(points: Iterable[Any] | None) -> tuple[float, ...]:
    """Return coordinates of points: numbers in turn, or records of x and y as in the Python package of v3."""
    numbers: list[float] = []
    for point in points or []:
        numbers += [point["x"], point["y"]] if isinstance(point, Mapping) else [point]
    return tuple(map(float, numbers))


def _depths(sections: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Return, for each paragraph that begins a section of the service's tree, how deep the section lies; the root is 0."""
    depths: dict[int, int] = {}
    waiting = [(0, 0)] if sections else []
    seen: set[int] = set()
    while waiting:
        section, depth = waiting.pop()
        if section in seen or section >= len(sections):
            continue
        seen.add(section)
        elements = [str(element).split("/") for element in _get(sections[section], "elements") or []]
        places = [(kind, int(place)) for _, kind, place in (parts for parts in elements if len(parts) == 3)]
        if depth and places and places[0][0] == "paragraphs":
            depths[places[0][1]] = depth
        waiting += [(place, depth + 1) for kind, place in places if kind == "sections"]
    return depths


def _broken_pages(content: str) -> tuple[Page, ...]:
    ends = [match.end() for match in _PAGE_BREAK.finditer(content)]
    bounds = pairwise([0, *ends, len(content)])
    return tuple(Page(number, spans=(span,)) for number, span in enumerate(bounds, start=1))


def _get(source: Any, name: str) -> Any:
    """Return a field by its name in JSON, or by that in the Python packages: "pageNumber", `page_number`."""
    if not isinstance(source, Mapping):
        message = f"expected a dict with {name!r}, got {source!r:.60}"
        raise TypeError(message)
    if name in source:
        return source[name]
    return source.get(re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name))


# Offsets: services count UTF-16 code units, code points or what a reader takes for one character


def _offsets(content: str, pages: Sequence[Mapping[str, Any]], kind: str) -> Offset:
    """Return how to turn the service's offsets into those of a Python string.

    Where the ways to count differ, the one that fits most words is taken; the service's own statement wins a tie.
    """
    if content.isascii() and "\r\n" not in content:
        return _clipped(range(len(content) + 1))
    tables = {
        "unicodeCodePoint": range(len(content) + 1),
        "utf16CodeUnit": _utf16(content),
        "textElements": _elements(content),
    }
    order = sorted(tables, key=lambda name: name != kind)
    words = [word for page in pages for word in _get(page, "words") or []]

    def fitting(name: str) -> int:
        offset = _clipped(tables[name])
        spans = ((word.get("content"), *_spans(word, offset)) for word in words)
        return sum(content[span[0][0] : span[0][1]] == text for text, *span in spans if span)

    lengths = {len(tables[name]) for name in tables}
    return _clipped(tables[order[0] if len(lengths) == 1 else max(order, key=fitting)])


def _clipped(positions: Sequence[int]) -> Offset:
    last = len(positions) - 1

    def offset(value: int) -> int:
        if not isinstance(value, int) or value < 0:
            message = f"an offset must be a number of characters, got {value!r}"
            raise TypeError(message)
        return positions[min(value, last)]

    return offset


def _utf16(content: str) -> Sequence[int]:
    return _Jumps([position for position, character in enumerate(content) if ord(character) > 0xFFFF], len(content), 1)


def _elements(content: str) -> Sequence[int]:
    """Return positions by text element, as far as base characters with marks, joined emoji and line ends go."""
    joined = [
        position
        for position, character in enumerate(content)
        if position
        and (
            unicodedata.combining(character)
            or character in "\u200d\ufe0e\ufe0f"
            or "\U0001f3fb" <= character <= "\U0001f3ff"
            or content[position - 1] == "\u200d"
            or content[position - 1 : position + 1] == "\r\n"
        )
    ]
    return _Jumps(joined, len(content), -1)


class _Jumps(Sequence[int]):
    """Positions in a text by a count in which some characters count two (`step` 1) or nothing (-1)."""

    def __init__(self, places: list[int], length: int, step: int) -> None:
        self._counts = [place + step * number for number, place in enumerate(places, start=1)]
        self._step, self._length = step, length + step * len(places)

    def __len__(self) -> int:
        return self._length + 1

    def __getitem__(self, index: Any) -> Any:
        return index - self._step * bisect_right(self._counts, index - (1 if self._step < 0 else 0))
