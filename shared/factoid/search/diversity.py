"""Maximal marginal relevance: results that are near the query, and unlike each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.products import products
from factoid.search.ranges import Ids
from factoid.search.records import Group, Scored
from factoid.search.view import View


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


def diverse_units(
    views: Sequence[View], query: Vectors, units: Sequence[Scored], k: int, *, lambda_mult: float = 0.5
) -> list[Scored]:
    """Choose k of the units by maximal marginal relevance.

    Args:
        views: Where the units are.
        query: Shape: (dim,).
        units: Candidates, best first.
        k: How many to choose, at most those given.
        lambda_mult: As in `most_diverse`.

    Raises:
        InvalidInputError: A unit is in none of the views.
    """
    vectors = vectors_of_rows(views, np.array([unit.row for unit in units], np.int64))
    return [units[place] for place in most_diverse(query, vectors, k=k, lambda_mult=lambda_mult)]


def diverse_groups(
    views: Sequence[View], query: Vectors, groups: Sequence[Group], k: int, *, lambda_mult: float = 0.5
) -> list[Group]:
    """Choose k of the parents by maximal marginal relevance of their best units. Arguments as above.

    Raises:
        InvalidInputError: A group has no matches, or they are in none of the views.
    """
    if not all(group.matches for group in groups):
        message = "diverse_groups compares parents by their best units: search with matches=1 or more"
        raise InvalidInputError(message)
    vectors = vectors_of_rows(views, np.array([group.matches[0].row for group in groups], np.int64))
    return [groups[place] for place in most_diverse(query, vectors, k=k, lambda_mult=lambda_mult)]


def vectors_of_rows(views: Sequence[View], rows: Ids) -> Vectors:
    """Return the exact vectors of units of any of the views. Shape: (len(rows), dim).

    Raises:
        InvalidInputError: A unit is in none of the views.
    """
    if len(rows) == 0:
        return np.empty((0, views[0].index.dim if views else 0), np.float32)
    vectors, known = None, np.zeros(len(rows), np.bool_)
    for view in views:
        positions, which = view.columns.positions_of_rows(rows)
        if len(positions):
            distinct, place = np.unique(view.columns.vectors[positions], return_inverse=True)
            own = view.exact(distinct)[place]
            vectors = np.zeros((len(rows), own.shape[1]), np.float32) if vectors is None else vectors
            vectors[which], known[which] = own, True
    if vectors is None or not known.all():
        message = f"rows {rows[~known][:5].tolist()} are units of none of the granularities given"
        raise InvalidInputError(message)
    return vectors
