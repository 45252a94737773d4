"""Exact searches of all vectors, on all cores.

FAISS compares one query with a flat index on one core; here cores share the vectors. FAISS compares a batch query by query (its
`distance_compute_blas_threshold` is 128,000 queries); a matrix product reads every vector once for all queries.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.inner_products import products

RowIds = NDArray[np.int64]

LEAST_QUERIES = 12  # below, FAISS is faster than matrix products
LEAST_COMPONENTS = 10_000_000  # below, one core is as fast as several
_MOST_CORES = 8  # more wait for the memory
_BLOCK = 8192  # vectors scored at a time: 2 MB of scores for 64 queries stay in the cache
_QUERIES = 256  # queries scored at a time


def scan(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, RowIds]:
    """Return the k largest inner products of each query, k at most the count, and the positions of the vectors.

    Shapes: (count, dim) and (n, dim) to (n, k) both.
    """
    parts = [_scan(vectors, queries[start : start + _QUERIES], k) for start in range(0, len(queries), _QUERIES)]
    scores, positions = map(np.concatenate, zip(*parts, strict=True))
    return scores, positions


def _scan(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, RowIds]:
    """Sort only scores above the k-th best so far, which are few: a partition takes as long as the product."""
    best = np.full((len(queries), k), -np.inf, np.float32)
    positions = np.full((len(queries), k), -1, np.int64)
    for start in range(0, len(vectors), _BLOCK):
        scores = products(queries, vectors[start : start + _BLOCK].T)
        # NumPy finds what is true in one dimension ten times as fast as in two.
        rows, columns = np.divmod(np.flatnonzero(scores > best[:, -1:]), scores.shape[1])
        if len(rows) > best.size:  # as in the first blocks: a partition is faster than sorting all that are better
            width = min(k, scores.shape[1])
            columns = np.sort(np.argpartition(scores, scores.shape[1] - width, axis=1)[:, -width:], axis=1)
            better, places = np.take_along_axis(scores, columns, axis=1), columns + start
            chosen = np.arange(len(queries))
        else:  # those of each query that has any side by side, padded to the longest
            chosen, first, counts = np.unique(rows, return_index=True, return_counts=True)
            at = np.repeat(np.arange(len(chosen)), counts), np.arange(len(rows)) - np.repeat(first, counts)
            better = np.full((len(chosen), counts.max(initial=0)), -np.inf, np.float32)
            places = np.full(better.shape, -1)
            better[at], places[at] = scores[rows, columns], columns + start
        best[chosen], positions[chosen] = _largest(
            k, np.hstack([best[chosen], better]), np.hstack([positions[chosen], places])
        )
    return best, positions


def shared_scan(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, RowIds]:
    """Do the same as `scan` for few queries: each core compares them with some of the vectors."""
    import faiss

    cores = min(os.cpu_count() or 1, _MOST_CORES)
    bounds = np.linspace(0, len(vectors), cores + 1).astype(int).tolist()

    def part(start: int, end: int) -> tuple[Vectors, RowIds]:
        scores, positions = faiss.knn(queries, vectors[start:end], min(k, end - start), faiss.METRIC_INNER_PRODUCT)
        return scores, np.where(positions >= 0, positions + start, -1)

    jobs = [pool("scan", cores, 1, os.getpid()).submit(part, *span) for span in pairwise(bounds)]
    parts = [job.result() for job in jobs]
    return _largest(k, *(np.hstack(arrays) for arrays in zip(*parts, strict=True)))


@lru_cache(maxsize=8)
def pool(name: str, workers: int, cores: int, _process: int) -> ThreadPoolExecutor:
    """Return threads of this process (a fork leaves them behind), each with `cores` cores for FAISS's own threads."""
    import faiss

    # The number of FAISS's own threads is a setting of the thread that calls it.
    return ThreadPoolExecutor(
        workers, thread_name_prefix=f"factoid-{name}", initializer=faiss.omp_set_num_threads, initargs=(cores,)
    )


def _largest(k: int, scores: Vectors, positions: RowIds) -> tuple[Vectors, RowIds]:
    """Return the k largest scores of each row, best first, and their positions."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(positions, order, axis=1)
