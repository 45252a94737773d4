"""Words as lines of a page, and boxes in metadata."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid import Document, Granularity
from factoid.documents import Box, Region, regions
from factoid.documents.boxes import LAYOUT, lines, pack, unpack
from factoid.errors import InvalidInputError
from factoid.units import Unit


def box(start: int, left: float, top: float, *, page: int = 1, width: float = 0.5, height: float = 0.2) -> Box:
    right, bottom = left + width, top + height
    return Box(start, start + 4, page, (left, top, right, top, right, bottom, left, bottom))


def turned(shape: Box, degrees: float) -> Box:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    points = zip(shape.polygon[::2], shape.polygon[1::2], strict=True)
    return shape._replace(polygon=tuple(value for x, y in points for value in (x * cos - y * sin, x * sin + y * cos)))


ROW = [box(0, 1.0, 1.0), box(5, 1.6, 1.02), box(10, 2.2, 1.0), box(15, 1.0, 1.3), box(20, 1.6, 1.3)]


def test_words_on_a_baseline_are_one_region() -> None:
    assert [region.polygon for region in lines(ROW)] == [
        (1.0, 1.0, 2.7, 1.0, 2.7, 1.2, 1.0, 1.2),
        (1.0, 1.3, 2.1, 1.3, 2.1, 1.5, 1.0, 1.5),
    ]


@pytest.mark.parametrize("degrees", [90, 180, -90, 37, 3])
def test_lines_of_a_turned_page(degrees: float) -> None:
    merged = lines([turned(shape, degrees) for shape in ROW])
    for region, line in zip(merged, lines(ROW), strict=True):
        assert region.polygon == pytest.approx(turned(Box(0, 4, 1, line.polygon), degrees).polygon)


@pytest.mark.parametrize(
    "second",
    [box(5, 4.0, 1.0), box(5, 1.6, 1.0, page=2), box(5, 0.0, 1.0), turned(box(5, 1.6, 1.0), 90)],
    ids=["another column", "another page", "before", "turned"],
)
def test_words_apart_are_two_regions(second: Box) -> None:
    assert len(lines([ROW[0], second])) == 2


def test_where_only_pages_are_known_a_region_is_a_page() -> None:
    assert lines([Box(0, 4, 1, ()), Box(5, 9, 1, ()), Box(9, 12, 2, ())]) == [Region(1, ()), Region(2, ())]


COORDINATES = st.tuples(*[st.floats(-20, 5000).map(lambda value: round(value, 2)) for _ in range(8)])
BOXES = st.lists(
    st.builds(Box, st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 2000), COORDINATES | st.just(()))
)


@given(BOXES)
def test_packed_boxes_come_back(boxes: list[Box]) -> None:
    packed = pack(boxes)
    back = unpack(packed) if boxes else ()
    assert [shape[:3] for shape in back] == [shape[:3] for shape in boxes]
    for shape, other in zip(back, boxes, strict=True):
        assert shape.polygon == pytest.approx(other.polygon, abs=1e-6) or not any(other.polygon)


def test_regions_of_a_unit_are_those_of_its_words() -> None:
    document = Document("aaaa bbbb cccc dddd eeee", metadata={LAYOUT: pack(ROW)})
    unit = Unit(
        "",
        "bbbb",
        Granularity.SENTENCE,
        document_id=document.id,
        parent_id="p",
        start=5,
        end=9,
        metadata=document.metadata,
    )
    assert regions(unit) == [Region(1, ROW[1].polygon)]
    assert len(regions(replace(unit, start=10, end=17))) == 2
    assert regions(replace(unit, metadata={})) == []


@pytest.mark.parametrize("packed", ["x", "é", "Nopd", 5, ["a"]])
def test_damaged_metadata_is_refused(packed: object) -> None:
    unit = Unit(
        "", "a", Granularity.SENTENCE, document_id="d", parent_id="p", start=0, end=1, metadata={LAYOUT: packed}
    )
    with pytest.raises(InvalidInputError, match="must hold what factoid"):
        regions(unit)
