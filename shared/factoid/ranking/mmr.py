"""Maximal marginal relevance: parents near the query, and far from one another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factoid.encode import Vectors
from factoid.inner_products import products
from factoid.ranking.columns import View
from factoid.ranking.ranked_parents import RankedParent


def diverse_parents(
    views: Sequence[View],
    query: Vectors,
    ranked: Sequence[RankedParent],
    k: int,
    *,
    lambda_mult: float = 0.5,
) -> list[RankedParent]:
    """Choose k parents by maximal marginal relevance (Carbonell and Goldstein, 1998).

    Near the query, far from those before. Both similarities are cosines of best units, so that they
    can be weighed against each other: `lambda_mult` is the weight of the similarity to the query,
    from 0 (only diversity counts) to 1 (it does not). Candidates come best first, each with at
    least one match.
    """
    if not ranked:
        return []
    rows = np.array([parent.matches[0].row for parent in ranked], np.int64)
    vectors = np.zeros((len(rows), len(query)), np.float32)
    for view in views:
        units = view.columns.by("unit")
        places, which = units.find(rows)
        if len(places):
            vectors[which] = view.vectors_of(view.columns.vector_ids[units.positions[places]])
    chosen = diverse_places(vectors, query, k, lambda_mult=lambda_mult)
    return [ranked[place] for place in chosen]


def diverse_places(
    vectors: Vectors, query: Vectors, k: int, *, lambda_mult: float = 0.5
) -> list[int]:
    """Return the places of k vectors, chosen as `diverse_parents` does.

    Shapes: (n, dim) and (dim,).
    """
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)  # a zero vector is near nothing
    relevance = products(directions, query / (np.linalg.norm(query) or 1))
    marginal = relevance.copy()
    nearest = np.full(len(vectors), -np.inf)
    chosen: list[int] = []
    while len(chosen) < min(k, len(vectors)):
        best = int(marginal.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, products(directions, directions[best]))
        marginal = lambda_mult * relevance - (1 - lambda_mult) * nearest
        marginal[chosen] = -np.inf
    return chosen
