"""Columns against plain Python."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid.ranking import Columns
from factoid.vectors.vector_index import membership

NAMES = ("vector_ids", "rows", "passages", "documents", "metadata")


def ids(most):
    return st.integers(0, most)


@st.composite
def some_units(draw, first=1, last=60):
    """Tuples in the order of `NAMES`; no row twice."""
    chosen = draw(st.lists(st.integers(first, last), unique=True, max_size=30))
    return [
        (draw(ids(9)), row, draw(ids(5)), draw(ids(3)), draw(st.sampled_from([1, 2, 10**9])))
        for row in chosen
    ]


def columns_of(units):
    return Columns.of(np.array(units, np.int64).reshape(-1, 5).T)


def tuples(columns):
    return list(zip(*(getattr(columns, name).tolist() for name in NAMES), strict=True))


def taken(columns, positions):
    known = tuples(columns)
    return [known[place] for place in positions.tolist()]


def positions_by(columns, level, keys):
    groups = columns.by(level)
    places, which = groups.find(keys)
    return groups.positions[places], which


@settings(deadline=None)
@given(some_units(), st.lists(ids(70), max_size=12))
def test_lookups(units, wanted):
    columns = columns_of(units)
    assert tuples(columns) == sorted(units)
    assert len(columns) == len(units)
    assert columns.distinct_vectors().tolist() == sorted({unit[0] for unit in units})
    chosen = np.array(wanted, np.int64)
    for find, place in (
        (columns.positions_of_vectors, 0),
        (partial(positions_by, columns, "unit"), 1),
        (partial(positions_by, columns, "passage"), 2),
        (partial(positions_by, columns, "document"), 3),
    ):
        positions, which = find(chosen)
        found = sorted(zip(which.tolist(), taken(columns, positions), strict=True))
        assert found == sorted(
            (at, unit) for at, key in enumerate(wanted) for unit in units if unit[place] == key
        )
    for mask, place in (
        (membership(columns.rows, chosen), 1),
        (membership(columns.documents, chosen), 3),
        (membership(columns.metadata, chosen), 4),
    ):
        assert mask.tolist() == [unit[place] in wanted for unit in tuples(columns)]
    mask = membership(columns.documents, chosen)
    assert columns.distinct_vectors(mask).tolist() == sorted(
        {unit[0] for unit in units if unit[3] in wanted}
    )


@pytest.mark.parametrize("vector", [3, 10**6])  # ids that are dense, and ones that are sparse
def test_ids_that_no_vector_has(vector):
    """An approximate index returns -1 in place of what it did not find."""
    columns = columns_of([(1, 1, 1, 1, 1), (vector, 2, 1, 1, 1)])
    positions, which = columns.positions_of_vectors(np.array([-1, 1, -7, 2, vector, vector + 1]))
    assert (positions.tolist(), which.tolist()) == ([0, 1], [1, 4])


@settings(deadline=None)
@given(some_units(), st.lists(ids(70), max_size=12), some_units(61, 90), some_units())
def test_replaced(units, removed, later, again):
    """New rows come after all others, or in place of those that were removed."""
    columns = columns_of(units)
    before = tuples(columns)
    replaced = columns.replaced(np.array(removed, np.int64), columns_of(later))
    assert tuples(replaced) == sorted([unit for unit in units if unit[1] not in removed] + later)
    rows = [unit[1] for unit in again]
    replaced = columns.replaced(np.array(rows, np.int64), columns_of(again))
    assert tuples(replaced) == sorted([unit for unit in units if unit[1] not in rows] + again)
    assert tuples(columns) == before
    assert tuples(replaced.replaced(replaced.rows, Columns.empty())) == []
    assert tuples(Columns.empty().replaced(np.array(removed, np.int64), columns)) == before


@given(
    st.lists(st.sampled_from([-5, 0, 1, 2, 3, 70_000, 2**40, 2**62]), max_size=20),
    st.lists(st.sampled_from([-5, 0, 1, 3, 4, 70_000, 2**40, -(2**62)]), max_size=6),
)
def test_membership(values, chosen):
    assert membership(np.array(values, np.int64), np.array(chosen, np.int64)).tolist() == [
        value in chosen for value in values
    ]


def test_columns_cannot_be_written_to():
    columns = columns_of([(1, 1, 1, 1, 1)])
    for each in (columns, columns.replaced(np.array([1]), columns), Columns.empty()):
        for name in NAMES:
            with pytest.raises(ValueError, match="read-only"):
                getattr(each, name)[:] = 0
