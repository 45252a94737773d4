"""What metadata leaves in the index."""

from __future__ import annotations

import pytest

from factoid.filters import FieldKind, field_rows


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, [(FieldKind.NUMBER, 1)]),
        (2.5, [(FieldKind.NUMBER, 2.5)]),
        (2**63 - 1, [(FieldKind.NUMBER, 2**63 - 1)]),
        (2**63, [(FieldKind.OPAQUE, 0)]),
        ("a\0b", [(FieldKind.STRING, "a\0b")]),
        ("é" * 128, [(FieldKind.STRING, "é" * 128)]),
        ("\ud800", [(FieldKind.OPAQUE, 0)]),
        (None, [(FieldKind.NULL, 0)]),
        ([], [(FieldKind.LIST, 0)]),
        (
            [1, True, 1.0, "1", None, [2], "1"],
            [(FieldKind.LIST, 7), (FieldKind.NUMBER_IN_LIST, 1), (FieldKind.STRING_IN_LIST, "1")],
        ),
        (["a", 2**70], [(FieldKind.OPAQUE, 0)]),
        ("a" * 257, [(FieldKind.OPAQUE, 0)]),
        (["a" * 257], [(FieldKind.OPAQUE, 0)]),
        (list(range(65)), [(FieldKind.OPAQUE, 0)]),
    ],
)
def test_rows_of_a_value(value, expected):
    assert field_rows({"key": value}) == [("key", kind, found) for kind, found in expected]
    assert all(type(kind) is int for _, kind, _ in field_rows({"key": value}))


def test_every_key_has_its_rows():
    assert field_rows({"a": 1, "b": None}) == [("a", FieldKind.NUMBER, 1), ("b", FieldKind.NULL, 0)]
    assert field_rows({}) == []


def test_what_a_dict_holds_has_rows_under_dotted_keys():
    nested = {"a": {"b": {"c": 1}, "d": "x"}}
    assert set(field_rows(nested)) == {
        ("a", FieldKind.DICT, 2),
        ("a.b", FieldKind.DICT, 1),
        ("a.b.c", FieldKind.NUMBER, 1),
        ("a.d", FieldKind.STRING, "x"),
    }
    assert set(field_rows({"a.b": 2, "a": {"b": 1}})) == {("a", FieldKind.DICT, 1), ("a.b", FieldKind.NUMBER, 2)}
