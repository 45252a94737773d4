"""Search of all parts of an index, side by side, and the merge of what they found.

FAISS's own `IndexShards` does the same in C++, but gives all shards one selector, which for positions (see `Part`) is not
possible; the threads here spend their time in FAISS, which lets go of Python's lock.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.index.ids import RowIds


def search_parts(
    parts: Sequence[Any], queries: Vectors, k: int, allowed: RowIds | None, given: Mapping[str, int]
) -> tuple[Vectors, RowIds]:
    """Search every part and keep the k best of all. Arguments and results as for `VectorIndex.search`."""
    if len(parts) == 1:
        scores, ids = parts[0].search(queries, k, allowed, given)
    else:
        jobs = [pool(len(parts)).submit(part.search, queries, k, allowed, given) for part in parts]
        results = [job.result() for job in jobs]
        scores = np.concatenate([result[0] for result in results], axis=1)
        ids = np.concatenate([result[1] for result in results], axis=1)
    return best(scores, ids, k, ranked=len(parts) == 1)


def best(scores: Vectors, ids: RowIds, k: int, *, ranked: bool = False) -> tuple[Vectors, RowIds]:
    """Return the k best of each row, equal scores by id, padded with -inf and -1.

    Args:
        scores: Shape: (n, m).
        ids: -1 where there is none. Shape: (n, m).
        k: How many.
        ranked: The scores of each row fall already; only ties have to be put in order.
    """
    if not ranked or (scores[:, 1:] == scores[:, :-1]).any():
        order = np.lexsort((ids, -scores))[:, :k]
        scores, ids = np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)
    missing = k - scores.shape[1]
    if missing > 0:
        scores = np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
        ids = np.pad(ids, ((0, 0), (0, missing)), constant_values=-1)
    return scores, ids


def pool(size: int) -> ThreadPoolExecutor:
    """Return the threads that search as many parts, with a fair share of the cores each."""
    return _pool(size, os.getpid())


@lru_cache(maxsize=8)
def _pool(size: int, _process: int) -> ThreadPoolExecutor:  # a fork leaves threads behind
    share = max(1, (os.cpu_count() or 1) // size)
    # The number of FAISS's own threads is a setting of the thread that calls it.
    return ThreadPoolExecutor(
        min(size, 2 * (os.cpu_count() or 1)),
        thread_name_prefix="factoid-shard",
        initializer=require("faiss", extra="cpu").omp_set_num_threads,
        initargs=(share,),
    )
