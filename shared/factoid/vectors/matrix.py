"""An array of vectors that grows, and their exact scores on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.inner_products import products

# Bytes of an array that NumPy has put into large pages, where it stays when it grows.
_LARGE = 8 << 20
# Queries from which one matrix product is faster than FAISS's inner products of one query.
_MANY = 9
_LEAST_COMPONENTS = 10_000_000  # below, one core is as fast as several
_MOST_CORES = 8  # more wait for the memory
_BLOCK = 16_384  # vectors that are moved, or gathered for many queries
_FEW = 512  # vectors that are gathered for few queries: they stay in the processor's cache
_GROUPED = 32  # scores that are represented by their largest


class Matrix:
    """Vectors, the first of an array.

    NumPy asks for large pages of memory: reading all of it is then nearly twice as fast. `vectors`
    has the shape (n, dim), float32.
    """

    def __init__(self, vectors: Vectors) -> None:
        self._array = vectors
        if not vectors.flags.owndata:
            self._array = vectors.copy()
        self.vectors = self._array[:]

    def add(self, vectors: Vectors) -> None:
        """Add vectors at the end."""
        start = len(self.vectors)
        end = start + len(vectors)
        if end > len(self._array) and self._array.nbytes >= _LARGE:
            # This view would point to where the array was: the system moves it without a copy.
            del self.vectors
            self._array.resize((end + end // 32, vectors.shape[1]), refcheck=False)
        elif end > len(self._array):
            self._array = np.empty((end + end // 2, vectors.shape[1]), np.float32)
            self._array[:start] = self.vectors
        self._array[start:end] = vectors
        self.vectors = self._array[:end]

    def remove(self, gone: NDArray[np.bool_]) -> None:
        """Remove vectors; those after them move up."""
        rest = np.flatnonzero(~gone)
        for start in range(int(gone.argmax()), len(rest), _BLOCK):
            block = rest[start : start + _BLOCK]
            self.vectors[start : start + len(block)] = self.vectors[block]
        self.vectors = self._array[: len(rest)]

    def products(self, queries: Vectors) -> Vectors:
        """Return the inner products of queries with all vectors. Shape: (queries, n)."""
        import faiss

        if len(queries) >= _MANY:
            return np.asarray(products(queries, self.vectors.T))
        scores = np.empty((len(queries), len(self.vectors)), np.float32)
        cores = 1
        if self.vectors.size >= _LEAST_COMPONENTS:
            cores = min(os.cpu_count() or 1, _MOST_CORES)
        bounds = np.linspace(0, len(self.vectors), cores + 1).astype(int).tolist()
        jobs = []
        for query, row in zip(queries, scores, strict=True):
            for start, end in pairwise(bounds):
                pointers = map(faiss.swig_ptr, (row[start:end], query, self.vectors[start:end]))
                arguments = (*pointers, len(query), end - start)
                if cores == 1:
                    faiss.fvec_inner_products_ny(*arguments)
                else:
                    threads = _threads(cores, os.getpid())
                    jobs.append(threads.submit(faiss.fvec_inner_products_ny, *arguments))
        for job in jobs:
            job.result()
        return scores


def best_first(scores: Vectors, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of scores from the highest; equal ones by their ids. Shape: (n,)."""
    return np.lexsort((ids, -scores))


def largest(scores: Vectors, k: int) -> NDArray[np.int64]:
    """Return the positions, ascending, of the k largest scores, and perhaps of some more.

    Shape: (n,) to (at least k,).
    """
    if len(scores) <= k:
        return np.arange(len(scores))
    sampled = scores
    # The k-th best of the best of groups cannot be above the k-th best of all.
    if len(scores) > 2 * _GROUPED * k:
        whole_groups = len(scores) // _GROUPED * _GROUPED
        sampled = scores[:whole_groups].reshape(_GROUPED, -1).max(axis=0)
    least = np.partition(sampled, -k)[-k]
    return np.flatnonzero(scores >= least)


def gathered_products(
    queries: Vectors, ids: NDArray[np.int64], vectors: Callable[[NDArray[np.int64]], Vectors]
) -> Vectors:
    """Return the inner products of queries with the vectors of some ids. Shape: (queries, ids)."""
    scores = np.empty((len(queries), len(ids)), np.float32)
    size = _FEW
    if len(queries) >= _MANY:
        size = _BLOCK
    for start in range(0, len(ids), size):
        scores[:, start : start + size] = products(queries, vectors(ids[start : start + size]).T)
    return scores


@lru_cache(maxsize=1)
def _threads(count: int, _process: int) -> ThreadPoolExecutor:
    """Return threads of this process: a fork leaves them behind."""
    return ThreadPoolExecutor(count, thread_name_prefix="factoid-scores")
