"""List items with the lead-in above them, and rows of tables with the names of their columns: alone, they say little or lie."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from factoid.markdown import visible
from factoid.units import Unit

_ITEM = re.compile(r"([ \t>]*)(?:[-+*•‣–]|(?:\d{1,3}|[a-z])[.)])[ \t]+")
_PARAGRAPH_START = re.compile(r"[ \t\r>]*\n[ \t>]*|[ \t>]*")  # from the line before, which is blank
_LINE = re.compile(r"[^\n]+")
_CELL_END = re.compile(r"(?<!\\)\|")
_LONGEST_LEAD = 30  # words; more would outweigh the item


@dataclass
class Items:
    """What list items and rows need beside their own text, by the index of a sentence of the passage."""

    leads: dict[int, Sequence[int]] = field(
        default_factory=dict
    )  # to the sentences that introduce its lists, or name its columns
    rows: dict[int, tuple[int, int, str]] = field(default_factory=dict)  # span of the row in the document, and its text


def read_items(passage: Unit, sentences: Sequence[Unit]) -> Items:
    """Find the list items and the rows of pipe tables among the sentences of a passage."""
    items = Items()
    starts = [sentence.start - passage.start for sentence in sentences]
    leads: list[tuple[int, int]] = []  # indentation and sentence of the lead-ins above, outermost first
    indentation = -1
    for index, (start, sentence) in enumerate(zip(starts, sentences, strict=True)):
        line = passage.text.rfind("\n", 0, start) + 1
        marker = _ITEM.fullmatch(passage.text, line, start)
        if marker:
            indentation = len(marker[1])
        elif _PARAGRAPH_START.fullmatch(passage.text, passage.text.rfind("\n", 0, max(0, line - 1)) + 1, start):
            indentation = start - line - 1  # other sentences go on where the last one was
        while leads and leads[-1][0] >= indentation:
            leads.pop()
        if marker and leads:
            items.leads[index] = [lead for _, lead in leads]
        if sentence.text.rstrip("*_").endswith((":", "：")) and len(sentence.text.split()) <= _LONGEST_LEAD:
            leads.append((indentation, index))
    header = range(0)
    for start, end, text in _rows(passage.text):
        inside = range(bisect_left(starts, start), bisect_left(starts, end))
        if not text:
            header = inside
        elif inside:
            items.leads |= dict.fromkeys(inside, header)
            items.rows |= dict.fromkeys(inside, (sentences[inside[0]].start, sentences[inside[-1]].end, text))
    return items


def _rows(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the span of each row of the pipe tables in a text, and its cells with the names of their columns; "" for names."""
    lines = [match.span() for match in _LINE.finditer(text)]
    names: list[str] = []
    last = -1  # end of the line before
    for (start, end), (below, below_end) in pairwise([*lines, (len(text), len(text))]):
        line = text[start:end]
        if start > last + 1 or "|" not in line:
            names = []
        if "|" in line and not _is_rule(line):
            if below == end + 1 and _is_rule(text[below:below_end]):
                names = _cells(line)
                yield start, end, ""
            elif names and len(cells := _cells(line)) <= len(names):
                named = zip(names, cells, strict=False)
                yield start, end, "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)
        last = end


def _is_rule(line: str) -> bool:
    """Return whether a line divides the names of a table's columns from its rows, as in "|---|:-:|"."""
    return "-" in line and not line.strip("|-: \t\r>")


def _cells(line: str) -> list[str]:
    cells = [visible(cell).text.strip() for cell in _CELL_END.split(line.strip(" \t\r>"))]
    return cells[not cells[0] : len(cells) - (not cells[-1])]
