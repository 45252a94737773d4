"""The content of a layout as blocks in reading order: headings, running text, tables, figures, footnotes, page furniture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from factoid.documents.layout import Element, Layout
from factoid.documents.table_parsers import COMMENT, FENCE, markdown_tables
from factoid.documents.tables import SELECTION, TICK, Table
from factoid.documents.trace import TracedText, join
from factoid.markdown import read_blocks
from factoid.sentences import Span

Kind = Literal[
    "title",
    "heading",
    "text",
    "code",
    "formula",
    "table",
    "figure",
    "caption",
    "footnote",
    "reference",
    "header",
    "footer",
    "number",
    "comment",
]

_KINDS: dict[str, Kind] = {
    "": "text",
    "title": "title",
    "sectionHeading": "heading",
    "pageHeader": "header",
    "pageFooter": "footer",
    "pageNumber": "number",
    "footnote": "footnote",
    "formulaBlock": "formula",
}
_COMMENTS: dict[str, Kind] = {
    "Footnote": "footnote",
    "PageHeader": "header",
    "PageFooter": "footer",
    "PageNumber": "number",
    "FigureContent": "figure",
}
_FIGURE = re.compile(r"<figure\b[^<>]*>.*?(?:</figure>|(?P<unclosed>\Z))", re.IGNORECASE | re.DOTALL)
_FIGURE_TAG = re.compile(r"</?figure\b[^<>]*>", re.IGNORECASE)
_CAPTION = re.compile(r"<figcaption\b[^<>]*>(.*?)</figcaption\s*>", re.IGNORECASE | re.DOTALL)
_IMAGE = re.compile(r"!\[[^\[\]\n]*+\]\([^()\n]*+\)")
_VALUE = re.compile(r'<!--\s*(\w+)\s*=\s*"(.*)"\s*-->\Z', re.DOTALL)
_MARKED_LINE = re.compile(rf"^[ \t]*+(?:{TICK}[ \t]*+)++(?:\n|\Z)", re.MULTILINE)
_MARKS = re.compile(rf"(?<![ \t])[ \t]*+{TICK}(?:[ \t]*+{TICK})*+[ \t]*+")


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a document.

    Attributes:
        kind: What it is. Running text and items of lists are "text".
        text: Its text; of a figure its caption, of a table nothing.
        level: Of a heading: its level in Markdown or its depth in the service's tree, from 1. Of text: that of the heading that
            it was taken for.
        table: Of a table: the table.
        inside: Of a figure: what is written in the picture.
        body: Of a figure that is text: its paragraphs.
        section: Path of headings, outermost first.
    """

    kind: Kind
    text: TracedText
    level: int = 0
    table: Table | None = None
    inside: str = ""
    body: tuple[TracedText, ...] = ()
    section: tuple[str, ...] = ()


def without_marks(text: TracedText) -> TracedText:
    """Return a text without the marks of boxes that are ticked or empty."""
    text = text.edit((*match.span(), "") for match in _MARKED_LINE.finditer(text.text))
    content = text.text
    edits = []
    for match in _MARKS.finditer(content):
        start, end = match.span()
        inside = content[max(start - 1, 0) : start] not in ("", "\n") and content[end : end + 1] not in ("", "\n")
        edits.append((start, end, " " if inside else ""))
    return text.edit(edits)


def blocks_of(layout: Layout, *, marks: bool) -> tuple[list[Block], int]:
    """Return the blocks of a layout, and the number of selection marks that were taken out of them.

    Args:
        layout: The layout.
        marks: Take out selection marks.
    """
    blocks = list(_markdown_blocks(layout, marks) if layout.is_markdown else _element_blocks(layout))
    count = len(SELECTION.findall(layout.content)) if marks else 0
    if count:
        blocks = [
            block if block.kind == "code" else replace(block, text=without_marks(block.text).strip())
            for block in blocks
        ]
        blocks = [block for block in blocks if block.text.text or block.kind in ("table", "figure")]
    return blocks, count


# Markdown


def _markdown_blocks(layout: Layout, marks: bool) -> Iterator[Block]:
    content = layout.content
    tables = _tables(layout)
    islands: list[tuple[Span, Kind, Table | None]] = [(table.span, "table", table) for table in tables if table.span]
    islands += [(table.caption_span, "caption", None) for table in tables if table.caption_span]
    patterns: dict[Kind, re.Pattern[str]] = {"figure": _FIGURE, "comment": COMMENT, "code": FENCE}
    for kind, pattern in patterns.items():
        matches = pattern.finditer(content)
        islands += [(match.span(), kind, None) for match in matches if match["unclosed"] is None]
    at = 0
    for (start, end), kind, table in sorted(islands, key=lambda island: (island[0][0], -island[0][1])):
        if start >= at:
            yield from _prose(content, at, start, marks)
            at = end
        elif not table:  # inside of another one
            continue
        if kind == "table":
            yield Block("table", TracedText("", ()), table=table)
        elif kind == "figure":
            yield _figure(content, start, end)
        elif kind == "comment":
            yield _comment(content, start, end)
        else:
            yield Block(kind, TracedText.of(content, start, end))
    yield from _prose(content, at, len(content), marks)


