"""Vectorised parts that the search is made of: ranges, membership, ordered insertion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

# A lookup table is made where it needs at most so many entries for each value that is looked up.
_TABLE = 8
_TABLE_LEAST = 1 << 16


def expanded(starts: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """Return the ranges `[start, start + count)` one after the other, and the number of the range of each entry."""
    which = np.repeat(np.arange(len(starts)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(len(which)) + (starts - before)[which], which


def membership(values: Ids, chosen: Ids) -> Mask:
    """Return which values are among the chosen, as `numpy.isin` does.

    Row ids are small and dense, so that a table of booleans answers each by one look; sparse ones are left to numpy.
    """
    if len(values) == 0 or len(chosen) == 0:
        return np.zeros(len(values), np.bool_)
    low, high = int(values.min()), int(values.max())
    if high - low >= max(_TABLE * len(values), _TABLE_LEAST):
        return np.isin(values, chosen)
    table = np.zeros(high - low + 1, np.bool_)
    table[chosen[(chosen >= low) & (chosen <= high)] - low] = True
    found: Mask = table[values if low == 0 else values - low]
    return found


def insertion_points(vectors: Ids, rows: Ids, new_vectors: Ids, new_rows: Ids) -> Ids:
    """Return where each new (vector, row) belongs in what is sorted by (vector, row).

    A binary search by vector gives a range of units that share it, a second one, of all ranges at once, the row.
    """
    low = np.searchsorted(vectors, new_vectors, "left").astype(np.int64)
    high = np.searchsorted(vectors, new_vectors, "right").astype(np.int64)
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) // 2
        below = rows[middle] < new_rows[open_]
        low[open_[below]] = middle[below] + 1
        high[open_[~below]] = middle[~below]
    return low
