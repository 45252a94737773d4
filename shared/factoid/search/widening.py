"""The k best distinct parents of units, by a search that is widened until it is proven to be wide enough.

A parent's score is the best score of any of its units (Dense X Retrieval, §4.3). Units come in order of score: a parent
that was not met has no unit better than any of those that were. So the search ends when k parents were met, when there
is nothing left, or when all that is left is worse than the least score that is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.search.ranges import Ids, Mask
from factoid.search.ranking import Ranked, chosen, merged, rank
from factoid.search.records import Level
from factoid.search.sources import ExactSource, IndexSource, Source, few
from factoid.search.view import View

_REFINE = 10
_FACTOR = 4  # by which a search is widened
_ENTRIES = 1 << 21  # results that are held at once


@dataclass(frozen=True)
class Wanted:
    """What is searched for.

    Attributes:
        k: How many distinct groups.
        level: What units are grouped by.
        mask: Units that the filter allows; None for all.
        matches: How many units to keep of each group.
        refine: How many candidates of a lossy index are scored again, for each of the k; None for 10.
        min_score: Worse groups need not be met; None for no limit.
        parameters: For the index.
    """

    k: int
    level: Level = "unit"
    mask: Mask | None = None
    matches: int = 1
    refine: int | None = None
    min_score: float | None = None
    parameters: Mapping[str, Any] | None = None


def widen(view: View, queries: Vectors, wanted: Wanted) -> tuple[Ranked, bool]:
    """Return the k best groups for each query, and whether they and their matches are the best for certain."""
    allowed = None if wanted.mask is None else view.columns.distinct_vectors(wanted.mask)
    every = np.arange(len(queries))
    if len(view.columns) == 0 or (allowed is not None and len(allowed) == 0):
        return merged([]), True
    if allowed is not None and few(view, len(queries), len(allowed)):
        return _scan(view, queries, every, wanted, allowed), True
    source = IndexSource(view, queries, allowed, wanted.parameters)
    parts, left = _rounds(view, source, every, wanted)
    if len(left):  # an approximate index did not find what is there
        everything = view.columns.distinct_vectors() if allowed is None else allowed
        parts.append(_scan(view, queries, left, wanted, everything))
    return merged(parts), source.exact


def checked(view: View, queries: Vectors, wanted: Wanted) -> tuple[Vectors, Wanted]:
    """Return queries as the index takes them, and refuse what cannot be searched for.

    Raises:
        InvalidInputError: An option is out of range, or the mask is of other units.
        EncoderMismatchError: The queries are not finite or of another dimension.
    """
    for name, value, least in (("k", wanted.k, 1), ("matches", wanted.matches, 0), ("refine", wanted.refine, 1)):
        if value is not None and value < least:
            message = f"{name} must be at least {least}, got {value}"
            raise InvalidInputError(message)
    if wanted.level not in get_args(Level):
        message = f"unknown level {wanted.level!r}: expected one of {', '.join(get_args(Level))}"
        raise InvalidInputError(message)
    if wanted.mask is not None and wanted.mask.shape != (len(view.columns),):
        message = f"expected a mask of shape ({len(view.columns)},), one boolean for each unit, got {wanted.mask.shape}"
        raise InvalidInputError(message)
    queries = np.ascontiguousarray(queries, np.float32)
    if queries.ndim != 2 or queries.shape[1] != view.index.dim:
        message = f"expected queries of shape (n, {view.index.dim}), got {queries.shape}: was another encoder used?"
        raise EncoderMismatchError(message)
    if not np.isfinite(queries).all():
        message = "the vector of a query is not finite: the encoder failed on it"
        raise EncoderMismatchError(message)
    if wanted.mask is not None and wanted.mask.all():
        wanted = replace(wanted, mask=None)
    return queries, wanted


def _scan(view: View, queries: Vectors, which: Ids, wanted: Wanted, allowed: Ids) -> Ranked:
    """Score a selection exactly, some queries at a time."""
    parts = []
    step = ExactSource.most_queries(len(allowed))
    for start in range(0, len(which), step):
        some = which[start : start + step]
        found, _ = _rounds(view, ExactSource(view, queries[some], allowed), np.arange(len(some)), wanted)
        parts += [_renumbered(part, some) for part in found]
    return merged(parts)


def _rounds(view: View, source: Source, pending: Ids, wanted: Wanted) -> tuple[list[Ranked], Ids]:
    """Search wider and wider; return the groups, and the queries for which an inexact source found too few."""
    parts: list[Ranked] = []
    unmet: list[Ids] = []
    count, reachable = max(1, min(_first(view, wanted), source.total)), wanted.k
    while len(pending):
        step = max(1, _ENTRIES // max(1, count))
        lacking = []
        for start in range(0, len(pending), step):
            some = pending[start : start + step]
            scores, ids = source.best(some, count)
            ranked = _ranked(view, wanted, some, scores, ids)
            met = np.bincount(ranked.queries, minlength=int(some[-1]) + 1)[some]
            short = met < reachable
            if short.any() and reachable == wanted.k:
                reachable = min(wanted.k, _groups(view, wanted))
                short = met < reachable
            if wanted.min_score is not None:
                short &= np.where(ids >= 0, scores, np.inf).min(axis=1, initial=np.inf) >= wanted.min_score
            over = (ids >= 0).sum(axis=1) < count if count < source.total else np.ones(len(some), np.bool_)
            if not source.exact:
                unmet.append(some[short & over])
            lacking.append(some[short & ~over])
            again = np.zeros(int(some[-1]) + 1, np.bool_)
            again[lacking[-1]] = True
            if not source.exact:
                again[unmet[-1]] = True
            parts.append(_without(ranked, again))
        pending = np.concatenate(lacking)
        count = min(count * _FACTOR, source.total)
    return parts, np.concatenate(unmet) if unmet else np.empty(0, np.int64)


def _first(view: View, wanted: Wanted) -> int:
    """Return how many vectors to ask for first."""
    least = wanted.k * (wanted.refine or _REFINE) if view.index.lossy else wanted.k
    if wanted.level == "unit":
        return least
    # Twice the units of k average parents: units of a good parent come together.
    average = len(view.columns) / max(1, len(view.columns.members(wanted.level).keys))
    return max(least, int(wanted.k * min(max(2 * average, 4), 32)))


def _groups(view: View, wanted: Wanted) -> int:
    """Return how many groups there are to be met."""
    if wanted.mask is None:
        return len(view.columns.members(wanted.level).keys)
    keys = view.columns.keys(wanted.level)[wanted.mask]
    return len(keys) if wanted.level == "unit" else len(np.unique(keys))


def _ranked(view: View, wanted: Wanted, which: Ids, scores: Vectors, ids: Ids) -> Ranked:
    """Return the best groups of all allowed units that have the vectors found."""
    # FAISS leaves -1 where a score is beyond float32; what else is no number is left out, too.
    at, place = np.nonzero((ids >= 0) & np.isfinite(scores))
    positions, pair = view.columns.positions_of_vectors(ids[at, place])
    queries, values = which[at][pair], scores[at, place][pair]
    if wanted.mask is not None:
        allowed = wanted.mask[positions]
        queries, positions, values = queries[allowed], positions[allowed], values[allowed]
    return rank(
        view.columns, queries, positions, values, level=wanted.level, k=wanted.k, matches=max(1, wanted.matches)
    )


def _without(ranked: Ranked, again: Mask) -> Ranked:
    return chosen(ranked, ~again[ranked.queries])


def _renumbered(ranked: Ranked, which: Ids) -> Ranked:
    return Ranked(
        which[ranked.queries], ranked.keys, ranked.scores, ranked.groups, ranked.positions, ranked.unit_scores
    )
