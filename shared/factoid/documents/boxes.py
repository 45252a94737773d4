"""Words on pages: boxes of a text's words, the lines that they form, and a short form for metadata."""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from factoid.documents.tables import Region
from factoid.errors import InvalidInputError
from factoid.units import Unit

LAYOUT = "layout"  # the key of a document's metadata that holds its boxes

_SCALE = 100  # steps of a page's unit: a hundredth of an inch, or of a pixel
_NOWHERE = (0.0,) * 8
_COLUMNS = 11  # start, end, page and eight coordinates


class Box(NamedTuple):
    """A word of a text on a page: its span in the text, the page's number, and x and y of four corners in turn.

    The polygon is () if only the page is known.
    """

    start: int
    end: int
    page: int
    polygon: tuple[float, ...]


def regions(unit: Unit) -> list[Region]:
    """Return where a unit of any store is on the pages, line by line, in reading order.

    Its document's metadata holds the boxes of the words. The list is empty if the document did not come from a layout, or came
    from one without words such as bare Markdown.

    Raises:
        InvalidInputError: The metadata is damaged, or this is not a unit.
    """
    if not isinstance(unit, Unit):
        raise InvalidInputError(f"expected a Unit, got {type(unit).__name__}: use regions_of of its framework")
    return regions_in(unit.metadata, unit.start, unit.end)


def regions_in(metadata: Mapping[str, Any], start: int, end: int) -> list[Region]:
    """Return where a span of a text is on the pages, from the metadata of its document; see `regions`.

    An empty span stands for all of the text: a unit that does not know its span has only its own boxes in its metadata.
    """
    packed = metadata.get(LAYOUT)
    if not packed:
        return []
    boxes = unpack(str(packed))
    return lines(boxes if start == end else _within(boxes, start, end))


def cut_boxes(packed: str, start: int, end: int) -> str:
    """Return the boxes of `text[start:end]` from those of a text, both as short strings, counted from its start."""
    boxes = _within(unpack(packed), start, end)
    return pack([box._replace(start=box.start - start, end=box.end - start) for box in boxes])


def lines(boxes: Iterable[Box]) -> list[Region]:
    """Return words as lines: those that follow each other on one baseline, at any angle, are one region."""
    merged: list[Region] = []
    height = 0.0
    for _, _, page, word in boxes:
        last = merged[-1].polygon if merged and merged[-1].page == page else None
        if last and word and _continues(last, word, height):
            merged[-1] = Region(page, (*last[:2], *word[2:6], *last[6:]))
        elif word or last != ():  # one region is enough for a page without known words
            merged.append(Region(page, word))
        if word:
            height = float(np.hypot(word[6] - word[0], word[7] - word[1]))
    return merged


def pack(boxes: Sequence[Box]) -> str:
    """Return boxes as a short string, rounded to a hundredth of the page's unit; "" for none."""
    if not boxes:
        return ""
    corners = (np.array([box.polygon or _NOWHERE for box in boxes]) * _SCALE).round()
    rows = np.hstack([[box[:3] for box in boxes], corners]).astype(np.int64)
    rows[:, 5:] -= np.tile(rows[:, 3:5], 3)  # corners from the first one: small numbers that repeat
    steps = np.diff(rows, axis=0, prepend=0).T.astype("<i4")
    return b85encode(zlib.compress(steps.tobytes(), 9)).decode("ascii")


@lru_cache(64)
def unpack(packed: str) -> tuple[Box, ...]:
    """Return the boxes of a string that `pack` made.

    Raises:
        InvalidInputError: `pack` did not make the string.
    """
    try:
        steps = np.frombuffer(zlib.decompress(b85decode(packed)), "<i4").reshape(_COLUMNS, -1)
    except (ValueError, zlib.error) as error:
        raise InvalidInputError(
            f"metadata[{LAYOUT!r}] must hold what factoid.documents wrote, got {packed!r:.60}"
        ) from error
    rows = np.cumsum(steps.T.astype(np.int64), axis=0)
    rows[:, 5:] += np.tile(rows[:, 3:5], 3)
    return tuple(
        Box(start, end, page, tuple(corner / _SCALE for corner in corners) if any(corners) else ())
        for start, end, page, *corners in rows.tolist()
    )


def _within(boxes: Iterable[Box], start: int, end: int) -> list[Box]:
    return [box for box in boxes if box.start < end and start < box.end]


def _continues(line: tuple[float, ...], word: tuple[float, ...], height: float) -> bool:
    """Return whether a word continues a line, at most three heights further on and less than half a height off it."""
    along = np.array(line[2:4]) - np.array(line[:2])
    length = float(np.hypot(*along))
    if not length or not height:
        return False
    along /= length
    gap = np.array(word[:2]) - np.array(line[2:4])
    ahead, aside = float(gap @ along), float(gap @ np.array([-along[1], along[0]]))
    turned = np.array(word[2:4]) - np.array(word[:2])
    return -height < ahead < 3 * height and abs(aside) < height / 2 and float(turned @ along) >= 0
