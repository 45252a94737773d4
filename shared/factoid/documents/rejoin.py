"""Join what columns, pages and floats cut: captions of figures, tables, running text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from factoid.documents.blocks import LayoutBlock
from factoid.documents.tables import Cell, Table, is_number, plain_text
from factoid.documents.trace import join

_FIGURE_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Chart|Scheme|Plate|Diagram|Abbildung|Abb\.)\s+(?:[A-Z]?\d+|[A-Z])"
    r"(?:[.\-]\d+)?[a-z]?\s*[:.|]\s",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’»)\]*]*\Z")
_GOES_ON = re.compile(r"[(\[“\"]?[^\W\d_A-Z]")  # begins in the middle of a sentence
_IS_OPEN = re.compile(r"(?:[,(\[–—]|\w[-\u2010])\Z")
_ITEM = re.compile(r"(?:[-*+•·‣▪●◦]|\d{1,3}[.)]|\[\d+\]|\([a-z\d]{1,3}\))\s")
# in the caption of a table
_CONTINUED = re.compile(r"\bcont(?:inued|inuation|'?d)?\b\.?", re.IGNORECASE)


def goes_on(before: str, after: str) -> bool:
    """Return whether one piece of running text continues another."""
    before = before.rstrip()
    after = after.lstrip()
    if not before or not after or _ITEM.match(after) or _SENTENCE_END.search(before):
        return False
    if _IS_OPEN.search(before):
        return True
    is_lower = after[:1].lower() == after[:1]
    return is_lower and _GOES_ON.match(after) is not None


def gather_figures(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Put captions with their figures, also those that were read as footers.

    One without a picture is a figure of its own.
    """
    result: list[LayoutBlock] = []
    waiting: LayoutBlock | None = None  # a caption above its figure
    for place, block in enumerate(blocks):
        if block.kind in ("text", "furniture") and _FIGURE_CAPTION.match(block.text.text):
            after = None
            if place + 1 < len(blocks):
                after = blocks[place + 1]
            if result and result[-1].kind == "figure" and not result[-1].text.text:
                result[-1] = replace(result[-1], text=block.text)
            elif after and after.kind == "figure" and not after.text.text:
                waiting = block
            else:
                result.append(replace(block, kind="figure"))
        elif block.kind == "figure" and waiting:
            result.append(replace(block, text=waiting.text))
            waiting = None
        else:
            result.append(block)
    return result


def join_tables(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Join the parts of a table that a page break cut.

    The header stands on the page before, or is repeated.
    """
    result: list[LayoutBlock] = []
    for block in blocks:
        before = None
        if result:
            before = result[-1]
        joined = None
        if block.table and before and before.table:
            first = replace(before.table, pages=_pages(before.table, before.page))
            second = replace(block.table, pages=_pages(block.table, block.page))
            if first.pages and second.pages and min(second.pages) == max(first.pages) + 1:
                joined = _joined(first, second)
        if joined:
            result[-1] = replace(result[-1], table=joined)
        else:
            result.append(block)
    return result


def _pages(table: Table, page: int | None) -> tuple[int, ...]:
    if not table.pages and page is not None:
        return (page,)
    return table.pages


def _joined(first: Table, second: Table) -> Table | None:
    """Return two parts of a table as one; None if the second one is a table of its own."""
    above = first.header_rows
    if not above or first.column_count != second.column_count:
        return None
    if second.caption and not _CONTINUED.search(second.caption):
        return None
    below = second.header_rows
    header = first.texts()[:above]
    repeated = second.texts()[:below]
    if below and header == repeated:
        dropped = below
    elif below and not _are_values(first, second):
        return None
    else:
        dropped = 0
    moved: list[Cell] = []
    for cell in second.cells:
        if cell.row >= dropped:
            kind = cell.kind
            if cell.row < below:
                kind = "content"
            moved.append(replace(cell, row=cell.row - dropped + first.row_count, kind=kind))
    return replace(
        first,
        cells=(*first.cells, *moved),
        row_count=first.row_count + second.row_count - dropped,
        footnotes=(*first.footnotes, *second.footnotes),
        pages=tuple(dict.fromkeys((*first.pages, *second.pages))),
        regions=(*first.regions, *second.regions),
    )


def _are_values(first: Table, second: Table) -> bool:
    """Return whether the header of the second table is a row of the first one.

    It has numbers where that one has them.
    """
    header = second.grid()[0]
    for column in range(first.column_count):
        texts = [plain_text(row.cells[column]) for row in first.rows()]
        values = list(filter(None, texts))
        numeric = bool(values) and all(map(is_number, values))
        named = not any(is_number(text[column]) for text in first.texts()[: first.header_rows])
        if numeric and named and is_number(plain_text(header[column])):
            return True
    return False


def rejoin(blocks: Sequence[LayoutBlock]) -> list[LayoutBlock]:
    """Join running text that was cut.

    It continues after figures, tables, footnotes and furniture, never after a heading.
    """
    groups: list[list[LayoutBlock]] = []
    last: list[LayoutBlock] = []  # the pieces of the running text that may continue
    for block in blocks:
        if block.kind == "text" and last and goes_on(last[-1].text.text, block.text.text):
            last.append(block)
            continue
        groups.append([block])
        if block.kind == "text":
            last = groups[-1]
        elif block.kind in ("heading", "title", "code", "formula"):
            last = []
    rejoined = []
    for group in groups:
        if group[1:]:
            rejoined.append(replace(group[0], text=join([block.text for block in group], "\n")))
        else:
            rejoined.append(group[0])
    return rejoined
