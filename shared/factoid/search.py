"""Search at one granularity, and roll-up from scored units to their parents.

A parent's score is the best score of any of its units (Dense X Retrieval, §4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from factoid.database import Database
from factoid.encode import Vectors
from factoid.index import RowIds, VectorIndex
from factoid.units import Granularity, Hit

_MATCHES = 3  # units shown with a parent


class Scored(NamedTuple):
    """A row id and its score; higher is better."""

    row: int
    score: float


def find_units(
    database: Database,
    index: VectorIndex,
    query: Vectors,
    *,
    k: int,
    granularity: Granularity,
    allowed: RowIds | None = None,
) -> list[Hit]:
    """Return the k best units of one granularity; a passage is its own match.

    Args:
        database: Where the units are.
        index: The index of the granularity.
        query: Shape: (1, dim).
        k: How many.
        granularity: What the index holds.
        allowed: Rows that passed the filter; None for all.
    """
    found = _best(index, query, k, allowed)
    units = database.units([hit.row for hit in found])
    hits = [Hit(units[row], score) for row, score in found]
    return [Hit(hit.unit, hit.score, (hit,)) for hit in hits] if granularity is Granularity.PASSAGE else hits


def find_parents(
    database: Database,
    index: VectorIndex,
    query: Vectors,
    *,
    k: int,
    granularity: Granularity,
    allowed: RowIds | None = None,
) -> list[Hit]:
    """Return the k best distinct parents of units of one granularity, each with its best units. Arguments as above."""
    total = len(index) if allowed is None else len(allowed)
    found = top_parents(lambda count: _best(index, query, count, allowed), database.parents, k=k, total=total)
    parent_of = database.children([hit.row for hit in found], granularity)
    below = np.array(list(parent_of), dtype=np.int64)
    if allowed is not None:
        below = np.intersect1d(below, allowed)
    # The sort is stable, so that the units of one parent stay best first.
    ranked = sorted(_best(index, query, len(below), below), key=lambda hit: parent_of[hit.row])
    matches = {row: list(hits)[:_MATCHES] for row, hits in groupby(ranked, lambda hit: parent_of[hit.row])}
    units = database.units([hit.row for hits in (found, *matches.values()) for hit in hits])
    return [
        Hit(units[row], score, tuple(Hit(units[match.row], match.score) for match in matches[row]))
        for row, score in found
    ]


def top_parents(
    search: Callable[[int], Sequence[Scored]],
    parents: Callable[[Sequence[int]], dict[int, int]],
    *,
    k: int,
    total: int,
) -> list[Scored]:
    """Return the k best distinct parents, or all if there are fewer. Exact where `search` is exact.

    The search is widened until it has met k parents or all units. That ends it by proof: units come in order of score,
    so a parent that was not met has no unit better than any of those that were.

    Args:
        search: Returns the n best units, best first.
        parents: Maps rows of units to rows of their parents.
        k: How many parents.
        total: How many units there are to search.
    """
    wide = min(total, 4 * k)
    while True:
        units = search(wide)
        parent_of = parents([unit.row for unit in units])
        best: dict[int, float] = {}
        for unit in units:
            best.setdefault(parent_of[unit.row], unit.score)
        if len(best) >= k or wide >= total:
            return [Scored(row, score) for row, score in best.items()][:k]
        wide = min(total, 4 * wide)


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
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)
    relevance = directions @ (query / (np.linalg.norm(query) or 1))
    marginal, nearest = relevance.copy(), np.full(len(vectors), -np.inf)
    chosen: list[int] = []
    while len(chosen) < min(k, len(vectors)):
        best = int(marginal.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, directions @ directions[best])
        marginal = lambda_mult * relevance - (1 - lambda_mult) * nearest
        marginal[chosen] = -np.inf
    return chosen


def _best(index: VectorIndex, query: Vectors, count: int, allowed: RowIds | None) -> list[Scored]:
    if count == 0:
        return []
    scores, rows = index.search(query, count, allowed=allowed)
    # FAISS leaves -1 where a score is beyond float32.
    return [Scored(int(row), float(score)) for row, score in zip(rows[0], scores[0], strict=True) if row >= 0]
