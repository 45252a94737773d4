"""Maximal marginal relevance: results that are near the query, and unlike each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factoid.encode import Vectors
from factoid.inner_products import products
from factoid.search.rollup import Group, View


def most_diverse(query: Vectors, vectors: Vectors, *, k: int, lambda_mult: float = 0.5) -> list[int]:
    """Choose by maximal marginal relevance (Carbonell and Goldstein, 1998): near the query, far from those chosen before.

    Nearness is the cosine, on both sides, so that one can be weighed against the other; a zero vector is near nothing.

    Args:
        query: Shape: (dim,).
        vectors: Candidates, best first: of equal ones the first is chosen. Shape: (n, dim).
        k: How many to choose, at most n.
        lambda_mult: Weight of the nearness to the query, from 0 (only diversity counts) to 1 (none).

    Returns:
        Positions in `vectors`, in the order chosen; the first is the nearest to the query.
    """
    if len(vectors) == 0:  # of no store or an empty one: then they have no dimension either
        return []
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)
    relevance = products(directions, query / (np.linalg.norm(query) or 1))
    marginal, nearest = relevance.copy(), np.full(len(vectors), -np.inf)
    chosen: list[int] = []
    while len(chosen) < min(k, len(vectors)):
        best = int(marginal.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, products(directions, directions[best]))
        marginal = lambda_mult * relevance - (1 - lambda_mult) * nearest
        marginal[chosen] = -np.inf
    return chosen


def diverse_groups(
    views: Sequence[View], query: Vectors, groups: Sequence[Group], k: int, *, lambda_mult: float = 0.5
) -> list[Group]:
    """Choose k of the parents by maximal marginal relevance of their best units.

    Args:
        views: Where the units are.
        query: Shape: (dim,).
        groups: Candidates, best first, each with at least one match.
        k: How many to choose, at most as many as there are candidates.
        lambda_mult: As in `most_diverse`.
    """
    rows = np.array([group.matches[0].row for group in groups], np.int64)
    vectors = np.zeros((len(rows), len(query)), np.float32)
    for view in views:
        positions, which = view.columns.members("unit").positions(rows)
        if len(positions):
            distinct, place = np.unique(view.columns.vectors[positions], return_inverse=True)
            vectors[which] = view.exact(distinct)[place]
    return [groups[place] for place in most_diverse(query, vectors, k=k, lambda_mult=lambda_mult)]
