"""Exact searches of all vectors, on all cores.

FAISS compares one query with a flat index on one core; here cores share the vectors. It compares a batch one query after the
other (its `distance_compute_blas_threshold` is 128,000 queries); a product of matrices reads every vector once for all.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.index.ids import RowIds
from factoid.products import products

LEAST_QUERIES = 12  # below, FAISS is faster than matrix products
LEAST_COMPONENTS = 10_000_000  # below, one core is as fast as several

_MOST_CORES = 8  # more wait for the memory

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


def shared_scan(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, RowIds]:
    """Do as `scan` for few queries: each core compares them with some of the vectors."""
    faiss = require("faiss", extra="cpu")
    cores = min(os.cpu_count() or 1, _MOST_CORES)
    bounds = np.linspace(0, len(vectors), cores + 1).astype(int).tolist()

    def part(start: int, end: int) -> tuple[Vectors, RowIds]:
        scores, positions = faiss.knn(queries, vectors[start:end], min(k, end - start), faiss.METRIC_INNER_PRODUCT)
        return scores, np.where(positions >= 0, positions + start, -1)

    jobs = [_pool(cores, os.getpid()).submit(part, *span) for span in pairwise(bounds)]
    found = [job.result() for job in jobs]
    scores, positions = np.hstack([scores for scores, _ in found]), np.hstack([positions for _, positions in found])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(positions, order, axis=1)


@lru_cache(maxsize=2)
def _pool(size: int, _process: int) -> ThreadPoolExecutor:  # a fork leaves threads behind
    # The number of FAISS's own threads is a setting of the thread that calls it.
    one = require("faiss", extra="cpu").omp_set_num_threads
    return ThreadPoolExecutor(size, thread_name_prefix="factoid-scan", initializer=one, initargs=(1,))


def _scan(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, RowIds]:
    best = np.full((len(queries), k), -np.inf, np.float32)
    positions = np.full((len(queries), k), -1, np.int64)
    for start in range(0, len(vectors), _BLOCK):
        scores = products(queries, vectors[start : start + _BLOCK].T)
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
