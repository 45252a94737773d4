"""Words as lines of a page, and boxes in metadata."""

from __future__ import annotations

import zlib
from base64 import b85encode
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document, Granularity
from factoid.documents import Box, Region, regions
from factoid.documents.word_boxes import LAYOUT, lines, pack, unpack
from factoid.errors import InvalidInputError
from factoid.units import Unit


def box(start: int, left: float, top: float, *, page: int = 1) -> Box:
    return Box(start, start + 4, page, (left, top, left + 0.5, top + 0.2))


def test_a_short_string_does_not_fill_the_memory() -> None:
    bomb = b85encode(zlib.compress(b"[[" + b"0," * 30_000_000 + b"0]]", 9)).decode()
    assert len(bomb) < 200_000
    with pytest.raises(InvalidInputError, match="must hold what factoid"):
        unpack(bomb)


ROW = [box(0, 1.0, 1.0), box(5, 1.6, 1.02), box(10, 2.2, 1.0), box(15, 1.0, 1.3), box(20, 1.6, 1.3)]


def test_words_at_one_height_are_one_region() -> None:
    assert lines(ROW) == [Region(1, (1.0, 1.0, 2.7, 1.22)), Region(1, (1.0, 1.3, 2.1, 1.5))]


@pytest.mark.parametrize(
    "second",
    [box(5, 4.0, 1.0), box(5, 1.6, 1.0, page=2), box(5, 0.0, 1.0), box(5, 1.6, 1.11)],
    ids=["another column", "another page", "before", "lower"],
)
def test_words_apart_are_two_regions(second: Box) -> None:
    assert len(lines([ROW[0], second])) == 2


def test_where_only_pages_are_known_a_region_is_a_page() -> None:
    assert lines([Box(0, 4, 1, ()), Box(5, 9, 1, ()), Box(9, 12, 2, ())]) == [
        Region(1, ()),
        Region(2, ()),
    ]


SIDES = st.tuples(*[st.floats(-20, 5000).map(lambda value: round(value, 2)) for _ in range(4)])
BOXES = st.lists(
    st.builds(
        Box, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 2000), SIDES | st.just(())
    )
)


@given(BOXES)
def test_packed_boxes_come_back(boxes: list[Box]) -> None:
    back = unpack(pack(boxes)) if boxes else ()
    assert [shape[:3] for shape in back] == [shape[:3] for shape in boxes]
    for shape, other in zip(back, boxes, strict=True):
        assert shape.rectangle == pytest.approx(other.rectangle, abs=1e-6) or not any(
            other.rectangle
        )


def test_regions_of_a_unit_are_those_of_its_words() -> None:
    document = Document("aaaa bbbb cccc dddd eeee", metadata={LAYOUT: pack(ROW)})
    unit = Unit(
        "", "bbbb", Granularity.SENTENCE, document.id, "p", 5, 9, metadata=document.metadata
    )
    assert regions(unit) == [Region(1, ROW[1].rectangle)]
    assert len(regions(replace(unit, start=10, end=17))) == 2
    assert regions(replace(unit, metadata={})) == []


@pytest.mark.parametrize("packed", ["x", "é", "Nopd", 5, ["a"]])
def test_damaged_metadata_is_refused(packed: object) -> None:
    unit = Unit("", "a", Granularity.SENTENCE, "d", "p", 0, 1, metadata={LAYOUT: packed})
    with pytest.raises(InvalidInputError, match="must hold what factoid"):
        regions(unit)
