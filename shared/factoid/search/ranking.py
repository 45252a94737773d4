"""Scored units in flat arrays: grouped by parent, ranked and cut, for all queries of a batch at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from factoid.encode import Vectors
from factoid.search.columns import Columns, starts_of_runs
from factoid.search.ranges import Ids, Mask, expanded
from factoid.search.records import Group, Level, Scored


@dataclass(frozen=True)
class Ranked:
    """Groups of several queries in flat arrays, sorted by (query, score descending, key).

    Attributes:
        queries, keys, scores: One entry for each group.
        groups, positions, unit_scores: One entry for each match: the number of its group, ascending, the position of
            the unit, and its score, best first in each group.
    """

    queries: Ids
    keys: Ids
    scores: Vectors
    groups: Ids
    positions: Ids
    unit_scores: Vectors


def rank(
    columns: Columns, queries: Ids, positions: Ids, scores: Vectors, *, level: Level, k: int, matches: int
) -> Ranked:
    """Group scored units, and keep the k best groups of each query with their best units. Shapes: (units,) each."""
    keys = columns.keys(level)[positions]
    order = np.lexsort((columns.rows[positions], -scores, keys, queries))
    queries, keys, positions, scores = queries[order], keys[order], positions[order], scores[order]
    new = np.zeros(len(order), np.bool_)
    new[starts_of_runs(keys)] = True
    new[starts_of_runs(queries)] = True
    starts = np.flatnonzero(new)
    own, own_keys, own_scores = queries[starts], keys[starts], scores[starts]
    best = np.lexsort((own_keys, -own_scores, own))
    ordered = own[best]
    kept = best[np.arange(len(best)) - np.searchsorted(ordered, ordered) < k]
    counts = np.minimum(np.diff(starts, append=len(order))[kept], matches)
    units, groups = expanded(starts[kept], counts)
    return Ranked(own[kept], own_keys[kept], own_scores[kept], groups, positions[units], scores[units])


def merged(parts: list[Ranked]) -> Ranked:
    """Return groups of different queries as one, sorted by query."""
    if len(parts) == 1:
        return parts[0]
    ids, values = np.empty(0, np.int64), np.empty(0, np.float32)
    if not parts:
        return Ranked(ids, ids, values, ids, ids, values)
    before = np.cumsum([0, *(len(part.keys) for part in parts)])
    queries = np.concatenate([part.queries for part in parts])
    order = np.argsort(queries, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    groups = place[np.concatenate([part.groups + more for part, more in zip(parts, before[:-1], strict=True)])]
    units = np.argsort(groups, kind="stable")
    return Ranked(
        queries[order],
        np.concatenate([part.keys for part in parts])[order],
        np.concatenate([part.scores for part in parts])[order],
        groups[units],
        np.concatenate([part.positions for part in parts])[units],
        np.concatenate([part.unit_scores for part in parts])[units],
    )


def chosen(ranked: Ranked, kept: Mask) -> Ranked:
    """Return some of the groups with their matches."""
    if kept.all():
        return ranked
    place = np.cumsum(kept) - 1
    units = kept[ranked.groups]
    return Ranked(
        ranked.queries[kept],
        ranked.keys[kept],
        ranked.scores[kept],
        place[ranked.groups[units]],
        ranked.positions[units],
        ranked.unit_scores[units],
    )


def groups_of(ranked: Ranked, columns: Columns, queries: int, *, min_score: float | None = None) -> list[list[Group]]:
    """Return the groups of each query as records, those below `min_score` left out."""
    rows = columns.rows[ranked.positions].tolist()
    units = [Scored(row, score) for row, score in zip(rows, ranked.unit_scores.tolist(), strict=True)]
    ends = np.searchsorted(ranked.groups, np.arange(len(ranked.keys) + 1)).tolist()
    found: list[list[Group]] = [[] for _ in range(queries)]
    flat = zip(ranked.queries.tolist(), ranked.keys.tolist(), ranked.scores.tolist(), ends, ends[1:], strict=False)
    for query, key, score, start, end in flat:
        if min_score is None or score >= min_score:
            found[query].append(Group(key, score, tuple(units[start:end])))
    return found
