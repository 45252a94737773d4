"""Several granularities at once, against the definitions of the fusions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Granularity
from factoid.errors import InvalidInputError
from factoid.search import Group, Scored, best_fused, best_groups, fuse
from tests.search.oracle import Case

SENTENCE, PROPOSITION = Granularity.SENTENCE, Granularity.PROPOSITION


def mixed(seed, sentences=60, propositions=150, passages=25):
    """Sentences and propositions of the same passages, in two cases; rows of all are distinct."""
    rng = np.random.default_rng(seed)
    cases = []
    for start, count in ((0, sentences), (1000, propositions)):
        units = []
        for row in range(start, start + count):
            parent = int(rng.integers(0, passages))
            units.append((row, row, 5000 + parent, parent % 6, int(rng.integers(0, 3))))
        vectors = {row: tuple(rng.integers(-6, 6, 4).tolist()) for row in range(start, start + count)}
        cases.append(Case(units, vectors))
    return cases, rng.integers(-6, 6, (3, 4))


def rankings(cases, query, metadata, level):
    """For each case its parents, best first, equal ones by row, with their units."""
    found = []
    for case in cases:
        under = case.groups(query, metadata, level)
        found.append(sorted(under.items(), key=lambda item: (-item[1][0][0], item[0])))
    return found


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 99),
    st.integers(1, 30),
    st.sampled_from(["unit", "passage", "document"]),
    st.sampled_from(["rrf", "max"]),
    st.sampled_from([None, {1}]),
    st.integers(0, 4),
)
def test_against_the_definition(seed, k, level, method, metadata, matches):
    cases, queries = mixed(seed)
    views = [case.view(kind) for case, kind in zip(cases, (SENTENCE, PROPOSITION), strict=True)]
    masks = {view.granularity: case.mask(view.columns, metadata) for case, view in zip(cases, views, strict=True)}
    found = best_fused(
        views,
        queries.astype(np.float32),
        k,
        level=level,
        method=method,
        depth=10_000,
        matches=matches,
        allowed=None if metadata is None else masks,
    )
    for groups, query in zip(found, queries.tolist(), strict=True):
        scores, units = {}, {}
        for ranking in rankings(cases, query, metadata, level):
            for rank, (key, own) in enumerate(ranking, 1):
                part = Fraction(1, 60 + rank) if method == "rrf" else own[0][0]
                scores[key] = scores.get(key, 0) + part if method == "rrf" else max(scores.get(key, -(10**9)), part)
                units.setdefault(key, []).extend(own)
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
        assert [group.score for group in groups] == pytest.approx([float(score) for _, score in best])
        assert [group.key for group in groups] == [key for key, _ in best]
        for group in groups:
            expected = sorted(units[group.key], key=lambda unit: (-unit[0], unit[1]))[:matches]
            assert [(match.score, match.row) for match in group.matches] == expected


def test_depth_is_how_far_ranks_count():
    cases, queries = mixed(3)
    views = [case.view(kind) for case, kind in zip(cases, (SENTENCE, PROPOSITION), strict=True)]
    found = best_fused(views, queries.astype(np.float32), 3, level="passage", depth=5, rrf_k=0)
    for groups, query in zip(found, queries.tolist(), strict=True):
        scores = {}
        for ranking in rankings(cases, query, None, "passage"):
            for rank, (key, _) in enumerate(ranking[:5], 1):
                scores[key] = scores.get(key, 0) + 1 / rank
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:3]
        assert [(group.key, group.score) for group in groups] == best


def test_thresholds_are_scores_of_units():
    cases, queries = mixed(4)
    views = [case.view(kind) for case, kind in zip(cases, (SENTENCE, PROPOSITION), strict=True)]
    for method in ("rrf", "max"):
        found = best_fused(views, queries.astype(np.float32), 99, level="passage", method=method, min_score=40)
        for groups, query in zip(found, queries.tolist(), strict=True):
            expected = {
                key
                for ranking in rankings(cases, query, None, "passage")
                for key, units in ranking
                if units[0][0] >= 40
            }
            assert {group.key for group in groups} == expected


def test_one_granularity_by_max_is_that_granularity():
    (_, case), queries = mixed(5)
    view = case.view()
    vectors = queries.astype(np.float32)
    assert best_fused([view], vectors, 7, level="passage", method="max") == best_groups(
        view, vectors, 7, level="passage"
    )


def test_fuse_merges_matches_best_first_and_each_once():
    lists = {
        SENTENCE: [Group(1, 5.0, (Scored(10, 5.0), Scored(11, 1.0))), Group(2, 4.0, (Scored(12, 4.0),))],
        PROPOSITION: [Group(2, 6.0, (Scored(20, 6.0),)), Group(1, 5.0, (Scored(10, 5.0), Scored(21, 2.0)))],
    }
    for method, score in (("rrf", 1 / 61 + 1 / 62), ("max", 6.0)):
        first, second = fuse(lists, 5, method=method)
        expected = {1: (10, 21, 11), 2: (20, 12)}
        assert [match.row for match in first.matches] == list(expected[first.key])
        assert [match.row for match in second.matches] == list(expected[second.key])
        assert max(first.score, second.score) == pytest.approx(score)
    assert [group.key for group in fuse(lists, 1, method="rrf")] == [1]  # equal ranks: the lower row
    assert [len(group.matches) for group in fuse(lists, 2, matches=1)] == [1, 1]
    assert fuse({}, 3) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"method": "sum"}, "unknown fusion 'sum': expected one of rrf, max"),
        ({"rrf_k": -1}, "rrf_k must be at least 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidInputError, match=message):
        fuse({}, **({"k": 1} | options))
    with pytest.raises(InvalidInputError, match=message):
        best_fused([], np.ones((1, 3), np.float32), **({"k": 1, "level": "passage"} | options))
    with pytest.raises(InvalidInputError, match="depth must be at least 1"):
        best_fused([], np.ones((1, 3), np.float32), 1, level="passage", depth=0)
