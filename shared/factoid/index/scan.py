"""An exact search of many queries at once, by matrix products.

FAISS compares a batch with a flat index one query after the other (its `distance_compute_blas_threshold` is 128,000
queries); a product of matrices reads every vector once for all of them.
"""

from __future__ import annotations

import numpy as np

from factoid.encode import Vectors
from factoid.index.ids import RowIds

LEAST_QUERIES = 12  # below, FAISS is the faster

_BLOCK = 8192  # vectors scored at a time: 2 MB of scores for 64 queries stay in the cache
_QUERIES = 256  # queries scored at a time


def scan(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, RowIds]:
    """Return the k largest inner products of each query, and the positions of the vectors; equal ones by position.

    Args:
        vectors: Shape: (count, dim).
        queries: Shape: (n, dim).
        k: How many, at most count.

    Returns:
        Shapes: (n, k) both.
    """
    found = [_scan(vectors, queries[start : start + _QUERIES], k) for start in range(0, len(queries), _QUERIES)]
    return np.concatenate([scores for scores, _ in found]), np.concatenate([positions for _, positions in found])


def _scan(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, RowIds]:
    best = np.full((len(queries), k), -np.inf, np.float32)
    positions = np.full((len(queries), k), -1, np.int64)
    for start in range(0, len(vectors), _BLOCK):
        scores = queries @ vectors[start : start + _BLOCK].T
        better = scores > best[:, -1:]
        rows, columns = np.nonzero(better)
        if (
            len(rows) > len(queries) * k
        ):  # the first blocks: cheaper to sort what is best of each than all that is better
            width = min(k, scores.shape[1])
            columns = np.sort(np.argpartition(scores, scores.shape[1] - width, axis=1)[:, -width:], axis=1)
            new = np.take_along_axis(scores, columns, axis=1)
            _merge(best, positions, np.arange(len(queries)), new, columns + start)
        elif len(rows):
            # Of every query that has better ones all are taken, side by side, padded to the longest.
            own, first, counts = np.unique(rows, return_index=True, return_counts=True)
            width = int(counts.max())
            place = np.arange(len(rows)) - np.repeat(first, counts)
            group = np.repeat(np.arange(len(own)), counts)
            new = np.full((len(own), width), -np.inf, np.float32)
            where = np.full((len(own), width), -1, np.int64)
            new[group, place], where[group, place] = scores[rows, columns], columns + start
            _merge(best, positions, own, new, where)
    return best, positions


def _merge(best: Vectors, positions: RowIds, rows: RowIds, scores: Vectors, found: RowIds) -> None:
    """Put new scores among the best of some rows. What was there before comes first of equals."""
    k = best.shape[1]
    scores, found = np.hstack([best[rows], scores]), np.hstack([positions[rows], found])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    best[rows], positions[rows] = np.take_along_axis(scores, order, axis=1), np.take_along_axis(found, order, axis=1)
