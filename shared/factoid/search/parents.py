"""Roll-up: the k best distinct parents of units, and the units that made them so (Dense X Retrieval, §4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from factoid.encode import Vectors
from factoid.search.ranges import Ids, Mask, expanded
from factoid.search.ranking import Ranked, groups_of
from factoid.search.records import Group, Level, Scored
from factoid.search.sources import pair_scores
from factoid.search.view import View
from factoid.search.widening import Wanted, checked, widen
from factoid.units import Granularity


def best_groups(
    view: View,
    queries: Vectors,
    k: int,
    *,
    level: Level,
    allowed: Mask | None = None,
    parameters: Mapping[str, Any] | None = None,
    refine: int | None = None,
    min_score: float | None = None,
    matches: int = 3,
) -> list[list[Group]]:
    """Return the k best distinct parents for each query by their best unit; equal ones by row; all if there are fewer.

    Exact for exact indexes. The matches are the best of all units of a parent that are allowed, by exact scores, not
    only of those that the index found; the score is that of the first.

    Args:
        view: What is searched.
        queries: Shape: (n, dim).
        k: How many, at least 1.
        level: What the parents are. A passage is its own passage.
        allowed: Units that the filter allows, shape (len(view.columns),); None for all.
        parameters: How wide an approximate index searches.
        refine: Candidates of a lossy index that are scored exactly, for each of the k; 10 by default.
        min_score: Worse parents are left out.
        matches: How many units to give with each parent, from 0.

    Raises:
        InvalidInputError: An argument is out of range.
        EncoderMismatchError: The queries are not finite or of another dimension.
    """
    level = _level(view, level)
    queries, wanted = checked(
        view,
        queries,
        Wanted(k, level, allowed, matches, refine=refine, min_score=min_score, parameters=parameters),
    )
    ranked, certain = widen(view, queries, wanted)
    if matches == 0:
        nothing = np.empty(0, np.int64)
        ranked = replace(ranked, groups=nothing, positions=nothing, unit_scores=np.empty(0, np.float32))
    elif level != "unit":
        ranked = _with_children(view, queries, ranked, wanted, certain=certain)
    return groups_of(ranked, view.columns, len(queries), min_score=min_score)


def best_matches(
    view: View,
    queries: Vectors,
    keys: Sequence[Sequence[int]],
    *,
    level: Level,
    allowed: Mask | None = None,
    matches: int = 3,
) -> list[list[tuple[Scored, ...]]]:
    """Return the best units, by exact scores, of given parents: rows of parents for each query in `keys`.

    A parent that has no units here has no matches. The other arguments are as above.
    """
    level = _level(view, level)
    queries, wanted = checked(view, queries, Wanted(1, level, allowed, matches))
    counts = np.array([len(each) for each in keys], np.int64)
    flat = np.array([key for each in keys for key in each], np.int64)
    which = np.repeat(np.arange(len(counts)), counts)
    groups, positions, scores = _best_children(view, queries, which, flat, wanted)
    rows = view.columns.rows[positions].tolist()
    units = [Scored(row, score) for row, score in zip(rows, scores.tolist(), strict=True)]
    ends = np.searchsorted(groups, np.arange(len(flat) + 1)).tolist()
    found: list[list[tuple[Scored, ...]]] = [[] for _ in keys]
    for query, start, end in zip(which.tolist(), ends, ends[1:], strict=False):
        found[query].append(tuple(units[start:end]))
    return found


def _level(view: View, level: Level) -> Level:
    return "unit" if level == "passage" and view.granularity is Granularity.PASSAGE else level


def _with_children(view: View, queries: Vectors, ranked: Ranked, wanted: Wanted, *, certain: bool) -> Ranked:
    """Complete the matches of the groups; where the search was exact, only of those of which it met too few units."""
    met = np.bincount(ranked.groups, minlength=len(ranked.keys))
    short = np.flatnonzero(met < wanted.matches) if certain else np.arange(len(ranked.keys))
    if certain:  # a group of which all units were met is complete
        short = short[_sizes(view, ranked.keys[short], wanted) > met[short]]
    if len(short) == 0:
        return ranked
    groups, positions, scores = _best_children(view, queries, ranked.queries[short], ranked.keys[short], wanted)
    groups = short[groups]
    kept = ~np.isin(ranked.groups, groups)
    groups = np.concatenate([ranked.groups[kept], groups])
    positions = np.concatenate([ranked.positions[kept], positions])
    scores = np.concatenate([ranked.unit_scores[kept], scores])
    order = np.argsort(groups, kind="stable")
    groups, positions, scores = groups[order], positions[order], scores[order]
    # Exact scores may differ from the index's: in the last digit, or more where the search was not exact.
    best = scores[np.searchsorted(groups, np.arange(len(ranked.keys)))]
    order = np.lexsort((ranked.keys, -best, ranked.queries))
    starts = np.searchsorted(groups, order)
    units, place = expanded(starts, np.searchsorted(groups, order, "right") - starts)
    return Ranked(ranked.queries[order], ranked.keys[order], best[order], place, positions[units], scores[units])


def _sizes(view: View, keys: Ids, wanted: Wanted) -> Ids:
    """Return how many units that are allowed each group has."""
    positions, which = view.columns.children_of(keys, wanted.level)
    if wanted.mask is not None:
        which = which[wanted.mask[positions]]
    return np.bincount(which, minlength=len(keys))


def _best_children(view: View, queries: Vectors, which: Ids, keys: Ids, wanted: Wanted) -> tuple[Ids, Ids, Vectors]:
    """Score all allowed units of some groups, and return the best of each: group numbers, positions and scores."""
    positions, groups = view.columns.children_of(keys, wanted.level)
    if wanted.mask is not None:
        allowed = wanted.mask[positions]
        positions, groups = positions[allowed], groups[allowed]
    scores = pair_scores(view, queries, which[groups], view.columns.vectors[positions])
    order = np.lexsort((view.columns.rows[positions], -scores, groups))
    order = order[np.isfinite(scores[order])]
    groups, positions, scores = groups[order], positions[order], scores[order]
    best = np.arange(len(groups)) - np.searchsorted(groups, groups) < wanted.matches
    return groups[best], positions[best], scores[best]
