"""What metadata leaves in the index."""

from __future__ import annotations

import pytest

from factoid.filters import Kind, field_rows


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, [(Kind.NUMBER, 1)]),
        (2.5, [(Kind.NUMBER, 2.5)]),
        (2**63 - 1, [(Kind.NUMBER, 2**63 - 1)]),
        (2**63, [(Kind.OPAQUE, 0)]),
        ("a\0b", [(Kind.STRING, "a\0b")]),
        ("é" * 128, [(Kind.STRING, "é" * 128)]),
        ("\ud800", [(Kind.OPAQUE, 0)]),
        (None, [(Kind.NULL, 0)]),
        ({"a": 1, "b": [2]}, [(Kind.DICT, 2)]),
        ([], [(Kind.LIST, 0)]),
        (
            [1, True, 1.0, "1", None, [2], "1"],
            [(Kind.LIST, 7), (Kind.NUMBER_IN_LIST, 1), (Kind.STRING_IN_LIST, "1")],
        ),
        (["a", 2**70], [(Kind.OPAQUE, 0)]),
        (["a" * 257], [(Kind.OPAQUE, 0)]),
        (list(range(65)), [(Kind.OPAQUE, 0)]),
    ],
)
def test_rows_of_a_value(value, expected):
    assert field_rows({"key": value}) == [("key", kind, found) for kind, found in expected]
    assert all(type(kind) is int for _, kind, _ in field_rows({"key": value}))


def test_long_strings_leave_a_digest():
    texts = ["a" * 257, "a" * 258, "é" * 129]
    rows = [field_rows({"key": text}) for text in texts]
    assert rows == [field_rows({"key": text}) for text in texts]
    assert [row[1] for (row,) in rows] == [Kind.LONG] * 3
    assert len({row[2] for (row,) in rows}) == 3


def test_every_key_has_its_rows():
    assert field_rows({"a": 1, "b": None}) == [("a", Kind.NUMBER, 1), ("b", Kind.NULL, 0)]
    assert field_rows({}) == []
