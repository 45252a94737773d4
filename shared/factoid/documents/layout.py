"""A document as read by a layout service: content, pages, words, paragraphs, tables and figures."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from factoid.documents.boxes import Box
from factoid.documents.tables import Table
from factoid.sentences import Span

# The names of Azure Document Intelligence; "" is running text.
Role = Literal["", "title", "sectionHeading", "pageHeader", "pageFooter", "pageNumber", "footnote", "formulaBlock"]

_PAGE_BREAK = re.compile(r"<!--\s*PageBreak\s*-->")


@dataclass(frozen=True, slots=True)
class Page:
    """A page, and where its text is in the content."""

    number: int  # from 1
    width: float = 0.0  # in `unit`, like the height; 0 if the service does not state it
    height: float = 0.0
    unit: str = ""  # "inch" or "pixel"
    angle: float = 0.0  # degrees by which the text is turned clockwise, from -180 to 180
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """All words of a layout that have a place on a page, in order of the content; about 80 bytes each."""

    starts: NDArray[np.int32]  # of their spans in the content. Shape: (words,)
    ends: NDArray[np.int32]  # Shape: (words,)
    pages: NDArray[np.int32]  # numbers of their pages. Shape: (words,)
    # x and y of four corners in turn, in the page's unit, clockwise from the text's upper left. Shape: (words, 8)
    polygons: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.starts)

    def within(self, start: int, end: int) -> range:
        """Return the positions of the words that share a character with a span of the content."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        return range(first, max(first, int(np.searchsorted(self.starts, end, side="left"))))

    def box(self, position: int) -> Box:
        """Return a word with its span in the content."""
        polygon = tuple(self.polygons[position].tolist())
        return Box(int(self.starts[position]), int(self.ends[position]), int(self.pages[position]), polygon)


def words_of(boxes: Iterable[Box]) -> Words:
    """Return words as arrays; of overlapping words, the first in the content counts."""
    words: list[Box] = []
    for box in sorted(boxes):
        if not words or box.start >= words[-1].end:
            words.append(box)
    rows = np.array([(*box[:3], *box.polygon) for box in words], np.float64).reshape(-1, 11)
    starts, ends, pages = rows[:, :3].astype(np.int32).T
    return Words(starts, ends, pages, rows[:, 3:].copy())


@dataclass(frozen=True, slots=True)
class Element:
    """A paragraph as the service read it, and where it is in the content, in order."""

    spans: tuple[Span, ...]
    role: Role = ""
    depth: int = 0  # of a heading in the service's tree of sections, from 1; 0 if it gave none


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure as the service read it: its spans in the content, and those of its caption."""

    spans: tuple[Span, ...]
    caption: tuple[Span, ...] = ()


@dataclass(frozen=True, eq=False)
class Layout:
    """A document as a layout service read it. All spans count characters of the content."""

    content: str  # the whole text, in reading order
    is_markdown: bool = True  # the content is Markdown; else its structure is in `elements`
    pages: tuple[Page, ...] = ()
    words: Words = field(default_factory=lambda: words_of([]))
    elements: tuple[Element, ...] = ()  # paragraphs in order, those of cells and figures included
    tables: tuple[Table, ...] = ()  # with the service's own cells
    pictures: tuple[Picture, ...] = ()

    @cached_property
    def _page_spans(self) -> list[tuple[int, int, int]]:
        return sorted((start, end, page.number) for page in self.pages for start, end in page.spans)

    def page_at(self, position: int) -> int | None:
        """Return the number of the page that holds a character of the content; None if no page does."""
        place = bisect_right(self._page_spans, position, key=lambda span: span[0]) - 1
        start, end, page = self._page_spans[place] if place >= 0 else (0, 0, 0)
        return page if start <= position < end else None

    def pages_of(self, spans: Iterable[Span]) -> tuple[int, ...]:
        """Return the numbers of the pages on which spans of the content begin and end, in order."""
        pages = {self.page_at(place) for start, end in spans for place in (start, end - 1)}
        return tuple(sorted(page for page in pages if page is not None))

    def boxes(self, spans: Iterable[Span]) -> list[Box]:
        """Return the words in spans of the content, with their own spans in it."""
        return [self.words.box(position) for start, end in spans for position in self.words.within(start, end)]


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
    spans = pairwise([0, *ends, len(content)]) if ends else ()
    return tuple(Page(number, spans=(span,)) for number, span in enumerate(spans, start=1))
