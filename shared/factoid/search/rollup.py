"""Roll-up: the k best distinct parents of units, and the units that made them so (Dense X Retrieval, §4.3).

A parent's score is the best score of any of its units. Units come in order of score, so a parent not yet met has no unit better
than those already met. A search is widened until k parents are met, nothing is left, or everything left is worse than the minimum
score. The matches of a parent are then scored exactly, whichever of them the index found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from factoid.encode import Vectors
from factoid.index import VectorIndex
from factoid.search.columns import Columns, Ids, Mask
from factoid.units import Granularity

# How results are grouped: each unit alone, by its passage, or by its document.
Level = Literal["unit", "passage", "document"]

MATCHES = 3  # best units to return with each parent
_REFINE = 10
_FACTOR = 4  # by which a search is widened
_ENTRIES = 1 << 21  # results in memory at once
_SCORES = 1 << 24  # exact scores of a selection in memory at once: 64 MiB

# Vectors that are copied and multiplied at once: for few queries a block stays in the processor's cache, and below the size at
# which BLAS starts its threads.
_BLOCK = 1 << 10
_BLOCK_OF_MANY = 1 << 14
_MANY = 9  # queries

# A selection is scored directly if that is faster than FAISS, which walks past all vectors once for each query (measured on
# 200,000 vectors of 384 dimensions). The smaller a selection, the less of it an approximate index finds. If vectors come from the
# database, fewer are worth it.
_WALKED = 10
_FEW = 2048
_FEW_INEXACT = 20_000
_SHARE_HELD = 0.05
_SHARE_READ = 0.01


class Scored(NamedTuple):
    """A row id and its score; higher is better."""

    row: int
    score: float


class Group(NamedTuple):
    """A parent, the score of its best unit, and its best units, best first."""

    key: int  # row of the passage or document; of the unit itself if it has no parent
    score: float
    matches: tuple[Scored, ...] = ()  # the best units below it that the filter allows
    parts: Mapping[str, float] = MappingProxyType({})  # score of each channel by name, for a blended score


@dataclass(frozen=True)
class View:
    """The units of one granularity at one generation, ready to be searched."""

    granularity: Granularity
    index: VectorIndex  # finds vectors by id; each distinct vector once
    columns: Columns  # which units have those vectors
    exact: Callable[[Ids], Vectors]  # returns the exact vectors of ids. Shapes: (n,) to (n, dim)
    allowed: Mask | None = None  # units that the filter allows; None for all. A few are scored without the index
    parameters: Mapping[str, Any] | None = None  # how wide an approximate index searches (`nprobe`, `efSearch`)
    length: float = 1.0  # typical one of the vectors
    refine: int | None = None  # candidates of a lossy index that are scored exactly, for each of the k; 10 by default

    def parents(self, level: Level) -> Ids:
        """Return the parents that have allowed units, ascending."""
        members = self.columns.members[level]
        return members.keys if self.allowed is None else np.unique(members.values[self.allowed])


class Parents(NamedTuple):
    """Parents of several queries in flat arrays, sorted by (query, score descending, key)."""

    queries: Ids
    keys: Ids
    scores: Vectors

    def of(self, mask: Mask | Ids) -> Parents:
        """Return a subset."""
        return Parents(self.queries[mask], self.keys[mask], self.scores[mask])


def best_groups(
    view: View,
    queries: Vectors,
    k: int,
    *,
    level: Level,
    min_score: float | None = None,
    matches: bool = True,
) -> list[list[Group]]:
    """Return the k best distinct parents for each query by their best unit; equal ones by row; all if there are fewer.

    The result is exact for exact indexes; if an approximate index finds fewer than k, everything is searched. The matches are the
    best of all allowed units of a parent, by exact scores; the parent's score is that of the first. Without `matches` it is the
    index's. Parents below `min_score` are left out.

    Queries are finite, and of unit length where the similarity is the cosine. Shape: (n, dim), float32.
    """
    which, keys, scores = best_parents(view, queries, k, level=level, min_score=min_score)
    numbers, rows, values = which.tolist(), keys.tolist(), scores.tolist()
    units: list[tuple[Scored, ...]] = [()] * len(rows)
    if matches and (level == "unit" or (level == "passage" and view.granularity is Granularity.PASSAGE)):
        units = [(Scored(row, score),) for row, score in zip(rows, values, strict=True)]
    elif matches:
        units = best_units([view], queries, which, keys, level=level)
        # Exact scores may differ from the index's: in the last digit, or more if the search was not exact.
        values = [best[0].score if best else score for best, score in zip(units, values, strict=True)]
    groups: list[list[Group]] = [[] for _ in queries]
    for place in np.lexsort((keys, np.negative(values), which)).tolist():
        score = values[place]
        if min_score is None or score >= min_score:
            groups[numbers[place]].append(Group(rows[place], score, units[place], {str(view.granularity): score}))
    return groups


def best_parents(view: View, queries: Vectors, k: int, *, level: Level, min_score: float | None = None) -> Parents:
    """Return the parents of `best_groups`, by the index's own scores and without matches; some may be below `min_score`."""
    if view.allowed is not None and view.allowed.all():
        view = replace(view, allowed=None)
    columns, unmet = view.columns, np.arange(len(queries))
    vectors = None if view.allowed is None else columns.distinct_vectors(view.allowed)
    total = len(columns.rows) if vectors is None else len(vectors)
    if not total or not len(queries):
        return Parents(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    search = _Search(view, queries, k, level, min_score)
    parts: list[Parents] = []
    if vectors is None or not few(view, len(queries), total):
        parts, unmet = search.widened(unmet, vectors)
    if len(unmet):  # a small selection, or one that an approximate index did not find
        vectors = columns.distinct_vectors() if vectors is None else vectors
        step = max(1, _SCORES // len(vectors))
        for start in range(0, len(unmet), step):
            some = unmet[start : start + step]
            parts += search.widened(some, vectors, search.scores(some, vectors))[0]
    if len(parts) == 1:
        return parts[0]
    merged = Parents(*map(np.concatenate, zip(*parts, strict=True)))
    return merged.of(np.argsort(merged.queries, kind="stable"))


def best_units(
    views: Sequence[View], queries: Vectors, which: Ids, keys: Ids, *, level: Level
) -> list[tuple[Scored, ...]]:
    """Return the best units of each of the parents `keys` for its query `which`, by exact scores; equal ones by row."""
    scored = []
    for view in views:
        positions, parents, scores = scored_units(view, queries, which, keys, level=level)
        scored.append((parents, view.columns.rows[positions], scores))
    return best_of_each(scored, len(keys))


def best_of_each(scored: Sequence[tuple[Ids, Ids, Vectors]], count: int) -> list[tuple[Scored, ...]]:
    """Return the best units of each of `count` parents; equal ones by row.

    The units come in several lists of the parents' numbers, the units' rows and their scores. Shape of each: (units,).
    """
    parents, rows, scores = scored[0] if len(scored) == 1 else map(np.concatenate, zip(*scored, strict=True))
    order = np.lexsort((rows, -scores, parents))
    starts = np.searchsorted(parents, np.arange(count + 1), sorter=order)
    order = order[np.arange(len(order)) - starts[parents[order]] < MATCHES]
    units = list(map(Scored, rows[order].tolist(), scores[order].tolist()))
    ends = np.cumsum(np.minimum(np.diff(starts), MATCHES)).tolist()
    return [tuple(units[start:end]) for start, end in pairwise([0, *ends])]


def attach_matches(results: Sequence[list[Group]], views: Sequence[View], queries: Vectors, *, level: Level) -> None:
    """Give the parents of each query their best units of several granularities, by exact scores."""
    # Only units of the parents that are left are scored, not those of all that took part.
    keys = np.array([group.key for groups in results for group in groups], np.int64)
    which = np.repeat(np.arange(len(results)), list(map(len, results)))
    units = iter(best_units(views, queries, which, keys, level=level))
    for groups in results:
        for place, group in enumerate(groups):
            groups[place] = group._replace(matches=next(units))


def scored_units(view: View, queries: Vectors, which: Ids, keys: Ids, *, level: Level) -> tuple[Ids, Ids, Vectors]:
    """Score the allowed units of the parents `keys`, each for its query `which`, exactly.

    Returns:
        The positions of the units in the columns, the position of each one's parent in `keys`, and the scores. Shape: (units,).
    """
    positions, parents = view.columns.members[level].positions(keys)
    if view.allowed is not None:
        allowed = view.allowed[positions]
        positions, parents = positions[allowed], parents[allowed]
    return positions, parents, pair_scores(view, queries, which[parents], view.columns.vectors[positions])


@dataclass(frozen=True)
class _Search:
    """The parents that several queries meet in one view. The fields are the arguments of `best_groups`."""

    view: View
    queries: Vectors
    k: int
    level: Level
    min_score: float | None

    def scores(self, which: Ids, vectors: Ids) -> Vectors:
        """Score a selection exactly, without the index. Shape: (len(which), len(vectors))."""
        queries = self.queries[which]
        scores = np.empty((len(queries), len(vectors)), np.float32)
        many = len(queries) >= _MANY
        size = _BLOCK_OF_MANY if many else _BLOCK
        with np.errstate(all="ignore"):
            for start in range(0, len(vectors), size):
                block = self.view.exact(vectors[start : start + size])
                out = scores[:, start : start + len(block)]
                if many:
                    np.matmul(queries, block.T, out=out)
                else:
                    for query, row in zip(queries, out, strict=True):
                        np.matmul(block, query, out=row)
        return scores

    def widened(self, which: Ids, vectors: Ids | None, scores: Vectors | None = None) -> tuple[list[Parents], Ids]:
        """Look at more and more vectors; return the parents, and the queries for which an inexact index found too few.

        Only `vectors` count; None for all. If their scores for each query are given, the index is not searched.
        """
        index, columns = self.view.index, self.view.columns
        exact = scores is not None or (index.exact and not index.lossy)
        total = len(index) if vectors is None else len(vectors)
        count = self.k * (self.view.refine or _REFINE) if index.lossy else self.k
        if self.level != "unit":
            units_of_parent = len(columns.rows) / max(1, len(columns.members[self.level].keys))
            if units_of_parent > 1:
                # Twice the units of k average parents: units of a good parent come together.
                count = max(count, int(self.k * min(max(2 * units_of_parent, 4), 32)))
        count = min(count, total)
        parts: list[Parents] = []
        unmet, pending = [which[:0]], which
        while len(pending):
            again = [which[:0]]
            step = max(1, _ENTRIES // count)
            for start in range(0, len(pending), step):
                some = pending[start : start + step]
                if scores is not None and vectors is not None:
                    values, ids = _largest(scores[np.searchsorted(which, some)], vectors, count)
                else:
                    queries = self.queries[some]
                    values, ids = index.search(queries, count, allowed=vectors, parameters=self.view.parameters)
                    if index.lossy:
                        at, place = np.nonzero(ids >= 0)
                        values = np.full(ids.shape, -np.inf, np.float32)
                        values[at, place] = pair_scores(self.view, queries, at, ids[at, place])
                parents = self._rolled_up(some, values, ids)
                met = np.bincount(parents.queries, minlength=int(some[-1]) + 1)[some]
                if (met < self.k).any() and not (exact and count == total):
                    short = met < self._reachable
                    if self.min_score is not None:
                        short &= np.where(ids >= 0, values, np.inf).min(axis=1, initial=np.inf) >= self.min_score
                    exhausted = (ids >= 0).sum(axis=1) < count if count < total else np.True_
                    again.append(some[short & ~exhausted])
                    if not exact:
                        unmet.append(some[short & exhausted])
                    unfinished = some[short & ~exhausted] if exact else some[short]
                    parents = parents.of(~np.isin(parents.queries, unfinished))
                parts.append(parents)
            pending = np.concatenate(again)
            count = min(count * _FACTOR, total)
        return parts, np.concatenate(unmet)

    @cached_property
    def _reachable(self) -> int:
        """Number of parents that can be met: k, or all if there are fewer."""
        return min(self.k, len(self.view.parents(self.level)))

    def _rolled_up(self, which: Ids, scores: Vectors, ids: Ids) -> Parents:
        """Group all allowed units that have these vectors, and keep the k best parents of each query."""
        columns, mask = self.view.columns, self.view.allowed
        at, place = np.nonzero(ids >= 0)
        positions, pair = columns.positions_of_vectors(ids[at, place])
        queries, values = at[pair], scores[at, place][pair]
        if mask is not None:
            allowed = mask[positions]
            queries, positions, values = queries[allowed], positions[allowed], values[allowed]
        keys = columns.members[self.level].values[positions]
        order = np.lexsort((-values, keys, queries))
        queries, keys, values = queries[order], keys[order], values[order]
        first = np.ones(len(order), np.bool_)  # the best unit of each parent
        first[1:] = (keys[1:] != keys[:-1]) | (queries[1:] != queries[:-1])
        queries, keys, values = queries[first], keys[first], values[first]
        order = np.lexsort((keys, -values, queries))
        ordered = queries[order]
        best = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < self.k]
        return Parents(which[queries[best]], keys[best], values[best])


def few(view: View, queries: int, selected: int) -> bool:
    """Return whether a selection of vectors is scored faster, or better, directly than by the index."""
    if selected <= _FEW:
        return True
    if view.index.exact and not view.index.lossy:
        return selected * _WALKED <= len(view.index) * queries
    share = _SHARE_HELD if view.index.ability.holds_vectors else _SHARE_READ
    return selected <= min(_FEW_INEXACT, len(view.index) * share)


def _largest(scores: Vectors, ids: Ids, count: int) -> tuple[Vectors, Ids]:
    """Return the largest scores of each row, unordered, and their ids. Shapes: (n, count) both."""
    if count >= len(ids):
        return scores, np.broadcast_to(ids, scores.shape)
    places = np.argpartition(-scores, count - 1, axis=1)[:, :count]
    return np.take_along_axis(scores, places, axis=1), ids[places]


def pair_scores(view: View, queries: Vectors, which: Ids, ids: Ids) -> Vectors:
    """Return the exact inner product of each query `which` with the vector `ids`. Shape: (pairs,)."""
    scores = np.empty(len(ids), np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, len(ids), _BLOCK):
            pairs = slice(start, start + _BLOCK)
            distinct, place = np.unique(ids[pairs], return_inverse=True)
            vectors = view.exact(distinct)
            if len(queries) == 1:
                scores[pairs] = (vectors @ queries[0])[place]
            else:
                scores[pairs] = np.einsum("ij,ij->i", queries[which[pairs]], vectors[place])
    return scores