def _tables(layout: Layout) -> list[Table]:
    """Return the service's own tables, and those of the Markdown that it has none for; captions are those of the Markdown."""
    read = markdown_tables(layout.content)
    if not layout.tables:
        return read
    tables = [table for table in layout.tables if table.span is None]
    for table in read:
        start, end = table.span or (0, 0)
        of_service = [other for other in layout.tables if other.span and other.span[0] < end and start < other.span[1]]
        for other in of_service[:1]:
            caption = other.caption or table.caption
            table = replace(other, span=(start, end), caption=caption, caption_span=table.caption_span)
        tables.append(table)
    return tables


def _prose(content: str, start: int, end: int, marks: bool) -> Iterator[Block]:
    text = TracedText.of(content, start, end)
    if marks and SELECTION.search(text.text):
        text = _without_marks_but_code(text)
    for block in read_blocks(text.text):
        if block.kind == "heading":
            line = text.text[block.start : block.end]
            begin = block.start + max(line.find(block.heading), 0)
            yield Block("heading", text.cut(begin, begin + len(block.heading)).strip(), block.level)
        elif block.kind == "code":  # with its indentation
            yield Block("code", text.cut(block.start, block.end))
        else:  # with the marks of lists before it on its line
            begin = text.text.rfind("\n", 0, block.start) + 1
            yield Block("text", text.cut(begin, block.end).strip())


def _without_marks_but_code(text: TracedText) -> TracedText:
    parts: list[TracedText] = []
    at = 0
    for block in read_blocks(text.text):
        if block.kind == "code":
            parts += [without_marks(text.cut(at, block.start)), text.cut(block.start, block.end)]
            at = block.end
    return join([*parts, without_marks(text.cut(at))])


def _figure(content: str, start: int, end: int) -> Block:
    source = content[start:end]
    caption = _CAPTION.search(source)
    begin, stop = caption.span(1) if caption else (0, 0)
    rest = _CAPTION.sub("", source, count=1)
    values = [value[2] for match in COMMENT.finditer(rest) if (value := _VALUE.match(match[0]))]
    rest = _FIGURE_TAG.sub("", _IMAGE.sub("", COMMENT.sub("", rest)))
    inside = " ".join(" ".join([*values, rest]).split())
    return Block("figure", TracedText.of(content, start + begin, start + stop).strip(), inside=inside)


def _comment(content: str, start: int, end: int) -> Block:
    value = _VALUE.match(content[start:end])
    if value is None:
        return Block("comment", TracedText.of(content, start, end))
    text = TracedText.of(content, start + value.start(2), start + value.end(2)).strip()
    kind = _COMMENTS.get(value[1], "comment")
    return Block("figure", TracedText("", ()), inside=text.text) if kind == "figure" else Block(kind, text)


# Text with its structure beside it


def _element_blocks(layout: Layout) -> Iterator[Block]:
    content = layout.content
    islands = [(table.span, table) for table in layout.tables if table.span]
    loose = [table for table in layout.tables if table.span is None]
    pieces: list[tuple[int, int, Block | None]] = [
        (*span, Block("table", TracedText("", ()), table=table)) for span, table in islands
    ]
    pieces += [(*table.caption_span, None) for table in layout.tables if table.caption_span]
    for picture in layout.pictures:
        caption = join([TracedText.of(content, *span) for span in picture.caption], " ")
        for number, span in enumerate(picture.spans):
            inside = " ".join(_without(content, span, picture.caption).split())
            pieces.append((*span, Block("figure", caption, inside=inside) if number == 0 else None))
    for element in layout.elements:
        if any(_stands_in(layout, element, table) for table in loose):
            pieces += [(*span, None) for span in element.spans]
            continue
        text = join([TracedText.of(content, *span) for span in element.spans], "\n")
        pieces.append((*element.spans[0], Block(_KINDS[element.role], text, element.depth)))
        pieces += [(*span, None) for span in element.spans[1:]]
    at = 0
    for start, end, block in sorted(pieces, key=lambda piece: (piece[0], -piece[1])):
        if end <= at and not (block and block.table):  # inside of another one
            continue
        yield from _uncovered(content, at, start)
        if start < at and block and not block.table:  # it overlaps another one: what is new of it
            block = Block(block.kind, TracedText.of(content, at, end), block.level, None, block.inside)
        if block:
            yield block
        at = max(at, end)
    yield from _uncovered(content, at, len(content))
    yield from (Block("table", TracedText("", ()), table=table) for table in loose)


def _uncovered(content: str, start: int, end: int) -> Iterator[Block]:
    """Yield what no element of the service holds: nothing is lost."""
    if start < end and content[start:end].strip():
        yield Block("text", TracedText.of(content, start, end).strip())


def _without(content: str, span: Span, others: Iterable[Span]) -> str:
    parts, at = [], span[0]
    for start, end in sorted(others):
        if span[0] <= start < span[1]:
            parts.append(content[at:start])
            at = end
    return " ".join([*parts, content[at : span[1]]])


def _stands_in(layout: Layout, element: Element, table: Table) -> bool:
    """Tell whether the middle of each word of an element lies in a table, by the boxes around both."""
    boxes = layout.boxes(element.spans)
    for region in table.regions:
        xs, ys = region.polygon[::2], region.polygon[1::2]
        if boxes and all(
            box.page == region.page
            and min(xs) <= sum(box.polygon[::2]) / 4 <= max(xs)
            and min(ys) <= sum(box.polygon[1::2]) / 4 <= max(ys)
            for box in boxes
        ):
            return True
    return False
