"""Split a layout into blocks in reading order.

They are headings, running text, tables, figures, footnotes and page furniture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from factoid.documents.layout import Layout
from factoid.documents.rules import DISPLAY, verbatim
from factoid.documents.table_parsers import COMMENT, FENCE, markdown_tables, with_captions
from factoid.documents.tables import Table
from factoid.documents.trace import TracedText, inserted, join
from factoid.text.markdown import markdown_blocks
from factoid.text.paragraphs import span_of

LayoutKind = Literal[
    "title", "heading", "text", "code", "formula", "footnote", "table", "figure", "furniture"
]

# Keyed by the roles of a service's paragraphs, which are also the names of comments in its
# Markdown.
_KINDS: dict[str, LayoutKind] = {
    "title": "title",
    "sectionHeading": "heading",
    "footnote": "footnote",
    "formulaBlock": "formula",
    "figureContent": "figure",
    **dict.fromkeys(("pageHeader", "pageFooter", "pageNumber"), "furniture"),
}
_NOTHING = inserted("")
_FIGURE = re.compile(
    r"<figure\b[^<>]*>.*?(?:</figure>|(?P<unclosed>\Z))", re.IGNORECASE | re.DOTALL
)
_FIGURE_TAG = re.compile(r"</?figure\b[^<>]*>", re.IGNORECASE)
_CAPTION = re.compile(
    r"<figcaption\b[^<>]*>([^<]*+(?:<(?!/?figcaption\b)[^<]*+)*+)</figcaption\s*>", re.IGNORECASE
)
_IMAGE = re.compile(r"!\[[^\[\]\n]*+\]\([^()\n]*+\)")
_VALUE = re.compile(r'<!--\s*(\w+)\s*=\s*"(.*)"\s*-->\Z', re.DOTALL)


@dataclass(frozen=True, slots=True)
class LayoutBlock:
    """A part of a document."""

    # items of lists are "text"; page headers, footers, numbers and comments are "furniture"
    kind: LayoutKind
    text: TracedText = _NOTHING  # of a figure and a table, the caption
    level: int = 0  # of a heading, from 1
    table: Table | None = None
    inside: str = ""  # for a figure, the text in the picture
    page: int | None = None  # number of the page on which it begins


# start and end in the content, and the block there, if it is one
Piece = tuple[int, int, LayoutBlock | None]


def blocks_of(layout: Layout) -> list[LayoutBlock]:
    """Return the blocks of a layout.

    Text that no element of the service holds is a block; tables without a place come last.
    """
    blocks = []
    for block in _blocks(layout):
        spans = block.text.sources()
        if block.table and block.table.span:
            spans = [block.table.span]
        page = None
        if spans:
            page = layout.page_at(spans[0][0])
        blocks.append(replace(block, page=page))
    return blocks


def _blocks(layout: Layout) -> Iterator[LayoutBlock]:
    content = layout.content
    tables = [table for table in layout.tables if table.span]
    if layout.is_markdown:
        read = _prose
        others = _markdown_pieces(content)
        if layout.tables:
            tables = with_captions(content, tables)
        else:
            tables = markdown_tables(content)
    else:
        read = _uncovered
        others = _element_pieces(layout)
    pieces: list[Piece] = []
    for table in tables:
        pieces += _table_pieces(content, table)
    pieces += others
    at = 0
    for start, end, block in sorted(pieces, key=lambda piece: (piece[0], -piece[1])):
        if end <= at and not (block and block.table):  # inside of another one
            continue
        yield from read(TracedText.of(content, at, start))
        if start < at and block and not block.table:  # it overlaps another one: what is new of it
            block = replace(block, text=TracedText.of(content, at, end))
        if block:
            yield block
        at = max(at, end)
    yield from read(TracedText.of(content, at))
    for table in layout.tables:
        if not table.span:
            yield LayoutBlock("table", table=table)


def _table_pieces(content: str, table: Table) -> Iterator[Piece]:
    if table.caption_span:
        caption = TracedText.of(content, *table.caption_span)
    else:
        caption = inserted(table.caption)
    if table.caption_span:
        yield *table.caption_span, None
    if table.span:
        yield *table.span, LayoutBlock("table", caption, table=table)


# Markdown


def _markdown_pieces(content: str) -> Iterator[Piece]:
    for pattern, read in ((_FIGURE, _figure), (COMMENT, _comment), (FENCE, _code)):
        for match in pattern.finditer(content):
            if match["unclosed"] is None:
                start, end = match.span()
                yield start, end, read(content, start, end)


def _prose(text: TracedText) -> Iterator[LayoutBlock]:
    behind = 0  # the last block, which may be on the same line
    for block in markdown_blocks(text.text, lines=False):
        if block.kind == "heading":
            yield LayoutBlock("heading", text.cut(*span_of(block.visible)).strip(), block.level)
        elif block.kind == "code":  # with its indentation
            yield LayoutBlock("code", text.cut(block.start, block.end))
        else:  # with the marks of lists before it on its line
            line = text.text.rfind("\n", behind, block.start) + 1
            yield _paragraph(text.cut(max(behind, line), block.end).strip())
        behind = block.end


def _paragraph(text: TracedText) -> LayoutBlock:
    is_display = text.text.startswith(DISPLAY) and verbatim(text.text) == [(0, len(text.text))]
    if is_display:
        return LayoutBlock("formula", text)
    return LayoutBlock("text", text)


def _figure(content: str, start: int, end: int) -> LayoutBlock:
    source = content[start:end]
    caption = _CAPTION.search(source)
    begin = stop = 0
    if caption:
        begin, stop = caption.span(1)
    rest = _CAPTION.sub("", source, count=1)
    values = []
    for match in COMMENT.finditer(rest):
        if value := _VALUE.match(match[0]):
            values.append(value[2])
    rest = _FIGURE_TAG.sub("", _IMAGE.sub("", COMMENT.sub("", rest)))
    inside = " ".join(" ".join([*values, rest]).split())
    return LayoutBlock(
        "figure", TracedText.of(content, start + begin, start + stop).strip(), inside=inside
    )


def _code(content: str, start: int, end: int) -> LayoutBlock:
    return LayoutBlock("code", TracedText.of(content, start, end))


def _comment(content: str, start: int, end: int) -> LayoutBlock:
    value = _VALUE.match(content[start:end])
    if value is None:
        return LayoutBlock("furniture", TracedText.of(content, start, end))
    text = TracedText.of(content, start + value.start(2), start + value.end(2)).strip()
    kind = _KINDS.get(value[1][0].lower() + value[1][1:], "furniture")
    if kind == "figure":
        return LayoutBlock("figure", inside=text.text)
    return LayoutBlock(kind, text)


# Text with its structure beside it


def _element_pieces(layout: Layout) -> Iterator[Piece]:
    content = layout.content
    for element in layout.elements:
        text = join([TracedText.of(content, *span) for span in element.spans], "\n")
        block = LayoutBlock(_KINDS.get(element.role, "text"), text)
        if element.role == "figure":
            caption = join([TracedText.of(content, *span) for span in element.caption], " ")
            inside = " ".join(text.text.replace(caption.text, " ").split())
            block = LayoutBlock("figure", caption, inside=inside)
        yield *element.spans[0], block
        for span in element.spans[1:]:
            yield *span, None


def _uncovered(text: TracedText) -> Iterator[LayoutBlock]:
    if text.text.strip():
        yield LayoutBlock("text", text.strip())
