"""Several granularities at once: lists of parents fused by rank or by score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from factoid.encode import Vectors
from factoid.search.columns import Mask
from factoid.search.rollup import Group, Level, Scored, View, best_children, best_groups
from factoid.units import Granularity

Fusion = Literal["rrf", "max"]

_RRF_K = 60  # as in the paper
_DEPTH = 10  # parents of each list that reciprocal rank fusion looks at, for each of the k
_LEAST_DEPTH = 100


def best_fused(
    views: Sequence[View],
    queries: Vectors,
    k: int,
    *,
    level: Level,
    method: Fusion = "rrf",
    allowed: Mapping[Granularity, Mask] | None = None,
    parameters: Mapping[Granularity, Mapping[str, Any]] | None = None,
    refine: int | None = None,
    min_score: float | None = None,
    matches: int = 3,
) -> list[list[Group]]:
    """Return the k best parents for each query by the units of several granularities; equal ones by row.

    Args:
        views: One for each granularity.
        queries: As in `best_groups`.
        k: How many, at least 1.
        level: What the parents are. With "unit" nothing is rolled up, and units of all granularities stand side by side.
        method: "rrf" is reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009) of the `max(10 * k, 100)` best parents
            of each granularity: a parent scores the sum of `1 / (60 + rank)` over the lists it stands in, ranks from 1.
            "max" takes a parent's best score of any granularity, and is exact; the scores must mean the same in all.
        allowed: Units that the filter allows, by granularity; all where there is no mask.
        parameters: How wide an approximate index searches, by granularity.
        refine: As in `best_groups`.
        min_score: Parents that score less at a granularity do not take part in its list. This is a score of units, not
            one of ranks.
        matches: How many units to return with each parent, of any granularity, from 0.
    """
    masks = allowed or {}
    depth = k if method == "max" else max(_DEPTH * k, _LEAST_DEPTH)
    lists = [
        best_groups(
            view,
            queries,
            depth,
            level=level,
            allowed=masks.get(view.granularity),
            parameters=(parameters or {}).get(view.granularity),
            refine=refine,
            min_score=min_score,
            matches=0,
        )
        for view in views
    ]
    fused = [_fused([groups[query] for groups in lists], k, method) for query in range(len(queries))]
    if matches:
        attach_matches(fused, views, queries, level=level, allowed=masks, matches=matches)
    if method == "max":  # exact scores may differ from the index's
        fused = [
            [group._replace(score=group.matches[0].score) if group.matches else group for group in best]
            for best in fused
        ]
        for best in fused:
            best.sort(key=lambda group: (-group.score, group.key))
    return fused


def attach_matches(
    results: Sequence[list[Group]],
    views: Sequence[View],
    queries: Vectors,
    *,
    level: Level,
    allowed: Mapping[Granularity, Mask],
    matches: int,
) -> None:
    """Give the parents of each query their best units of several granularities, by exact scores."""
    # Units are scored for the parents that are left only, and not for all that took part.
    keys = np.array([group.key for groups in results for group in groups], np.int64)
    which = np.repeat(np.arange(len(results)), [len(groups) for groups in results])
    units: list[list[Scored]] = [[] for _ in keys]
    for view in views:
        mask = allowed.get(view.granularity)
        scored = best_children(view, queries, which, keys, level=level, allowed=mask, matches=matches)
        for parent, row, score in zip(*(array.tolist() for array in scored), strict=True):
            units[parent].append(Scored(row, score))
    parents = iter(units)
    for groups in results:
        for place, group in enumerate(groups):
            best = sorted(next(parents), key=lambda unit: (-unit.score, unit.row))[:matches]
            groups[place] = group._replace(matches=tuple(best))


def _fused(lists: Iterable[Sequence[Group]], k: int, method: Fusion) -> list[Group]:
    """Return the k best parents of several lists for one query."""
    scores: dict[int, float] = {}
    for groups in lists:
        for rank, group in enumerate(groups, 1):
            if method == "rrf":
                scores[group.key] = scores.get(group.key, 0.0) + 1 / (_RRF_K + rank)
            else:
                scores[group.key] = max(scores.get(group.key, group.score), group.score)
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
    return [Group(key, score) for key, score in best]
