"""Filters in SQLite against the same filters told in Python."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.filters import (
    DELETE_FIELD,
    All,
    AnyOf,
    Comparison,
    Not,
    Operator,
    field_rows,
    matches,
    parse_filter,
    passing_rows,
)
from tests.filters.stored import connect, passing

KEYS = st.sampled_from(
    ["a", "a", "b", "é", "q\"uo'te", "a.b", "x$.a", "", "A", "row", "😀", "); DROP--", "a\0b"]
)
BORDERS = [2**53, 2**53 + 1, 2.0**53, 2**63 - 1, -(2**63), 2**63, 2.0**63, 2**64 + 1, 2.0**64]
ODD_NUMBERS = [0.1, 0.1 + 0.2, 1.0, -0.0, 1e300, 5e-324, int(1e300), -(10**400), *BORDERS]
NUMBERS = (
    st.integers(-3, 3)
    | st.sampled_from(ODD_NUMBERS)
    | st.floats(allow_nan=False, allow_infinity=False)
)
ODD_STRINGS = ["a\0b", "a\0", "a\ud800", "z" * 256, "z" * 257, "é" * 129, "z" * 256 + "a"]
STRINGS = st.sampled_from(
    [*"abBéÉ😀1%", "", "ab", "true", "[1,2]", '{"a":1}', "x' OR '1'='1", *ODD_STRINGS]
)
SCALARS = st.none() | st.booleans() | NUMBERS | STRINGS
LISTS = st.lists(SCALARS, max_size=3) | st.sampled_from([[1] * 65, list("ab") * 40])
VALUES = (
    SCALARS
    | LISTS
    | st.dictionaries(st.sampled_from("ab"), SCALARS | LISTS, max_size=2)
    | st.lists(LISTS, max_size=2)
)
METADATA = st.lists(st.dictionaries(KEYS, VALUES, max_size=4), min_size=1, max_size=6)

TAKE_LISTS = [Operator.IN, Operator.NIN, Operator.ANY, Operator.ALL]
ORDERS = [Operator.GT, Operator.GTE, Operator.LT, Operator.LTE]
TAKE_STRINGS = [Operator.TEXT_MATCH, Operator.TEXT_MATCH_INSENSITIVE]
OTHERS = sorted(set(Operator) - {Operator.EXISTS, *TAKE_LISTS, *ORDERS, *TAKE_STRINGS})
COMPARISONS = st.one_of(
    st.builds(Comparison, KEYS, st.sampled_from(OTHERS), VALUES),
    st.builds(Comparison, KEYS, st.sampled_from(TAKE_LISTS), STRINGS | LISTS),
    st.builds(Comparison, KEYS, st.sampled_from(ORDERS), NUMBERS | STRINGS | st.booleans()),
    st.builds(Comparison, KEYS, st.sampled_from(TAKE_STRINGS), STRINGS),
    st.builds(Comparison, KEYS, st.sampled_from(TAKE_LISTS), LISTS),
    st.builds(Comparison, KEYS, st.just(Operator.EXISTS), st.booleans()),
)
TREES = st.recursive(
    COMPARISONS,
    lambda inner: (
        st.builds(All, st.lists(inner, max_size=3).map(tuple))
        | st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple))
        | st.builds(Not, inner)
    ),
    max_leaves=6,
)


@settings(max_examples=500, deadline=None)
@given(METADATA, TREES)
def test_sql_means_what_python_does(rows, tree):
    assert passing(rows, tree) == [i for i, row in enumerate(rows) if matches(tree, row)]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.fixed_dictionaries({"a": VALUES}), min_size=1, max_size=8), COMPARISONS)
def test_every_comparison_on_the_same_key(rows, leaf):
    tree = Comparison("a", leaf.operator, leaf.value)
    assert passing(rows, tree) == [i for i, row in enumerate(rows) if matches(tree, row)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"x": {"$in": [*range(20_000), *map(str, range(20_000))]}}, [0, 1, 3]),
        ({"x": {"$nin": list(range(20_000))}}, [2, 3, 4]),
        ({"$or": [{"x": value} for value in range(3000)] + [{"x": 0.5}]}, [0, 4]),
        ({"$or": [{"x": {"$gt": value}} for value in range(5000, 0, -1)]}, [1, 2]),
        ({"$and": [{"x": {"$gt": value}} for value in range(5000)]}, [1, 2]),
        ({"$and": [{"x": {"$ne": value}} for value in range(900)]}, [1, 2, 3, 4]),
        ({"x": {"$any": [str(value) for value in range(20_000)]}}, [3]),
        (
            {"$and": [{"$or": [{"x": {"$gt": value}}, {str(value): 1}]} for value in range(400)]},
            [1, 2],
        ),
    ],
)
def test_long_lists_of_values_and_of_filters(condition, expected):
    assert (
        passing(
            [{"x": value} for value in (0, 19_999, 20_000, "19999", 0.5)], parse_filter(condition)
        )
        == expected
    )


def test_deep_filters():
    condition = {"x": 0}
    for level in range(70):
        name = ("$and", "$or")[level % 2]
        condition = {
            name: [condition, {"x": {"$gte": level, "$lt": level + 1}}, {"$not": {"x": level}}]
        }
    tree = parse_filter(condition)
    assert passing([{"x": value} for value in range(50)], tree) == [
        value for value in range(50) if matches(tree, {"x": value})
    ]


INJECTIONS = [
    "x' OR '1'='1",
    "') OR 1=1 --",
    "; DROP TABLE metadata",
    '" OR ""="',
    "?",
    "%s",
    "{}",
    "fields.metadata",
]


@pytest.mark.parametrize("stored", [field_rows, parse_filter])
@pytest.mark.parametrize("condition", [{"a\ud800": 1}, {"a.\ud800": 1}])
def test_keys_that_sqlite_cannot_hold_are_refused(stored, condition):
    with pytest.raises(InvalidInputError, match="key holds a lone surrogate"):
        stored(condition)
    with pytest.raises(InvalidInputError, match="key holds a lone surrogate"):
        field_rows({"a": condition})


@pytest.mark.parametrize("text", INJECTIONS)
def test_values_and_keys_never_become_sql(text):
    for operator in set(Operator) - {Operator.EXISTS}:
        for operand in (lambda value: value, lambda value: [value, [value]]):
            if operator in (*ORDERS, *TAKE_STRINGS) and isinstance(operand(text), list):
                continue  # refused
            hostile, harmless = (
                statements(Comparison(value, operator, operand(value)))[0]
                for value in (text, "x" * len(text))
            )
            assert hostile == harmless


PLANNED = [
    Comparison("x", Operator.EQ, "a" * 1000),
    Comparison("x", Operator.IN, [1, 2, "a"]),
    Comparison("x", Operator.CONTAINS, 1),
    Comparison("x", Operator.EXISTS, True),
    Comparison("x", Operator.TEXT_MATCH, "a"),
    Comparison("x", Operator.EQ, [1]),
    AnyOf((Comparison("x", Operator.EQ, 1), Comparison("y", Operator.GT, 2))),
    All((Comparison("x", Operator.EQ, 1), Not(Comparison("y", Operator.GT, 2)))),
]


def statements(tree):
    """Return the statements that a filter runs, with placeholders, and their plans."""
    with closing(connect([{"x": 1, "y": 3}, {"x": "a", "y": 1}])) as connection:
        recorder = Recorder(connection)
        passing_rows(recorder, tree)
        plans = [
            [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", parameters)]
            for sql, parameters in recorder.statements
        ]
    return [sql for sql, _ in recorder.statements], plans


class Recorder:
    def __init__(self, connection):
        self.connection, self.statements = connection, []

    def execute(self, sql, parameters=()):
        self.statements.append((sql, parameters))
        return self.connection.execute(sql, parameters)


@pytest.mark.parametrize("tree", PLANNED)
def test_sqlite_reads_only_ranges_of_the_index(tree):
    _, plans = statements(tree)
    assert plans
    for step in (step for plan in plans for step in plan if step.startswith(("SCAN", "SEARCH"))):
        reads = (
            "SEARCH fields USING PRIMARY KEY (key=? AND kind",
            "SEARCH metadata",
            "SCAN json_each",
        )
        assert step.startswith(reads), plans


def test_two_bounds_on_a_key_are_one_range():
    _, plans = statements(All((Comparison("x", Operator.GTE, 1), Comparison("x", Operator.LT, 9))))
    assert any("value>? AND value<?" in step for plan in plans for step in plan), plans


def test_few_rows_are_compared_by_their_json():
    """A part that passes few rows comes first, wherever it stands; the others are asked of those
    rows only.
    """
    rows = [{"x": value, "y": value % 2} for value in range(2000)]
    tree = All(
        (
            Not(Comparison("y", Operator.EQ, 0)),
            Comparison("y", Operator.GTE, 0),
            Comparison("x", Operator.EQ, 7),
        )
    )
    with closing(connect(rows)) as connection:
        recorder = Recorder(connection)
        assert passing_rows(recorder, tree).tolist() == [7]
    assert sum("fields" in sql for sql, _ in recorder.statements) == 1


@settings(max_examples=100, deadline=None)
@given(METADATA)
def test_fields_of_a_metadata_row_are_deleted_by_their_key(rows):
    with closing(connect(rows)) as connection:
        connection.executemany(DELETE_FIELD, [(*field, 0) for field in field_rows(rows[0])])
        left = connection.execute("SELECT DISTINCT metadata FROM fields ORDER BY 1").fetchall()
    assert left == [(i,) for i, row in enumerate(rows) if row and i]
