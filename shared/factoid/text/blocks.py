"""Blocks of the text that a reader sees, with the place of each character in the source."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Literal, NamedTuple

Span = tuple[int, int]
BlockKind = Literal["heading", "paragraph", "item", "row", "code"]


class Visible(NamedTuple):
    """The text that a reader sees of a stretch of a source.

    Attributes:
        text: The characters that a reader sees. A line break is a line feed.
        offsets: The place in the source of each character of the text; it never falls.
        protected: Spans of the text in which no sentence ends, such as inline code and formulas; in
            order, and none overlaps another.
        opening: The start of each run of marks that opens something, by its end: both are places in
            the source. Such are `**` before a bold word and `[` before the text of a link.
        closing: The end of each run of marks that closes something, by its start.
        is_strong: Whether all of the text is bold.
    """

    text: str
    offsets: Sequence[int]
    protected: tuple[Span, ...] = ()
    opening: Mapping[int, int] = {}
    closing: Mapping[int, int] = {}
    is_strong: bool = False


class VisibleText:
    """The visible text of a block while it is read."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.offsets: list[int] = []
        self.protected: list[Span] = []
        self.opening: dict[int, int] = {}
        self.closing: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, text: str, start: int) -> None:
        """Add characters that stand in the source as they are seen, from a place on."""
        self.parts.append(text)
        self.offsets.extend(range(start, start + len(text)))

    def add_at(self, text: str, places: Sequence[int]) -> None:
        """Add characters with the place of each in the source."""
        self.parts.append(text)
        self.offsets.extend(places)

    def put(self, text: str, at: int) -> None:
        """Add characters that are written in another way in the source, all at one place."""
        self.parts.append(text)
        self.offsets.extend([at] * len(text))

    def drop_spaces(self) -> None:
        """Leave out spaces at the present end."""
        while self.parts and self.parts[-1][-1:] in (" ", ""):
            text = self.parts.pop()
            kept = text.rstrip(" ")
            if kept:
                self.parts.append(kept)
            del self.offsets[len(self.offsets) - len(text) + len(kept) :]

    def drop(self, end: str) -> None:
        """Leave out characters at the present end, if it is these."""
        if end and self.parts and self.parts[-1].endswith(end):
            self.parts[-1] = self.parts[-1].removesuffix(end)
            del self.offsets[-len(end) :]

    def protect(self, start: int) -> None:
        """Keep sentences from ending between a place in the text and its present end."""
        self.protected.append((start, len(self.offsets)))

    def visible(self) -> Visible:
        """Return the text without white space at its ends."""
        text = "".join(self.parts)
        start = len(text) - len(text.lstrip())
        end = max(start, len(text.rstrip()))
        protected = protected_within(_united(self.protected), start, end)
        return Visible(
            text[start:end], self.offsets[start:end], protected, self.opening, self.closing
        )


def picked(text: str, places: Sequence[int], shown: Sequence[int]) -> tuple[str, list[int]]:
    """Return those of a text's characters that are shown, and the place of each in the source."""
    characters = "".join(text[at] for at in shown)
    return characters, [places[at] for at in shown]


def protected_within(protected: Sequence[Span], start: int, end: int) -> tuple[Span, ...]:
    """Return what is protected of a part of a text, counted from the part's start."""
    if not protected:
        return ()
    first = bisect_right(protected, start, key=itemgetter(1))
    last = bisect_left(protected, end, key=itemgetter(0))
    inside = []
    for begin, stop in protected[first:last]:
        inside.append((max(begin, start) - start, min(stop, end) - start))
    return tuple(inside)


def _united(spans: Sequence[Span]) -> list[Span]:
    """Return spans in order, with those that overlap as one."""
    united: list[Span] = []
    for start, end in sorted(spans):
        if united and start < united[-1][1]:
            united[-1] = (united[-1][0], max(united[-1][1], end))
        elif start < end:
            united.append((start, end))
    return united


class Lead(NamedTuple):
    """A text above a block that the block goes on from.

    Such are a list's introduction, and the item above a list within it.
    """

    start: int  # its span in the source
    end: int
    text: str  # as a reader sees it


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph, an item of a list, a row of a table, or code.

    Attributes:
        kind: What it is. An item's further paragraphs are paragraphs.
        start, end: Its span in the source: without the marks of lists and quotes before it, with
            the marks inside, with a code block's fences or indentation.
        visible: What a reader sees of it. Of a row, the cells with " | " between them.
        level: Of a heading, from 1; of an item, the number of lists that it is in.
        cells: Of a row, the spans of its cells in the visible text, in order; empty ones, too.
        names: Of a row, the names of its columns as a reader sees them; none for a table without a
            header, and for the header itself.
        is_header: Whether it is the row with the names of a table's columns.
        leads: What it goes on from, outermost first.
        number: Of an item, how many characters at its start are its number, such as "A. ".
    """

    kind: BlockKind
    start: int
    end: int
    visible: Visible
    level: int = 0
    cells: tuple[Span, ...] = ()
    names: tuple[str, ...] = ()
    is_header: bool = False
    leads: tuple[Lead, ...] = field(default=())
    number: int = 0

    def moved(self, by: int) -> Block:
        """Return a block of a part of a text as one of the whole.

        The part begins `by` characters after the start of the whole.
        """
        if not by:
            return self
        offsets = [at + by for at in self.visible.offsets]
        leads = tuple(Lead(lead.start + by, lead.end + by, lead.text) for lead in self.leads)
        visible = self.visible._replace(offsets=offsets)
        return replace(self, start=self.start + by, end=self.end + by, visible=visible, leads=leads)
