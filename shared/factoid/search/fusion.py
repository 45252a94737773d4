"""Fuse lists of parents of several granularities by rank or score, and choose the most diverse of one list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from factoid.encode import Vectors
from factoid.inner_products import products
from factoid.search.rollup import Group, Level, View, attach_matches, best_groups

Fusion = Literal["rrf", "max"]

_RRF_K = 60  # as in the paper
_DEPTH = 10  # parents of each list that reciprocal rank fusion uses, for each of the k
_LEAST_DEPTH = 100


def best_fused(
    views: Sequence[View],
    queries: Vectors,
    k: int,
    *,
    level: Level,
    method: Fusion = "rrf",
    min_score: float | None = None,
) -> list[list[Group]]:
    """Return the k best parents for each query by the units of several granularities; equal ones by row.

    "rrf" is reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) of the `max(10 * k, 100)` best parents of each
    granularity: a parent scores the sum of `1 / (60 + rank)` over the lists that contain it, with ranks from 1. "max" takes a
    parent's best score of any granularity, and is exact; the scores must mean the same in all. With the level "unit", units of
    all granularities are ranked together. Parents that score less than `min_score` at a granularity are left out of its list. The
    other arguments are those of `best_groups`.
    """
    depth = k if method == "max" else max(_DEPTH * k, _LEAST_DEPTH)
    lists = [best_groups(view, queries, depth, level=level, min_score=min_score, matches=False) for view in views]
    fused: list[list[Group]] = []
    for lists_of_query in zip(*lists, strict=True):
        scores: dict[int, float] = {}
        for groups in lists_of_query:
            for rank, group in enumerate(groups, 1):
                if method == "rrf":
                    scores[group.key] = scores.get(group.key, 0.0) + 1 / (_RRF_K + rank)
                else:
                    scores[group.key] = max(scores.get(group.key, group.score), group.score)
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
        fused.append([Group(key, score) for key, score in ranked])
    attach_matches(fused, views, queries, level=level)
    if method == "max":  # exact scores may differ from those of the index
        for best in fused:
            best[:] = [group._replace(score=group.matches[0].score) if group.matches else group for group in best]
            best.sort(key=lambda group: (-group.score, group.key))
    return fused


def diverse_groups(
    views: Sequence[View], query: Vectors, groups: Sequence[Group], k: int, *, lambda_mult: float = 0.5
) -> list[Group]:
    """Choose k parents by maximal marginal relevance (Carbonell and Goldstein, 1998): near the query, far from those before.

    Both similarities are cosines of best units, so that they can be weighed against each other: `lambda_mult` is the weight of
    the similarity to the query, from 0 (only diversity counts) to 1 (it does not). Candidates come best first, each with at least
    one match.
    """
    if not groups:
        return []
    rows = np.array([group.matches[0].row for group in groups], np.int64)
    vectors = np.zeros((len(rows), len(query)), np.float32)
    for view in views:
        positions, which = view.columns.members["unit"].positions(rows)
        if len(positions):
            distinct, place = np.unique(view.columns.vectors[positions], return_inverse=True)
            vectors[which] = view.exact(distinct)[place]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)  # a zero vector is near nothing
    relevance = products(directions, query / (np.linalg.norm(query) or 1))
    marginal, nearest = relevance.copy(), np.full(len(vectors), -np.inf)
    chosen: list[int] = []
    while len(chosen) < min(k, len(vectors)):
        best = int(marginal.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, products(directions, directions[best]))
        marginal = lambda_mult * relevance - (1 - lambda_mult) * nearest
        marginal[chosen] = -np.inf
    return [groups[place] for place in chosen]
