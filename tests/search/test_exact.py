"""Units and parents against brute force: every filter, every k, whatever the index is like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factoid import Granularity
from factoid.search import best_groups, rollup
from tests.search.oracle import Case, check_groups

WHOLE = st.integers(-3, 3)  # exact in float32, with many ties
VECTOR = st.tuples(WHOLE, WHOLE, WHOLE)
LEVELS = st.sampled_from(["unit", "passage", "document"])


@st.composite
def cases(draw):
    """Units that share vectors, orphans that are their own parents, crowded parents, gaps between ids."""
    vectors = {2 * own + 5: vector for own, vector in enumerate(draw(st.lists(VECTOR, min_size=1, max_size=25)))}
    units = []
    for number in range(draw(st.integers(0, 60))):
        row = 3 * number + 1
        parent = draw(st.sampled_from([row, 1001, 1001, 1002, 1003, 1004, 1005]))
        own = draw(st.sampled_from(sorted(vectors)))
        units.append((row, own, parent, 1 + parent % 4, draw(st.sampled_from([1, 1, 1, 2, 3, 900_000]))))
    used = {unit[1] for unit in units}
    vectors = {own: vector for own, vector in vectors.items() if own in used}
    return Case(draw(st.permutations(units)), vectors)


FILTERS = st.sampled_from([None, {1}, {1, 2, 3, 900_000}, {2}, {3, 900_000}, set(), {77}])


@pytest.fixture(params=["by itself", "index"])
def path(request, monkeypatch):
    """Selections of any size are searched both ways."""
    monkeypatch.setattr(rollup, "few", lambda *_: request.param == "by itself")


def against(**options):
    """What the fixture patches is the same for all examples."""
    return settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], **options)


QUERIES = st.lists(VECTOR, min_size=1, max_size=4)
MINIMA = st.none() | st.integers(-20, 20)
# With as many candidates as there are vectors, a refined search is exact, however wrong the index's scores are.
EXACT = {"exact": {}, "refined": {"exact": False, "lossy": True, "noise": 50.0}}


@pytest.mark.parametrize("options", EXACT.values(), ids=EXACT)
@against(max_examples=150)
@given(cases(), QUERIES, st.integers(1, 80), FILTERS, LEVELS, MINIMA)
def test_searches_that_must_be_exact(path, options, case, queries, k, metadata, level, least):
    view = replace(case.filtered(case.view(**options), metadata), refine=60)
    vectors = np.array(queries, np.float32)
    settings = {"level": level, "min_score": least}
    found = best_groups(view, vectors, k, **settings)
    for number, query in enumerate(queries):
        check_groups(found[number], case, query, k, metadata, **settings)
        assert best_groups(view, vectors[number : number + 1], k, **settings) == [found[number]]


@against(max_examples=120)
@given(cases(), QUERIES, st.integers(1, 80), FILTERS, LEVELS, st.sets(st.integers(0, 60)))
def test_approximate_indexes_that_miss_vectors_still_give_k(path, case, queries, k, metadata, level, seen):
    view = case.filtered(case.view(exact=False, seen=np.array(sorted(seen), np.int64)), metadata)
    found = best_groups(view, np.array(queries, np.float32), k, level=level)
    for groups, query in zip(found, queries, strict=True):
        under = case.groups(query, metadata, level)
        assert len({group.key for group in groups}) == len(groups) == min(k, len(under))
        assert groups == sorted(groups, key=lambda group: (-group.score, group.key))
        for group in groups:
            assert [(match.score, match.row) for match in group.matches] == under[group.key][:3]
            assert group.score == under[group.key][0][0]


def crowd(passages=40, each=60, seed=5):
    """Many units, vectors neither of unit length nor positive, some shared."""
    rng = np.random.default_rng(seed)
    vectors = {own: tuple(rng.integers(-9, 9, 6).tolist()) for own in range(passages * each)}
    units = [
        (own, own - own % 3 if own % 7 == 0 else own, 10_000 + own // each, own // (each * 4), own % 10)
        for own in range(passages * each)
    ]
    used = {unit[1] for unit in units}
    return Case(units, {own: vector for own, vector in vectors.items() if own in used}), rng


@pytest.mark.parametrize("metadata", [None, {0}, set(range(9))])
@pytest.mark.parametrize("level", ["unit", "passage", "document"])
@pytest.mark.parametrize("k", [1, 7, 45])
def test_batches_of_many(path, metadata, level, k):
    case, rng = crowd()
    view = case.filtered(case.view(), metadata)
    queries = rng.integers(-9, 9, (9, 6))
    found = best_groups(view, queries.astype(np.float32), k, level=level)
    for groups, query in zip(found, queries.tolist(), strict=True):
        check_groups(groups, case, query, k, metadata, level)


@pytest.mark.parametrize("queries_at_once", [2, 9])
def test_little_memory_gives_the_same(monkeypatch, path, queries_at_once):
    case, rng = crowd()
    view = case.filtered(case.view(), {1, 2, 3})
    queries = rng.integers(-9, 9, (9, 6)).astype(np.float32)
    expected = best_groups(view, queries, 12, level="passage")
    monkeypatch.setattr(rollup, "_BLOCK", 7)
    monkeypatch.setattr(rollup, "_BLOCK_OF_MANY", 5)
    monkeypatch.setattr(rollup, "_SCORES", queries_at_once * int(view.allowed.sum()))
    monkeypatch.setattr(rollup, "_ENTRIES", 100)
    assert best_groups(view, queries, 12, level="passage") == expected


def test_only_queries_that_lack_parents_are_widened_until_proof():
    """Query 0 meets only the crowd at first; query 1 meets all parents at once."""
    units = [(row, row, 5001, 1, 1) for row in range(2000)] + [(3000 + n, 3000 + n, 6000 + n, 1, 1) for n in range(9)]
    vectors = dict.fromkeys(range(2000), (10, 0, 0)) | {3000 + n: (n, 20, 0) for n in range(9)}
    case = Case(units, vectors)
    view = case.view()
    queries = [(1, 0, 0), (0, 1, 0)]
    found = best_groups(view, np.array(queries, np.float32), 4, level="passage")
    for groups, query in zip(found, queries, strict=True):
        check_groups(groups, case, query, 4, None, "passage")
    sizes = [asked[0] for asked in view.index.asked]
    assert sizes[0] == 2
    assert set(sizes[1:]) == {1}
    assert view.index.asked[-1][1] == 2009
    view.index.asked.clear()
    best_groups(view, np.array([(1, 0, 0)], np.float32), 4, level="passage", min_score=11)
    assert len(view.index.asked) == 1  # what is left is worse than the threshold


def test_a_small_selection_never_reaches_the_index():
    case, rng = crowd()
    view = case.filtered(case.view(exact=False, lossy=True, noise=9.0), {4})
    query = tuple(rng.integers(-9, 9, 6).tolist())
    (groups,) = best_groups(view, np.array([query], np.float32), 10, level="passage")
    check_groups(groups, case, query, 10, {4}, "passage")
    assert view.index.asked == []


def test_parameters_reach_the_index():
    view = replace(Case([(1, 1, 1, 1, 1)], {1: (1, 2, 3)}).view(), parameters={"nprobe": 4})
    best_groups(view, np.ones((1, 3), np.float32), 5, level="unit")
    assert view.index.asked == [(1, 1, {"nprobe": 4})]


def test_a_passage_is_its_own_passage():
    vectors, query = {1: (1, 0, 0), 2: (2, 0, 0)}, np.array([[1, 0, 0]], np.float32)
    case = Case([(1, 1, 1, 4, 1), (2, 2, 2, 4, 1)], vectors)
    (groups,) = best_groups(case.view(Granularity.PASSAGE), query, 5, level="passage")
    assert [(group.key, group.matches) for group in groups] == [(2, ((2, 2.0),)), (1, ((1, 1.0),))]
    case = Case([(1, 1, 9, 4, 1), (2, 2, 9, 4, 1)], vectors)
    (groups,) = best_groups(case.view(), query, 5, level="passage", matches=False)
    assert [group[:3] for group in groups] == [(9, 2.0, ())]


@pytest.mark.parametrize("level", ["unit", "passage"])
def test_nothing_to_search(level):
    assert best_groups(Case([], {}).view(), np.ones((2, 3), np.float32), 3, level=level) == [[], []]
    view = Case([(1, 1, 1, 1, 1)], {1: (1, 2, 3)}).view()
    assert best_groups(view, np.empty((0, 3), np.float32), 3, level=level) == []


def test_vectors_of_the_index_that_no_unit_has_any_more_are_passed_over():
    case = Case([(1, 1, 50, 1, 1)], {1: (1, 0, 0), 2: (2, 0, 0), 3: (3, 0, 0)})
    ((group,),) = best_groups(case.view(), np.array([[1, 0, 0]], np.float32), 1, level="unit")
    assert group[:2] == (1, 1.0)


@pytest.mark.parametrize("least", [35, 36, 37])
def test_a_threshold_ends_the_search_no_sooner_than_it_must(least):
    """100 units of one parent score 100 to 1, one of another 36; the first 64 vectors end at a score of 37."""
    units = [(score, score, 5001, 1, 1) for score in range(1, 101)] + [(200, 200, 5002, 1, 1)]
    case = Case(units, {score: (score, 0, 0) for score in range(1, 101)} | {200: (36, 0, 0)})
    view = case.view()
    (groups,) = best_groups(view, np.array([[1, 0, 0]], np.float32), 2, level="passage", min_score=least)
    check_groups(groups, case, (1, 0, 0), 2, None, "passage", min_score=least)
    assert view.index.asked[0][1] == 64
