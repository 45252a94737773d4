"""Maximal marginal relevance against its definition, over units and over parents."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import Granularity
from factoid.ranking import Weights, best_parents, diverse_parents
from tests.ranking.oracle import Case


def marginal_relevance(query, vectors, k, weight):
    """The definition of Carbonell and Goldstein, one candidate at a time."""

    def cosine(a, b):
        norms = np.linalg.norm(a) * np.linalg.norm(b)
        return float(np.dot(a, b) / norms) if norms else 0.0

    chosen = []
    while len(chosen) < min(k, len(vectors)):

        def value(i, chosen=tuple(chosen)):
            near = max((cosine(vectors[i], vectors[j]) for j in chosen), default=None)
            return (
                cosine(query, vectors[i])
                if near is None
                else weight * cosine(query, vectors[i]) - (1 - weight) * near
            )

        chosen.append(max((i for i in range(len(vectors)) if i not in chosen), key=value))
    return chosen


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("level", ["passage", "unit"])
def test_groups_are_chosen_by_the_vectors_of_their_best_units(level, weight):
    rng = np.random.default_rng(2)
    views, vectors = [], {}
    for start, kind in ((0, Granularity.SENTENCE), (100, Granularity.PROPOSITION)):
        own = {row: tuple(rng.integers(-9, 9, 5).tolist()) for row in range(start, start + 40)}
        own[start] = (0,) * 5  # of no direction, and so near nothing
        units = [(row, row - row % 2, 500 + row % 15, 1, 1) for row in own]
        views.append(
            Case(units, {row: vector for row, vector in own.items() if row % 2 == 0}).view(kind)
        )
        vectors |= {row: own[row - row % 2] for row in own}
    query = rng.integers(-9, 9, (1, 5)).astype(np.float32)
    (groups,) = best_parents(views, None, query, 20, parents=level, weights=Weights(0, 0))
    assert {group.matches[0].row < 100 for group in groups} == {True, False}
    candidates = np.array([vectors[group.matches[0].row] for group in groups], float)
    chosen = diverse_parents(views, query[0], groups, 6, lambda_mult=weight)
    assert chosen == [
        groups[place] for place in marginal_relevance(query[0], candidates, 6, weight)
    ]
    for some in (
        groups,
        [group for group in groups if group.matches[0].row < 100],
    ):  # of both views, of one
        everything = diverse_parents(views, query[0], some, 99)
        assert {group.key for group in everything} == {group.key for group in some}
    assert diverse_parents(views, query[0], [], 6) == []
