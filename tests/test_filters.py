"""Every operator against plain Python, on random metadata."""

from __future__ import annotations

import json
import sqlite3
from operator import ge, gt, le, lt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.filters import compile_filter, metadata_equals

ORDER = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def passing(rows, condition):
    """Return the positions of the metadata that pass, as SQLite decides."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.create_function("metadata_equals", 2, metadata_equals, deterministic=True)
        connection.execute("CREATE TABLE units (row INTEGER PRIMARY KEY, metadata TEXT)")
        connection.executemany("INSERT INTO units VALUES (?, ?)", [(i, json.dumps(row)) for i, row in enumerate(rows)])
        sql, parameters = compile_filter(condition)
        found = connection.execute(f"SELECT row FROM units WHERE {sql} ORDER BY row", parameters).fetchall()
        # An inverted condition must pass the others, which fails where one of them is NULL.
        others = connection.execute(f"SELECT row FROM units WHERE NOT ({sql}) ORDER BY row", parameters).fetchall()
        assert sorted(found + others) == [(i,) for i in range(len(rows))]
        return [row for (row,) in found]
    finally:
        connection.close()


def passes(metadata, condition):
    """What a filter means, told in Python."""
    results = []
    for key, value in condition.items():
        if key == "$and":
            results.append(all(passes(metadata, part) for part in value))
        elif key == "$or":
            results.append(any(passes(metadata, part) for part in value))
        elif key == "$not":
            results.append(not passes(metadata, value))
        elif isinstance(value, dict) and any(name.startswith("$") for name in value):
            results.append(all(holds(metadata, key, name, operand) for name, operand in value.items()))
        else:
            results.append(key in metadata and metadata[key] == value)
    return all(results)


def holds(metadata, key, name, operand):
    there = key in metadata
    if name == "$exists":
        return there is operand
    if name in ("$eq", "$ne"):
        return (there and metadata[key] == operand) is (name == "$eq")
    if name in ("$in", "$nin"):
        return (there and any(metadata[key] == each for each in operand)) is (name == "$in")
    if not there or isinstance(metadata[key], str) is not isinstance(operand, str):
        return False
    return isinstance(metadata[key], str | int | float) and ORDER[name](metadata[key], operand)


KEYS = st.sampled_from(
    ["a", "b", "é", "q\"uo'te", "a.b", "x$.a", "a[0]", "", " ", "A", "row", "\\u0061", "😀", "); DROP--"]
)
NUMBERS = st.integers(-3, 3) | st.sampled_from([0.1, 0.1 + 0.2, 1.0, -0.0, 1e300, 5e-324, 2**53, 2**63 - 1, -(2**63)])
STRINGS = st.sampled_from(
    ["", "a", "b", "B", "é", "😀", "1", "true", "null", "[1,2]", '{"a":1}', "x' OR '1'='1", "%", "a b"]
)
SCALARS = st.none() | st.booleans() | NUMBERS | STRINGS
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2)
METADATA = st.lists(st.dictionaries(KEYS, VALUES, max_size=4), min_size=1, max_size=6)
OPERATIONS = st.one_of(
    st.fixed_dictionaries({}, optional={"$gt": NUMBERS, "$lte": NUMBERS, "$ne": VALUES}).filter(bool),
    st.fixed_dictionaries({}, optional={"$gte": STRINGS, "$lt": STRINGS, "$exists": st.booleans()}).filter(bool),
    st.fixed_dictionaries({}, optional={"$in": st.lists(VALUES, max_size=4), "$nin": st.lists(VALUES, max_size=4)}),
    st.fixed_dictionaries({"$eq": VALUES}),
)
CLAUSES = st.dictionaries(KEYS, VALUES | OPERATIONS, max_size=2)
FILTERS = st.recursive(
    CLAUSES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}),
    ),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(METADATA, FILTERS)
def test_every_filter_means_what_python_says(rows, condition):
    assert passing(rows, condition) == [i for i, row in enumerate(rows) if passes(row, condition)]


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text("ab\"'\\é\u2028\ue000", max_size=3), VALUES, min_size=1), st.data())
def test_every_key_finds_its_own_value(row, data):
    key = data.draw(st.sampled_from(sorted(row)))
    assert passing([row, {}], {key: {"$eq": row[key]}}) == [0]
    assert passing([row, {}], {key: {"$ne": row[key]}}) == [1]
    assert passing([row, {}], {key: {"$in": ["no", row[key]]}}) == [0]


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_exact(one, two):
    assert passing([{"x": one}], {"x": one}) == [0]
    assert passing([{"x": one}], {"x": {"$gt": two}}) == ([0] if one > two else [])
    assert passing([{"x": one}], {"x": {"$lt": two}}) == ([0] if one < two else [])


ROWS = [{}, {"x": None}, {"x": True}, {"x": 1}, {"x": 1.0}, {"x": "1"}, {"x": [1]}, {"x": "[1]"}, {"x": {"x": 1}}]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"x": None}, [1]),
        ({"x": {"$ne": None}}, [0, 2, 3, 4, 5, 6, 7, 8]),
        ({"x": {"$exists": True}}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"x": {"$exists": False}}, [0]),
        ({"x": 1}, [2, 3, 4]),  # as in Python: True == 1 == 1.0
        ({"x": True}, [2, 3, 4]),
        ({"x": "1"}, [5]),
        ({"x": [1]}, [6]),
        ({"x": (1,)}, [6]),
        ({"x": "[1]"}, [7]),
        ({"x": {"x": 1}}, [8]),
        ({"x": {"$eq": {"x": 1}}}, [8]),
        ({"x": {}}, []),
        ({"x": {"$in": []}}, []),
        ({"x": {"$nin": []}}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"x": {"$in": [None, "1", [1]]}}, [1, 5, 6]),
        ({"x": {"$nin": [None, 1]}}, [0, 5, 6, 7, 8]),
        ({"x": {"$in": {1}}}, [2, 3, 4]),
        ({"x": {"$gte": 1}}, [2, 3, 4]),
        ({"x": {"$gte": "0"}}, [5, 7]),
        ({"x": {"$lt": float("inf")}}, [2, 3, 4]),
        ({"x": {"$gt": float("nan")}}, []),
        ({"x": {"$ne": float("nan")}}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"$not": {"x": {"$gt": 0}}}, [0, 1, 5, 6, 7, 8]),
        ({"$or": [{"x": "1"}, {"x": {"$exists": False}}]}, [0, 5]),
        ({"$and": [{"x": {"$gt": 0}}, {"$not": {"x": 1.0}}]}, []),
        ({"x": {"$gt": 0, "$lt": 2}}, [2, 3, 4]),
    ],
)
def test_traps(condition, expected):
    assert passing(ROWS, condition) == expected
    if condition != {"x": (1,)}:  # Python tells tuples from lists, JSON does not
        assert [i for i, row in enumerate(ROWS) if passes(row, condition)] == expected


def test_what_sqlite_cannot_hold_is_compared_all_the_same():
    big = 2**64 + 1
    rows = [{"x": big}, {"x": big + 1}, {"x": "a\0b"}, {"x": {"b": 1, "a": 2.0}}, {"x": "a\ud800"}, {"a\0b": 1}]
    assert passing(rows, {"x": big}) == [0]
    assert passing(rows, {"x": {"$in": [big, "a\0b"]}}) == [0, 2]
    assert passing(rows, {"x": {"a": 2, "b": True}}) == [3]
    assert passing(rows, {"x": "a\ud800"}) == [4]
    assert passing(rows, {"a\0b": 1}) == [5]
    assert passing(rows, {"x": {"$gt": 2**63}}) == [0, 1]
    assert passing(rows, {"x": {"$lt": -(10**400)}}) == passing(rows, {"x": {"$gt": 10**400}}) == []


def test_long_lists_of_values_and_of_filters():
    rows = [{"x": value} for value in (0, 19_999, 20_000, "19999", 0.5)]
    assert passing(rows, {"x": {"$in": [*range(20_000), *map(str, range(20_000))]}}) == [0, 1, 3]
    assert passing(rows, {"x": {"$nin": list(range(20_000))}}) == [2, 3, 4]
    assert passing(rows, {"$or": [{"x": value} for value in range(3000)] + [{"x": 0.5}]}) == [0, 4]
    assert passing(rows, {"x": {"$in": [value / 2 for value in range(3000)]}}) == [0, 4]


INJECTIONS = ["x' OR '1'='1", "') OR 1=1 --", "; DROP TABLE units", '" OR ""="', "?", "%s", "{}", "units.metadata"]


@pytest.mark.parametrize("text", INJECTIONS)
def test_values_and_keys_never_become_sql(text):
    rows = [{"x": 1}, {"x": text}, {text: 1}]
    assert passing(rows, {"x": text}) == [1]
    assert passing(rows, {text: 1}) == [2]
    assert passing(rows, {"x": {"$in": [text]}}) == [1]
    assert passing(rows, {text: {"$exists": True}}) == [2]
    hostile, harmless = (
        compile_filter({each: {"$eq": each, "$gt": each, "$in": [each, [each]]}})[0] for each in (text, "harmless")
    )
    assert hostile == harmless


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (["x"], "a dict of conditions or a callable, got list"),
        ({"x": {"$near": 3}}, r"unknown operator '\$near': expected \$eq \$ne"),
        ({"x": {"$gt": 1, "y": 2}}, "unknown operator 'y'"),
        ({"$nor": [{}]}, r"unknown operator '\$nor' at the top"),
        ({1: 2}, "unknown operator 1 at the top"),
        ({"$and": []}, r"\$and takes a non-empty list of filters, got \[\]"),
        ({"$or": {"x": 1}}, r"\$or takes a non-empty list"),
        ({"$or": ["x"]}, "got str"),
        ({"$not": [{}]}, "got list"),
        ({"x": {"$in": "abc"}}, r"\$in takes a list, got 'abc'"),
        ({"x": {"$exists": 1}}, r"\$exists takes True or False, got 1"),
        ({"x": {"$gt": None}}, r"\$gt takes a number or a string, got None"),
        ({"x": {"$lte": [1]}}, r"\$lte takes a number or a string"),
        ({"x": b"bytes"}, "cannot compare metadata with a bytes"),
        ({"x": {"$in": [object()]}}, "cannot compare metadata with a object"),
        ({"x": [object()]}, "cannot compare metadata with"),
    ],
)
def test_bad_filters_say_what_is_wrong(condition, message):
    with pytest.raises(InvalidInputError, match=message):
        compile_filter(condition)
