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
    blocks = []
    for first in range(0, len(queries), _QUERIES):
        some = queries[first : first + _QUERIES]
        best, positions = np.empty((len(some), 0), np.float32), np.empty((len(some), 0), np.int64)
        for start in range(0, len(vectors), _BLOCK):
            scores = products(some, vectors[start : start + _BLOCK].T)
            width = min(k, scores.shape[1])
            columns = np.argpartition(scores, scores.shape[1] - width, axis=1)[:, -width:]
            best, positions = _largest(
                k,
                np.hstack([best, np.take_along_axis(scores, columns, axis=1)]),
                np.hstack([positions, columns + start]),
            )
        blocks.append((best, positions))
    scores, positions = map(np.concatenate, zip(*blocks, strict=True))
    return scores, positions


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
