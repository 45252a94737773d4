"""Boxes of words on pages, lines that they form, and a short form for metadata."""

from __future__ import annotations

import json
import zlib
from base64 import b85decode, b85encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from factoid.documents.tables import Region
from factoid.errors import InvalidInputError
from factoid.units import Unit

_MOST_BYTES = 50_000_000  # of the boxes of one text; a word has about 25
LAYOUT = "layout"  # the key of a document's metadata that holds its boxes


class Box(NamedTuple):
    """A word of a text on a page: its span in the text, and its place as in a `Region`."""

    start: int
    end: int
    page: int
    rectangle: tuple[float, ...]


def regions(unit: Unit) -> list[Region]:
    """Return where a unit of any store is on the pages, line by line, in reading order.

    Its document's metadata holds the boxes of the words. The list is empty if the document did not
    come from a layout. A region without a rectangle is a page on which no words are known.

    Raises:
        InvalidInputError: The metadata is damaged.
    """
    return regions_in(unit.metadata, unit.start, unit.end)


def regions_in(metadata: Mapping[str, Any], start: int, end: int) -> list[Region]:
    """Return where a span of a text is on the pages, from the metadata of its document.

    See `regions`. An empty span stands for all of the text: a unit that does not know its span has
    only its own boxes in its metadata.
    """
    packed = metadata.get(LAYOUT)
    if not packed:
        return []
    boxes = unpack(str(packed))
    if start == end:
        return lines(boxes)
    return lines(_within(boxes, start, end))


def cut_boxes(packed: str, start: int, end: int) -> str:
    """Return the boxes of `text[start:end]` from those of a text.

    Both are short strings; the new ones count from its start.
    """
    boxes = _within(unpack(packed), start, end)
    return pack([box._replace(start=box.start - start, end=box.end - start) for box in boxes])


def lines(boxes: Iterable[Box]) -> list[Region]:
    """Return words as lines: the rectangles around words that follow each other at one height."""
    rows: list[Region] = []
    for _, _, page, word in boxes:
        line = None
        if rows and rows[-1].page == page:
            line = rows[-1].rectangle
        if line and word and _continues(line, word):
            top = min(line[1], word[1])
            bottom = max(line[3], word[3])
            rows[-1] = Region(page, (line[0], top, word[2], bottom))
        elif word or line != ():  # one region is enough for a page without known words
            rows.append(Region(page, word))
    return rows


def _continues(line: Sequence[float], word: Sequence[float]) -> bool:
    """Return whether a word continues a line.

    It does at its height, and at most three heights further on.
    """
    height = word[3] - word[1]
    gap = word[0] - line[2]
    return -height < gap < 3 * height and min(line[3], word[3]) - max(line[1], word[1]) > height / 2


def pack(boxes: Sequence[Box]) -> str:
    """Return boxes as a short string, rounded to a hundredth of the page's unit; "" for none."""
    rows = []
    for start, end, page, rectangle in boxes:
        left, top, right, bottom = (round(100 * number) for number in rectangle or (0, 0, 0, 0))
        rows.append((start, end - start, page, left, top, right - left, bottom - top))
    columns = json.dumps([*zip(*rows, strict=True)])  # like numbers stand together
    if rows:
        return b85encode(zlib.compress(columns.encode(), 9)).decode("ascii")
    return ""


@lru_cache(64)
def unpack(packed: str) -> tuple[Box, ...]:
    """Return the boxes of a string that `pack` made.

    Raises:
        InvalidInputError: `pack` did not make the string.
    """
    try:
        boxes = []
        for start, size, page, left, top, width, height in zip(
            *json.loads(_inflated(packed)), strict=True
        ):
            rectangle: tuple[float, ...] = ()
            if any((left, top, width, height)):
                right = (left + width) / 100
                bottom = (top + height) / 100
                rectangle = (left / 100, top / 100, right, bottom)
            boxes.append(Box(start, start + size, page, rectangle))
    except (ValueError, TypeError, OverflowError, RecursionError, zlib.error) as error:
        raise InvalidInputError(
            f"metadata[{LAYOUT!r}] must hold what factoid.documents wrote, got {packed!r:.60}"
        ) from error
    return tuple(boxes)


def _inflated(packed: str) -> bytes:
    inflater = zlib.decompressobj()
    content = inflater.decompress(b85decode(packed), _MOST_BYTES)
    if not inflater.eof:
        raise ValueError(f"it is cut off, or has more than {_MOST_BYTES:,} bytes")
    return content


def _within(boxes: Iterable[Box], start: int, end: int) -> list[Box]:
    inside = []
    for box in boxes:
        if box.start < end and start < box.end:
            inside.append(box)
    return inside
