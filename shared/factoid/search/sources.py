"""Where the best vectors come from: the index, or exact scores of a selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from factoid.encode import Vectors
from factoid.products import products
from factoid.search.ranges import Ids
from factoid.search.view import View

# Vectors that are copied and multiplied at once. For few queries a block stays in the processor's cache, and below the
# size from which BLAS wakes its threads, which takes longer than the work; many queries make them worth it.
_BLOCK = 1 << 10
_BLOCK_OF_MANY = 1 << 14
_MANY = 9  # queries

# A selection is scored by itself where that is faster than FAISS, which walks past all vectors once for each query.
# Measured on 200,000 vectors of 384 dimensions in a flat index: one query is as fast either way at a share of 0.1 to
# 0.2, and copies serve all queries of a batch. An approximate index finds the less of a selection the smaller it is: a
# graph of that size 86 to 93 % at a share of 0.01. Where vectors come from the database, fewer are worth it.
_WALKED = 10
_FEW = 2048
_FEW_INEXACT = 20_000
_SHARE_HELD = 0.05
_SHARE_READ = 0.01


class Source(Protocol):
    """The best vectors for queries.

    Attributes:
        total: How many vectors can be found.
        exact: Whether those found are the best for certain.
    """

    total: int
    exact: bool

    def best(self, which: Ids, count: int) -> tuple[Vectors, Ids]:
        """Return scores and ids for the queries of these numbers: at most `count` each, -1 where there is none."""


class IndexSource:
    """The index; candidates of a lossy one are scored again with the exact vectors.

    Args:
        view: What is searched.
        queries: Shape: (n, dim).
        allowed: Ids that take part, ascending; None for all.
        parameters: For the index.
    """

    def __init__(self, view: View, queries: Vectors, allowed: Ids | None, parameters: Mapping[str, Any] | None) -> None:
        self._view, self._queries, self._allowed, self._parameters = view, queries, allowed, parameters
        self.total = len(view.index) if allowed is None else len(allowed)
        self.exact = view.index.exact and not view.index.lossy

    def best(self, which: Ids, count: int) -> tuple[Vectors, Ids]:
        """As in `Source`."""
        queries = self._queries[which]
        scores, ids = self._view.index.search(queries, count, allowed=self._allowed, parameters=self._parameters)
        if self._view.index.lossy:
            at, place = np.nonzero(ids >= 0)
            scores = np.full(ids.shape, -np.inf, np.float32)
            scores[at, place] = pair_scores(self._view, queries, at, ids[at, place])
        return scores, ids


class ExactSource:
    """Exact scores of a selection, which never reaches the index.

    Args:
        view: What is searched.
        queries: Shape: (n, dim).
        allowed: Ids that take part, each once. Scores of all pairs are held: see `most_queries`.
    """

    def __init__(self, view: View, queries: Vectors, allowed: Ids) -> None:
        self.total = len(allowed)
        self.exact = True
        self._allowed = allowed
        self._scores = np.empty((len(queries), len(allowed)), np.float32)
        many = len(queries) >= _MANY
        size = _BLOCK_OF_MANY if many else _BLOCK
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(allowed), size):
                block = view.exact(allowed[start : start + size])
                scores = self._scores[:, start : start + len(block)]
                if many:
                    np.matmul(queries, block.T, out=scores)
                else:
                    for query, own in zip(queries, scores, strict=True):
                        np.matmul(block, query, out=own)

    def best(self, which: Ids, count: int) -> tuple[Vectors, Ids]:
        """As in `Source`; in no order."""
        scores = self._scores if len(which) == len(self._scores) else self._scores[which]
        if count >= self.total:
            return scores, np.broadcast_to(self._allowed, scores.shape)
        # What is no number is left behind: it sorts after all numbers.
        places = np.argpartition(-scores, count - 1, axis=1)[:, :count]
        return np.take_along_axis(scores, places, axis=1), self._allowed[places]

    @staticmethod
    def most_queries(total: int) -> int:
        """Return how many queries may be scored at once against so many vectors: 64 MiB of scores."""
        return max(1, (1 << 24) // max(1, total))


def few(view: View, queries: int, selected: int) -> bool:
    """Tell whether a selection of vectors is scored faster, or better, by itself than by the index."""
    if selected <= _FEW:
        return True
    if view.index.exact and not view.index.lossy:
        return selected * _WALKED <= len(view.index) * queries
    share = _SHARE_HELD if view.index.holds_vectors else _SHARE_READ
    return selected <= min(_FEW_INEXACT, len(view.index) * share)


def pair_scores(view: View, queries: Vectors, which: Ids, ids: Ids) -> Vectors:
    """Return the exact inner product of each query `which` with the vector `ids`. Shape: (pairs,).

    Vectors that occur in several pairs are read once.
    """
    scores = np.empty(len(ids), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(ids), _BLOCK):
            pairs = slice(start, start + _BLOCK)
            distinct, place = np.unique(ids[pairs], return_inverse=True)
            vectors = view.exact(distinct)
            if len(queries) == 1:
                scores[pairs] = products(vectors, queries[0])[place]
            else:
                scores[pairs] = np.einsum("ij,ij->i", queries[which[pairs]], vectors[place])
    return scores
