"""Units compared alone, and their parents, against brute force: every filter, every k, whatever the
index is like.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Granularity
from factoid.ranking import Weights, best_parents, candidates, columns
from factoid.vectors import matrix
from tests.ranking.oracle import Case, check_groups

WHOLE = st.integers(-3, 3)  # exact in float32, with many ties
VECTOR = st.tuples(WHOLE, WHOLE, WHOLE)
LEVELS = st.sampled_from(["unit", "passage", "document"])
FILTERS = st.sampled_from([None, {1}, {1, 2, 3, 900_000}, {2}, {3, 900_000}, set(), {77}])
QUERIES = st.lists(VECTOR, min_size=1, max_size=12)
ALONE = Weights(0, 0)


@st.composite
def cases(draw):
    """Units that share vectors, orphans that are their own parents, crowded parents, gaps
    between ids.
    """
    vectors = {
        2 * own + 5: vector
        for own, vector in enumerate(draw(st.lists(VECTOR, min_size=1, max_size=25)))
    }
    units = []
    for number in range(draw(st.integers(0, 60))):
        row = 3 * number + 1
        parent = draw(st.sampled_from([row, 1001, 1001, 1002, 1003, 1004, 1005]))
        own = draw(st.sampled_from(sorted(vectors)))
        units.append(
            (row, own, parent, 1 + parent % 4, draw(st.sampled_from([1, 1, 1, 2, 3, 900_000])))
        )
    used = {unit[1] for unit in units}
    vectors = {own: vector for own, vector in vectors.items() if own in used}
    return Case(draw(st.permutations(units)), vectors)


@pytest.mark.parametrize("whole", [True, False])
@settings(deadline=None, max_examples=150)
@given(cases(), QUERIES, st.integers(1, 80), FILTERS, LEVELS)
def test_exact_indexes(whole, case, queries, k, metadata, level):
    view = case.filtered(case.view(), metadata)
    vectors = np.array(queries, np.float32)
    with pytest.MonkeyPatch.context() as patch:  # little memory gives the same
        if not whole:
            patch.setattr(candidates, "_SCORES", 2 * len(case.units))
            patch.setattr(matrix, "_BLOCK", 5)
            patch.setattr(matrix, "_FEW", 7)
        found = best_parents([view], None, vectors, k, parents=level, weights=ALONE)
    for groups, query in zip(found, queries, strict=True):
        check_groups(groups, case, query, k, metadata, level)


@settings(deadline=None, max_examples=150)
@given(
    cases(),
    QUERIES,
    st.integers(1, 80),
    FILTERS,
    LEVELS,
    st.sets(st.integers(0, 60)),
    st.booleans(),
)
def test_approximate_indexes_that_miss_vectors_still_give_k(
    case, queries, k, metadata, level, seen, lossy
):
    view = case.filtered(
        case.view(is_exact=False, lossy=lossy, noise=9.0 * lossy, seen=np.array(sorted(seen))),
        metadata,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_FEW_HELD", 0)
        found = best_parents(
            [view], None, np.array(queries, np.float32), k, parents=level, weights=ALONE
        )
    for groups, query in zip(found, queries, strict=True):
        under = case.groups(query, metadata, level)
        assert len({group.key for group in groups}) == len(groups) <= min(k, len(under))
        assert groups == sorted(groups, key=lambda group: (-group.score, group.key))
        for group in groups:
            assert group.score == under[group.key][0][0] or level != "unit"
            assert [(match.score, match.row) for match in group.matches] == under[group.key][:3]


def test_a_few_units_never_reach_the_index():
    case = Case(
        [(row, row, 50 + row // 4, 1, row % 9) for row in range(400)],
        {row: (row % 7, 3, row % 5) for row in range(400)},
    )
    view = case.filtered(case.view(is_exact=False, lossy=True, noise=9.0), {4})
    (groups,) = best_parents(
        [view], None, np.array([(1, 2, 3)], np.float32), 10, parents="passage", weights=ALONE
    )
    check_groups(groups, case, (1, 2, 3), 10, {4}, "passage")
    assert view.index.asked == []


def test_parameters_reach_the_index(monkeypatch):
    monkeypatch.setattr(columns, "_FEW_HELD", 0)
    view = replace(
        Case([(1, 1, 1, 1, 1)], {1: (1, 2, 3)}).view(is_exact=False), parameters={"nprobe": 4}
    )
    best_parents([view], None, np.ones((1, 3), np.float32), 5, parents="unit", weights=ALONE)
    assert view.index.asked == [(1, 1, {"nprobe": 4})]


def test_a_passage_is_its_own_passage():
    query = np.array([[1, 0, 0]], np.float32)
    case = Case([(1, 1, 1, 4, 1), (2, 2, 2, 4, 1)], {1: (1, 0, 0), 2: (2, 0, 0)})
    view = case.view(Granularity.PASSAGE)
    (groups,) = best_parents([view], view, query, 5, parents="passage", weights=ALONE)
    assert [(group.key, group.matches) for group in groups] == [(2, ((2, 2.0),)), (1, ((1, 1.0),))]


@pytest.mark.parametrize("level", ["unit", "passage"])
def test_nothing_to_search(level):
    options = {"parents": level, "weights": ALONE}
    assert best_parents([Case([], {}).view()], None, np.ones((2, 3), np.float32), 3, **options) == [
        [],
        [],
    ]
    view = Case([(1, 1, 1, 1, 1)], {1: (1, 2, 3)}).view()
    assert best_parents([view], None, np.empty((0, 3), np.float32), 3, **options) == []


def test_vectors_of_the_index_that_no_unit_has_any_more_are_passed_over():
    case = Case([(1, 1, 50, 1, 1)], {1: (1, 0, 0), 2: (2, 0, 0), 3: (3, 0, 0)})
    ((group,),) = best_parents(
        [case.view()], None, np.array([[1, 0, 0]], np.float32), 1, parents="unit", weights=ALONE
    )
    assert group[:2] == (1, 1.0)
