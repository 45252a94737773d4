"""Integers that Python cannot write, and values nested deep, are one clear error wherever metadata
and JSON are read.
"""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from factoid import Document
from factoid.cli.options import read_object
from factoid.documents import read_layout
from factoid.heading_template import with_heading
from factoid.errors import FactoidError, InvalidInputError, UnreadableFileError, shown
from factoid.evaluate.citations import read_cited
from factoid.files.lines import parse_json
from factoid.files.readers import read_file
from factoid.filters.fields import field_rows
from factoid.filters.parse import parse_filter
from factoid.metadata import plain_metadata
from factoid.store.database.records import to_json
from factoid.units import Granularity, Unit, whole_number

LONG = 10**5000


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


VALUES = {"an integer of 5,001 digits": LONG} | {
    f"{levels} levels": nested(levels) for levels in (150, 400, 900, 5000)
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_metadata(value):
    for read in (
        lambda: Document("a", metadata={"b": value}),
        lambda: Document("a", id="d", metadata={"b": value}),
        lambda: plain_metadata({"b": value}),
        lambda: to_json({"b": value}),
        lambda: parse_filter({"b": value}),
        lambda: parse_filter({"b": {"$in": [value]}}),
    ):
        with pytest.raises(InvalidInputError):
            read()


def test_values_in_the_wrong_place():
    for read in (
        lambda: parse_filter({"$and": LONG}),
        lambda: parse_filter({"b": {"$in": LONG}}),
        lambda: parse_filter({LONG: 1}),
        lambda: whole_number("k", -LONG),
        lambda: plain_metadata({LONG: 1}),
        lambda: read_layout({"pages": LONG, "content": "a"}),
        lambda: with_heading(unit_with(LONG), "{year} {text}"),
    ):
        with pytest.raises(InvalidInputError):
            read()


def unit_with(year: object) -> Unit:
    return Unit("u", "a", Granularity.PASSAGE, "d", "d", 0, 1, metadata={"year": year})


JSON = {"an integer of 5,001 digits": "1" + "0" * 5000}
JSON |= {f"{levels} levels": "[" * levels + "]" * levels for levels in (900, 5000, 100_000)}


@pytest.mark.parametrize("value", JSON.values(), ids=JSON)
def test_json(tmp_path, value):
    line = (
        f'{{"text": "a", "answer": "a", "passages": [], "content": {value}, "metadata": '
        f'{{"b": {value}}}}}'
    )
    files = {name: tmp_path / name for name in ("a.jsonl", "a.json")}
    for file in files.values():
        file.write_text(line)
    with pytest.raises(UnreadableFileError):
        list(read_file(files["a.jsonl"]))
    with pytest.raises((UnreadableFileError, InvalidInputError)):
        read_layout(files["a.json"])
    for read in (
        lambda: read_object("--filter", line),
        lambda: list(read_cited(files["a.jsonl"])),
        lambda: json.dumps(parse_json(line)),
    ):
        with suppress(FactoidError):
            read()


def test_results_of_services_that_are_nested_deep():
    for levels in (100, 300, 500, 900, 3000):
        result = {"content": "", "pages": [], "content_format": nested(levels), "_": nested(levels)}
        with suppress(InvalidInputError):
            read_layout(result)


@pytest.mark.parametrize("value", [LONG, nested(5000), {"a": LONG}], ids=["int", "list", "dict"])
def test_messages_show_such_values_by_their_type(value):
    assert shown(value) == f"a {type(value).__name__} that is too large to show"


def test_messages_show_the_beginning_of_other_values():
    assert shown(["a" * 100], 8) == "['aaaaaa"


def test_long_keys_above_many_others():
    metadata = {"a" * 100_000: {str(number): 1 for number in range(1000)}}
    with pytest.raises(
        InvalidInputError,
        match=r"dotted keys.* have 100,1.* characters, and 10,000,000 are allowed",
    ):
        field_rows(metadata)
    assert len(field_rows({"a" * 100: {str(number): 1 for number in range(1000)}})) == 1001
