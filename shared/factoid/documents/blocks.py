"""Split a layout into blocks in reading order: headings, running text, tables, figures, footnotes, page furniture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from factoid.documents.layout import Element, Layout
from factoid.documents.rules import DISPLAY, verbatim
from factoid.documents.table_parsers import COMMENT, FENCE, markdown_tables
from factoid.documents.tables import SELECTION, TICK, Table
from factoid.documents.trace import TracedText, join
from factoid.markdown import read_blocks
from factoid.sentences import Span

Furniture = Literal["header", "footer", "number", "comment"]
Prose = Literal["title", "heading", "text", "code", "formula", "caption", "footnote", "reference"]
Kind = Literal["table", "figure", Prose, Furniture]

# Keyed by the roles of a service's paragraphs, which are also the names of comments in its Markdown.
_KINDS: dict[str, Kind] = {
    "": "text",
    "title": "title",
    "sectionHeading": "heading",
    "pageHeader": "header",
    "pageFooter": "footer",
    "pageNumber": "number",
    "footnote": "footnote",
    "formulaBlock": "formula",
    "figureContent": "figure",
}
_NOTHING = TracedText("", ())
_FIGURE = re.compile(r"<figure\b[^<>]*>.*?(?:</figure>|(?P<unclosed>\Z))", re.IGNORECASE | re.DOTALL)
_FIGURE_TAG = re.compile(r"</?figure\b[^<>]*>", re.IGNORECASE)
_CAPTION = re.compile(r"<figcaption\b[^<>]*>(.*?)</figcaption\s*>", re.IGNORECASE | re.DOTALL)
_IMAGE = re.compile(r"!\[[^\[\]\n]*+\]\([^()\n]*+\)")
_VALUE = re.compile(r'<!--\s*(\w+)\s*=\s*"(.*)"\s*-->\Z', re.DOTALL)
_BULLET = re.compile(r"^[ \t]*+[·•‣▪●◦][ \t]+(?=\S)", re.MULTILINE)  # which Markdown does not know
_MARKED_LINE = re.compile(rf"^[ \t]*+(?:{TICK}[ \t]*+)++(?:\n|\Z)", re.MULTILINE)
_MARKS = re.compile(rf"(?<![ \t])[ \t]*+{TICK}(?:[ \t]*+{TICK})*+[ \t]*+")


@dataclass(frozen=True, slots=True)
class LayoutBlock:
    """A part of a document."""

    kind: Kind  # running text and items of lists are "text"
    text: TracedText = _NOTHING  # the caption of a figure; empty for a table
    level: int = 0  # of a heading, in Markdown or in the service's tree, from 1; of text, that of a false heading
    table: Table | None = None
    inside: str = ""  # for a figure, the text in the picture
    body: tuple[TracedText, ...] = ()  # for a figure that is text, its paragraphs
    section: tuple[str, ...] = ()  # path of headings, outermost first


def without_marks(text: TracedText) -> TracedText:
    """Return a text without the marks of ticked or empty boxes."""
    text = text.edit((*match.span(), "") for match in _MARKED_LINE.finditer(text.text))
    content = text.text
    edits = []
    for match in _MARKS.finditer(content):
        start, end = match.span()
        inside = content[max(start - 1, 0) : start] not in ("", "\n") and content[end : end + 1] not in ("", "\n")
        edits.append((start, end, " " if inside else ""))
    return text.edit(edits)


def blocks_of(layout: Layout, *, marks: bool) -> tuple[list[LayoutBlock], int]:
    """Return the blocks of a layout and, if `marks` should be removed from them, the number of selection marks."""
    blocks = list(_markdown_blocks(layout, marks) if layout.is_markdown else _element_blocks(layout))
    count = len(SELECTION.findall(layout.content)) if marks else 0
    if count:
        texts = [block.text if block.kind == "code" else without_marks(block.text).strip() for block in blocks]
        blocks = [replace(block, text=text) for block, text in zip(blocks, texts, strict=True)]
        blocks = [block for block in blocks if block.text.text or block.kind in ("table", "figure")]
    return blocks, count


# Markdown


def _markdown_blocks(layout: Layout, marks: bool) -> Iterator[LayoutBlock]:
    content = layout.content
    islands: list[tuple[Span, LayoutBlock]] = []
    for table in _tables(layout):
        if table.span:
            islands.append((table.span, LayoutBlock("table", table=table)))
        if table.caption_span:
            islands.append((table.caption_span, LayoutBlock("caption", TracedText.of(content, *table.caption_span))))
    for pattern, read in ((_FIGURE, _figure), (COMMENT, _comment), (FENCE, _code)):
        matches = (match for match in pattern.finditer(content) if match["unclosed"] is None)
        islands += [(match.span(), read(content, *match.span())) for match in matches]
    at = 0
    for (start, end), block in sorted(islands, key=lambda island: (island[0][0], -island[0][1])):
        if start >= at:
            yield from _prose(content, at, start, marks)
            at = end
        elif not block.table:  # inside of another one
            continue
        yield block
    yield from _prose(content, at, len(content), marks)


def _tables(layout: Layout) -> list[Table]:
    """Return the service's tables with captions from the Markdown, or the Markdown's tables if the service has none."""
    tables = [table for table in layout.tables if table.span is None]
    for table in markdown_tables(layout.content):
        start, end = table.span or (0, 0)
        spanned = ((native, native.span) for native in layout.tables if native.span)
        if native := next((native for native, span in spanned if span[0] < end and start < span[1]), None):
            caption = native.caption or table.caption
            table = replace(native, span=(start, end), caption=caption, caption_span=table.caption_span)
        tables.append(table)
    return tables


def _prose(content: str, start: int, end: int, marks: bool) -> Iterator[LayoutBlock]:
    text = TracedText.of(content, start, end)
    if marks and SELECTION.search(text.text):
        text = _without_marks_but_code(text)
    for block in read_blocks(text.text):
        if block.kind == "heading":
            line = text.text[block.start : block.end]
            begin = block.start + max(line.find(block.heading), 0)
            yield LayoutBlock("heading", text.cut(begin, begin + len(block.heading)).strip(), block.level)
        elif block.kind == "code":  # with its indentation
            yield LayoutBlock("code", text.cut(block.start, block.end))
        else:  # with the marks of lists before it on its line
            begin = text.text.rfind("\n", 0, block.start) + 1
            yield from map(_paragraph, _items(text.cut(begin, block.end)))


def _items(text: TracedText) -> list[TracedText]:
    """Return a paragraph as the items of its list, if several lines begin with a bullet."""
    starts = [match.start() for match in _BULLET.finditer(text.text)]
    return [text.cut(*span) for span in pairwise([0, *starts, len(text.text)])] if len(starts) > 1 else [text]


def _paragraph(text: TracedText) -> LayoutBlock:
    text = text.strip()
    is_display = text.text.startswith(DISPLAY) and verbatim(text.text) == [(0, len(text.text))]
    return LayoutBlock("formula" if is_display else "text", text)


def _without_marks_but_code(text: TracedText) -> TracedText:
    parts: list[TracedText] = []
    at = 0
    for block in read_blocks(text.text):
        if block.kind == "code":
            parts += [without_marks(text.cut(at, block.start)), text.cut(block.start, block.end)]
            at = block.end
    return join([*parts, without_marks(text.cut(at))])


def _figure(content: str, start: int, end: int) -> LayoutBlock:
    source = content[start:end]
    caption = _CAPTION.search(source)
    begin, stop = caption.span(1) if caption else (0, 0)
    rest = _CAPTION.sub("", source, count=1)
    values = [value[2] for match in COMMENT.finditer(rest) if (value := _VALUE.match(match[0]))]
    rest = _FIGURE_TAG.sub("", _IMAGE.sub("", COMMENT.sub("", rest)))
    inside = " ".join(" ".join([*values, rest]).split())
    return LayoutBlock("figure", TracedText.of(content, start + begin, start + stop).strip(), inside=inside)


def _code(content: str, start: int, end: int) -> LayoutBlock:
    return LayoutBlock("code", TracedText.of(content, start, end))


def _comment(content: str, start: int, end: int) -> LayoutBlock:
    value = _VALUE.match(content[start:end])
    if value is None:
        return LayoutBlock("comment", TracedText.of(content, start, end))
    text = TracedText.of(content, start + value.start(2), start + value.end(2)).strip()
    kind = _KINDS.get(value[1][0].lower() + value[1][1:], "comment")
    return LayoutBlock("figure", inside=text.text) if kind == "figure" else LayoutBlock(kind, text)


# Text with its structure beside it


def _element_blocks(layout: Layout) -> Iterator[LayoutBlock]:
    content = layout.content
    loose = [table for table in layout.tables if table.span is None]
    pieces: list[tuple[int, int, LayoutBlock | None]] = [
        (*table.span, LayoutBlock("table", table=table)) for table in layout.tables if table.span
    ]
    pieces += [(*table.caption_span, None) for table in layout.tables if table.caption_span]
    for picture in layout.pictures:
        caption = join([TracedText.of(content, *span) for span in picture.caption], " ")
        for number, span in enumerate(picture.spans):
            inside = " ".join(_without(content, span, picture.caption).split())
            pieces.append((*span, LayoutBlock("figure", caption, inside=inside) if number == 0 else None))
    for element in layout.elements:
        if any(_stands_in(layout, element, table) for table in loose):
            pieces += [(*span, None) for span in element.spans]
            continue
        text = join([TracedText.of(content, *span) for span in element.spans], "\n")
        pieces.append((*element.spans[0], LayoutBlock(_KINDS[element.role], text, element.depth)))
        pieces += [(*span, None) for span in element.spans[1:]]
    at = 0
    for start, end, block in sorted(pieces, key=lambda piece: (piece[0], -piece[1])):
        if end <= at and not (block and block.table):  # inside of another one
            continue
        yield from _uncovered(content, at, start)
        if start < at and block and not block.table:  # it overlaps another one: what is new of it
            block = replace(block, text=TracedText.of(content, at, end))
        if block:
            yield block
        at = max(at, end)
    yield from _uncovered(content, at, len(content))
    yield from (LayoutBlock("table", table=table) for table in loose)


def _uncovered(content: str, start: int, end: int) -> Iterator[LayoutBlock]:
    """Yield the text that no element of the service holds, so that nothing is lost."""
    if start < end and content[start:end].strip():
        yield LayoutBlock("text", TracedText.of(content, start, end).strip())


def _without(content: str, span: Span, others: Iterable[Span]) -> str:
    parts, at = [], span[0]
    for start, end in sorted(others):
        if span[0] <= start < span[1]:
            parts.append(content[at:start])
            at = end
    return " ".join([*parts, content[at : span[1]]])


def _stands_in(layout: Layout, element: Element, table: Table) -> bool:
    """Return whether the middle of each word of an element is in a table, by the boxes around both."""
    boxes = layout.boxes(element.spans)
    if not boxes:
        return False
    middles = [(box.page, sum(box.polygon[::2]) / 4, sum(box.polygon[1::2]) / 4) for box in boxes]
    for region in (region for region in table.regions if region.polygon):
        xs, ys = region.polygon[::2], region.polygon[1::2]
        left, right, top, bottom = min(xs), max(xs), min(ys), max(ys)
        if all(page == region.page and left <= x <= right and top <= y <= bottom for page, x, y in middles):
            return True
    return False
