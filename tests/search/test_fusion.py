"""Several granularities at once, against the definitions of the fusions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factoid import Granularity
from factoid.search import best_fused, fusion
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
)
def test_against_the_definition(seed, k, level, method, metadata):
    cases, queries = mixed(seed)
    views = [
        case.filtered(case.view(kind), metadata) for case, kind in zip(cases, (SENTENCE, PROPOSITION), strict=True)
    ]
    found = best_fused(views, queries.astype(np.float32), k, level=level, method=method)
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
            expected = sorted(units[group.key], key=lambda unit: (-unit[0], unit[1]))[:3]
            assert [(match.score, match.row) for match in group.matches] == expected


@pytest.mark.parametrize("method", ["rrf", "max"])
@pytest.mark.parametrize(("depth", "least"), [(5, None), (100, 40)])
def test_depth_is_how_far_ranks_count_and_thresholds_are_scores_of_units(monkeypatch, method, depth, least):
    monkeypatch.setattr(fusion, "_DEPTH", 1)
    monkeypatch.setattr(fusion, "_LEAST_DEPTH", depth)
    cases, queries = mixed(3)
    views = [case.view(kind) for case, kind in zip(cases, (SENTENCE, PROPOSITION), strict=True)]
    k = 3 if least is None else 99
    options = {"level": "passage", "method": method, "min_score": least}
    found = best_fused(views, queries.astype(np.float32), k, **options)
    for groups, query in zip(found, queries.tolist(), strict=True):
        scores = {}
        for ranking in rankings(cases, query, None, "passage"):
            passing = [(key, units[0][0]) for key, units in ranking if least is None or units[0][0] >= least]
            for rank, (key, best) in enumerate(passing[: max(k, depth) if method == "rrf" else k], 1):
                former = scores.get(key, 0)
                scores[key] = former + 1 / (60 + rank) if method == "rrf" else max(former, best)
        expected = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
        assert [(group.key, group.score) for group in groups] == expected
