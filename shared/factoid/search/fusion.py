"""Several granularities at once: lists of parents fused by rank or by score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.search.parents import best_groups, best_matches
from factoid.search.ranges import Mask
from factoid.search.records import Group, Level, Scored
from factoid.search.view import View
from factoid.units import Granularity

Fusion = Literal["rrf", "max"]

_RRF_K = 60  # as in the paper
_DEPTH = 10  # parents of each list that reciprocal rank fusion looks at, for each of the k
_DEPTH_LEAST = 100


def fuse(
    lists: Mapping[Granularity, Sequence[Group]],
    k: int,
    *,
    method: Fusion = "rrf",
    rrf_k: int = _RRF_K,
    matches: int | None = None,
) -> list[Group]:
    """Return the k best parents of several lists; equal ones by row.

    `rrf` is reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): a parent scores the sum of `1 / (rrf_k + rank)`
    over the lists it stands in, ranks from 1. `max` takes a parent's best score of any list, and is exact where each
    list holds its k best; the scores must then mean the same in all of them.

    Args:
        lists: The parents found at each granularity, best first.
        k: How many, at least 1.
        method: How to fuse.
        rrf_k: How little the first ranks outweigh the next ones.
        matches: How many units to give with each parent, best first whatever their granularity; None for all.

    Raises:
        InvalidInputError: An option is out of range.
    """
    _check(k, method, rrf_k)
    scores: dict[int, float] = {}
    units: dict[int, dict[int, Scored]] = {}
    for groups in lists.values():
        for rank, group in enumerate(groups, 1):
            if method == "rrf":
                scores[group.key] = scores.get(group.key, 0.0) + 1 / (rrf_k + rank)
            else:
                scores[group.key] = max(scores.get(group.key, group.score), group.score)
            units.setdefault(group.key, {}).update({match.row: match for match in group.matches})
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
    return [Group(key, score, _first(units[key].values(), matches)) for key, score in best]


def best_fused(
    views: Sequence[View],
    queries: Vectors,
    k: int,
    *,
    level: Level,
    method: Fusion = "rrf",
    rrf_k: int = _RRF_K,
    depth: int | None = None,
    allowed: Mapping[Granularity, Mask] | None = None,
    parameters: Mapping[Granularity, Mapping[str, Any]] | None = None,
    refine: int | None = None,
    min_score: float | None = None,
    matches: int = 3,
) -> list[list[Group]]:
    """Return the k best parents for each query by the units of several granularities.

    Args:
        views: One for each granularity.
        queries: Shape: (n, dim).
        k: How many, at least 1.
        level: What the parents are. With "unit" nothing is rolled up, and units of all granularities stand side by side.
        method: As in `fuse`.
        rrf_k: As in `fuse`.
        depth: How many parents of each granularity take part in "rrf"; by default `max(10 * k, 100)`.
        allowed: Units that the filter allows, by granularity; all where there is no mask.
        parameters: How wide an approximate index searches, by granularity.
        refine: As in `best_groups`.
        min_score: Parents that score less at a granularity do not take part in its list. This is a score of units, not
            one of ranks.
        matches: How many units to give with each parent, of any granularity, from 0.

    Raises:
        InvalidInputError: An option is out of range.
        EncoderMismatchError: The queries are not finite or of another dimension.
    """
    _check(k, method, rrf_k)
    if depth is not None and depth < 1:
        message = f"depth must be at least 1, got {depth}"
        raise InvalidInputError(message)
    wide = k if method == "max" else max(k, depth or max(_DEPTH * k, _DEPTH_LEAST))
    masks = allowed or {}
    found = {
        view.granularity: best_groups(
            view,
            queries,
            wide,
            level=level,
            allowed=masks.get(view.granularity),
            parameters=(parameters or {}).get(view.granularity),
            refine=refine,
            min_score=min_score,
            matches=0,
        )
        for view in views
    }
    fused = [
        fuse({kind: groups[query] for kind, groups in found.items()}, k, method=method, rrf_k=rrf_k)
        for query in range(len(queries))
    ]
    if matches == 0:
        return fused
    # Units are scored for the parents that are left only, and not for all that took part.
    keys = [[group.key for group in groups] for groups in fused]
    units = [
        best_matches(view, queries, keys, level=level, allowed=masks.get(view.granularity), matches=matches)
        for view in views
    ]
    return [
        _with_matches(groups, [each[query] for each in units], method, matches) for query, groups in enumerate(fused)
    ]


def _with_matches(
    groups: Sequence[Group], units: Sequence[Sequence[tuple[Scored, ...]]], method: Fusion, matches: int
) -> list[Group]:
    """Give groups their best units of all granularities; with "max" a group's score is that of the first."""
    found = []
    for place, group in enumerate(groups):
        best = _first((unit for each in units for unit in each[place]), matches)
        found.append(Group(group.key, best[0].score if method == "max" and best else group.score, best))
    return sorted(found, key=lambda group: (-group.score, group.key))


def _first(units: Iterable[Scored], count: int | None) -> tuple[Scored, ...]:
    return tuple(sorted(units, key=lambda unit: (-unit.score, unit.row))[:count])


def _check(k: int, method: Fusion, rrf_k: int) -> None:
    if k < 1:
        message = f"k must be at least 1, got {k}"
        raise InvalidInputError(message)
    if method not in get_args(Fusion):
        message = f"unknown fusion {method!r}: expected one of {', '.join(get_args(Fusion))}"
        raise InvalidInputError(message)
    if rrf_k < 0:
        message = f"rrf_k must be at least 0, got {rrf_k}"
        raise InvalidInputError(message)
