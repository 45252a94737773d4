"""A document as read by a layout service: content, pages, words, paragraphs, tables and figures."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from factoid.documents.tables import Table
from factoid.documents.trace import TracedText
from factoid.documents.word_boxes import Box
from factoid.sentences import Span

_PAGE_BREAK = re.compile(r"<!--\s*PageBreak\s*-->")


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and where its text is in the content.

    Attributes:
        number: Number of the page, from 1.
        width: In `unit`, like the height; 0 if the service does not state it.
        unit: "inch" or "pixel".
    """

    number: int
    width: float = 0.0
    height: float = 0.0
    unit: str = ""
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Element:
    """A paragraph or a figure as the service read it, and where it is in the content.

    Attributes:
        role: As Azure Document Intelligence names them, such as "sectionHeading"; "" is running
            text.
        caption: Place of the caption of a "figure".
    """

    spans: tuple[Span, ...]
    role: str = ""
    caption: tuple[Span, ...] = ()


@dataclass(frozen=True, eq=False)
class Layout:
    """A document as a layout service read it. All spans count characters of the content.

    Attributes:
        content: The whole text, in reading order.
        is_markdown: Whether the content is Markdown; else its structure is in `elements`.
        words: The words that have a place on a page, in order of the content; they do not overlap.
        elements: Figures and paragraphs, those of cells and figures included.
        tables: The tables, with the service's own cells.
    """

    content: str
    is_markdown: bool = True
    pages: tuple[Page, ...] = ()
    words: Sequence[Box] = ()
    elements: tuple[Element, ...] = ()
    tables: tuple[Table, ...] = ()

    @cached_property
    def _page_boxes(self) -> list[Box]:
        boxes = []
        for page in self.pages:
            boxes += [Box(start, end, page.number, ()) for start, end in page.spans]
        return sorted(boxes)

    @cached_property
    def _places(self) -> tuple[Sequence[Box], NDArray[np.int32]]:
        boxes = self.words or self._page_boxes
        return boxes, np.array([box[:2] for box in boxes], np.int32).reshape(-1, 2).T

    def page_at(self, position: int) -> int | None:
        """Return the number of the page that holds a character of the content.

        It is None if no page does.
        """
        place = bisect_right(self._page_boxes, position, key=lambda box: box.start) - 1
        box = Box(0, 0, 0, ())
        if place >= 0:
            box = self._page_boxes[place]
        if box.start <= position < box.end:
            return box.page
        return None

    def boxes(self, text: TracedText) -> list[Box]:
        """Return the words of a text that was made from the content, with their spans in the text.

        If no words are known, the boxes are the parts of the text on each page, without rectangles.
        """
        boxes, (starts, ends) = self._places
        places = np.searchsorted(ends, text.origins, side="right")
        placed = (text.origins >= 0) & (places < len(boxes))
        placed[placed] = starts[places[placed]] <= text.origins[placed]
        at = np.flatnonzero(placed)
        firsts = np.flatnonzero(np.diff(places[at], prepend=-1))
        lasts = np.flatnonzero(np.diff(places[at], append=-1))
        boxes_of_text = []
        for first, last in zip(firsts, lasts, strict=True):
            start = int(at[first])
            end = int(at[last]) + 1
            box = boxes[places[start]]
            boxes_of_text.append(box._replace(start=start, end=end))
        return boxes_of_text


Item = TypeVar("Item")


def grouped(items: Iterable[Item], apart: Callable[[Item, Item], bool]) -> Iterator[list[Item]]:
    """Yield items in groups; a new one begins where two neighbours are apart."""
    group: list[Item] = []
    for item in items:
        if group and apart(group[-1], item):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def broken_pages(content: str) -> tuple[Page, ...]:
    """Return the pages into which comments break Markdown content; () without such a comment."""
    ends = [match.end() for match in _PAGE_BREAK.finditer(content)]
    if not ends:
        return ()
    pages = []
    for number, span in enumerate(pairwise([0, *ends, len(content)]), start=1):
        pages.append(Page(number, spans=(span,)))
    return tuple(pages)
