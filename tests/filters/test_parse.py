"""Filters as dicts: what they mean, and what is wrong with a bad one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.filters import Comparison, Operator, matches, parse_filter
from factoid.metadata import plain_metadata
from tests.filters.stored import passing

ROWS = [
    {},
    {"x": None},
    {"x": True},
    {"x": 1},
    {"x": 1.0},
    {"x": "1"},
    {"x": [1]},
    {"x": "[1]"},
    {"x": {"x": 1}},
]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"x": None}, [0, 1]),  # as in LangChain's FAISS, a missing key is None
        ({"x": {"$ne": None}}, [2, 3, 4, 5, 6, 7, 8]),
        ({"x": {"$neq": 1}}, [0, 1, 5, 6, 7, 8]),
        ({"x": {"$exists": True}}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"x": {"$exists": False}}, [0]),
        ({"x": 1}, [2, 3, 4]),  # as in Python: True == 1 == 1.0
        ({"x": "1"}, [5]),
        ({"x": [1]}, [2, 3, 4, 6]),  # one of them, or this list
        ({"x": {"$eq": [1]}}, [6]),
        ({"x": []}, []),
        ({"x": "[1]"}, [7]),
        ({"x": {"x": 1}}, [8]),
        ({"x": {}}, []),
        ({"x": {"$in": []}}, []),
        ({"x": {"$nin": []}}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"x": {"$in": [None, "1", [1]]}}, [0, 1, 5, 6]),
        ({"x": {"$nin": [None, 1]}}, [5, 6, 7, 8]),
        ({"x": {"$in": {1}}}, [2, 3, 4]),
        ({"x": {"$gte": 1}}, [2, 3, 4]),
        ({"x": {"$gte": "0"}}, [5, 7]),
        ({"x": {"$gt": float("nan")}}, []),
        ({"x": {"$ne": float("nan")}}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"$not": {"x": {"$gt": 0}}}, [0, 1, 5, 6, 7, 8]),
        ({"x": {"$not": {"$gt": 0}}}, [0, 1, 5, 6, 7, 8]),
        ({"x": {"$not": {"$gt": 0}, "$exists": True}}, [1, 5, 6, 7, 8]),
        ({"$or": [{"x": "1"}, {"x": {"$exists": False}}]}, [0, 5]),
        ({"$and": [{"x": {"$gt": 0}}, {"$not": {"x": 1.0}}]}, []),
        ({"x": {"$gt": 0, "$lt": 2}}, [2, 3, 4]),
        ({"x": {"$gt": 0, "$lt": "2"}}, []),
        ({"x": {"$gt": 10**400}}, []),
        ({"x": {"$lt": 10**400}}, [2, 3, 4]),
        ({"x": {"$contains": 1}}, [6]),
        ({"x": {"$all": [1]}}, [6]),
        ({"x": {"$any": ("1", "z")}}, [5, 7]),
        ({"$and": []}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"$or": []}, []),
    ],
)
def test_traps(condition, expected):
    tree = parse_filter(condition)
    assert [i for i, row in enumerate(ROWS) if matches(tree, row)] == expected
    assert passing(ROWS, tree) == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (["x"], "a dict of conditions or a callable, got list"),
        ({"x": {"$near": 3}}, r"unknown operator '\$near': expected \$eq \$ne"),
        ({"x": {"$gt": 1, "y": 2}}, "unknown operator 'y'"),
        ({"$nor": [{}]}, r"unknown operator '\$nor' at the top"),
        ({1: 2}, "unknown operator 1 at the top"),
        ({"$and": {}}, r"\$and takes a list of filters, got {}"),
        ({"$or": {"x": 1}}, r"\$or takes a list"),
        ({"$or": ["x"]}, "got str"),
        ({"$not": [{}]}, "got list"),
        ({"x": {"$in": "abc"}}, r"\$in takes a list, got 'abc'"),
        ({"x": b"bytes"}, r"metadata\['x'\] cannot be stored: JSON has no counterpart for a bytes"),
        ({"x": {"$in": [object()]}}, "no counterpart for a object"),
    ],
)
def test_bad_filters_say_what_is_wrong(condition, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_filter(condition)


@pytest.mark.parametrize(
    "value", [date(2026, 5, 1), datetime(2026, 5, 1, 9, tzinfo=UTC), UUID(int=7), np.int64(7)]
)
def test_values_are_compared_as_metadata_stores_them(value):
    stored = plain_metadata({"x": value, "tags": [value]})
    rows = [stored, {"x": None}]
    for condition in (
        {"x": value},
        {"x": [value]},
        {"x": {"$gte": value}},
        {"x": {"$in": {value}}},
        {"tags": {"$all": [value]}},
    ):
        assert passing(rows, parse_filter(condition)) == [0]
    assert passing(rows, Comparison("tags", Operator.CONTAINS, value)) == [0]
    assert passing(rows, parse_filter({"x": {"$lt": value}})) == []


def test_a_tree_keeps_its_own_copy_of_values():
    values = [1]
    tree = parse_filter({"x": {"$in": values}})
    values.append(2)
    assert tree == Comparison("x", Operator.IN, [1])
