"""The content of a layout as blocks in reading order: headings, running text, tables, figures, footnotes, page furniture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from factoid.documents.layout import Element, Layout
from factoid.documents.table_parsers import markdown_tables
from factoid.documents.tables import Table
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
_FIGURE = re.compile(r"<figure\b[^<>]*>", re.IGNORECASE)
_CAPTION = re.compile(r"<figcaption\b[^<>]*>(.*?)</figcaption\s*>", re.IGNORECASE | re.DOTALL)
_IMAGE = re.compile(r"!\[[^\[\]\n]*+\]\([^()\n]*+\)")
_VALUE = re.compile(r'<!--\s*(\w+)\s*=\s*"(.*)"\s*-->\Z', re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_TICK = r"(?::(?:un)?selected:|[☐☑☒])"
_MARKED_LINE = re.compile(rf"^[ \t]*+(?:{_TICK}[ \t]*+)++(?:\n|\Z)", re.MULTILINE)
_MARK = re.compile(rf"(?<![ \t])[ \t]*+{_TICK}(?:[ \t]*+{_TICK})*+[ \t]*+")


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


def without_marks(text: TracedText) -> tuple[TracedText, int]:
    """Return a text without the marks of boxes that are ticked or empty, and how many there were."""
    count = sum(map(text.text.count, (":selected:", ":unselected:", "☐", "☑", "☒")))
    if not count:
        return text, 0
    text = text.edit((*match.span(), "") for match in _MARKED_LINE.finditer(text.text))
    content = text.text
    edits = []
    for match in _MARK.finditer(content):
        start, end = match.span()
        inside = content[max(start - 1, 0) : start] not in ("", "\n") and content[end : end + 1] not in ("", "\n")
        edits.append((start, end, " " if inside else ""))
    return text.edit(edits), count


def blocks_of(layout: Layout, *, marks: bool) -> tuple[list[Block], int]:
    """Return the blocks of a layout, and the number of selection marks that were taken out of them.

    Args:
        layout: The layout.
        marks: Take out selection marks.
    """
    blocks = list(_markdown_blocks(layout, marks) if layout.is_markdown else _element_blocks(layout))
    if not marks:
        return blocks, 0
    pairs = [without_marks(block.text) for block in blocks]
    count = sum(map(layout.content.count, (":selected:", ":unselected:", "☐", "☑", "☒")))
    return [
        Block(block.kind, text.strip(), block.level, block.table, block.inside)
        for block, (text, _) in zip(blocks, pairs, strict=True)
        if text.text.strip() or block.table or block.kind == "figure"
    ], count


# Markdown


def _markdown_blocks(layout: Layout, marks: bool) -> Iterator[Block]:
    content = layout.content
    tables = _tables(layout)
    islands: list[tuple[Span, str, Table | None]] = [(table.span, "table", table) for table in tables if table.span]
    islands += [(table.caption_span, "caption", None) for table in tables if table.caption_span]
    islands += [(span, "figure", None) for span in _figures(content)]
    islands += [(span, "comment", None) for span in _comments(content)]
    islands += [(span, "fence", None) for span in _fences(content)]
    at = 0
    for (start, end), kind, table in sorted(islands, key=lambda island: (island[0][0], -island[0][1])):
        if start < at:  # inside of another one
            if table:
                yield Block("table", TracedText("", ()), table=table)
            continue
        yield from _prose(content, at, start, marks)
        if kind == "table":
            yield Block("table", TracedText("", ()), table=table)
        elif kind == "caption":
            yield Block("caption", TracedText.of(content, start, end))
        elif kind == "figure":
            yield _figure(content, start, end)
        elif kind == "comment":
            yield _comment(content, start, end)
        else:
            yield Block("code", TracedText.of(content, start, end))
        at = end
    yield from _prose(content, at, len(content), marks)


def _tables(layout: Layout) -> list[Table]:
    """Return the service's own tables, and those of the Markdown that it has none for; captions are those of the Markdown."""
    read = markdown_tables(layout.content)
    if not layout.tables:
        return read
    from dataclasses import replace

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
    if marks:
        text, _ = without_marks(text)
    for block in read_blocks(text.text):
        if block.kind == "heading":
            line = text.text[block.start : block.end]
            begin = block.start + max(line.find(block.heading), 0)
            yield Block("heading", text.cut(begin, begin + len(block.heading)).strip(), block.level)
        else:  # with the marks of lists before it on its line
            begin = text.text.rfind("\n", 0, block.start) + 1 if block.kind == "prose" else block.start
            yield Block("text" if block.kind == "prose" else "code", text.cut(begin, block.end).strip())


def _figures(content: str) -> Iterator[Span]:
    """Yield the spans of figures; one that is not closed is text."""
    at = 0
    for match in _FIGURE.finditer(content):
        if match.start() >= at:
            closing = content.find("</figure>", match.end())
            if closing < 0:
                return
            at = closing + len("</figure>")
            yield match.start(), at


def _comments(content: str) -> Iterator[Span]:
    start = content.find("<!--")
    while start >= 0:
        end = content.find("-->", start)
        if end < 0:
            return
        yield start, end + 3
        start = content.find("<!--", end + 3)


def _fences(content: str) -> Iterator[Span]:
    start: tuple[int, str] | None = None
    for match in _FENCE.finditer(content):
        if start is None:
            start = match.start(), match[1]
        elif match[1].startswith(start[1]):
            end = content.find("\n", match.end())
            yield start[0], len(content) if end < 0 else end
            start = None


def _figure(content: str, start: int, end: int) -> Block:
    source = content[start:end]
    caption = _CAPTION.search(source)
    begin, stop = caption.span(1) if caption else (0, 0)
    rest = source[: caption.start()] + source[caption.end() :] if caption else source
    values = [match[2] for span in _comments(rest) if (match := _VALUE.match(rest[slice(*span)]))]
    for span in reversed(list(_comments(rest))):
        rest = rest[: span[0]] + rest[span[1] :]
    rest = re.sub(r"</?figure\b[^<>]*>", "", _IMAGE.sub("", rest), flags=re.IGNORECASE)
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
