"""What an index of some kind would take at another count, from two that were measured.

Bytes: `B(N) = B(m) + (B(m) - B(n)) / (m - n) · (N - m)`, the line through both sizes, so that
codebooks count once. To these come, in memory, 8 bytes for the id of each vector and 40 for the
columns of each unit (vector, row, passage, document and metadata, 8 bytes each); and on disk the
exact vectors that refine, 4 or 2 bytes a component.

Seconds of a query: `t(N) = t(m) + (t(m) - t(n)) / (c(m) - c(n)) · (c(N) - c(m))` where c is how
many vectors are compared: `c(N) = N` for kinds that compare all, `c(N) = nlist + N · nprobe /
nlist` for inverted lists. A graph is walked in about log N steps: `t(N) = t(m) · log N / log m`. S
shards, searched at the same time on S machines, hold N / S each; what it takes to send and merge
their answers is not in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ID_BYTES = 8
COLUMN_BYTES = 5 * 8


@dataclass(frozen=True)
class Point:
    """An index as measured.

    Attributes:
        count: Vectors in it.
        bytes: Of all of it.
        seconds: Of one query.
        lists: Inverted lists, 0 for none.
        probes: How many of them a query searches.
    """

    count: int
    bytes: float
    seconds: float
    lists: int = 0
    probes: int = 0


def bytes_at(count: int, small: Point, large: Point) -> float:
    """Return the bytes of the index itself at some count."""
    return large.bytes + bytes_each(small, large) * (count - large.count)


def bytes_each(small: Point, large: Point) -> float:
    """Return the bytes that one more vector takes."""
    return (large.bytes - small.bytes) / (large.count - small.count)


def memory_at(count: int, small: Point, large: Point) -> float:
    """Return the bytes of the index with ids and columns."""
    return bytes_at(count, small, large) + (ID_BYTES + COLUMN_BYTES) * count


def seconds_at(
    count: int,
    small: Point,
    large: Point,
    *,
    shards: int = 1,
    graph: bool = False,
    lists: int = 0,
    probes: int = 0,
) -> float:
    """Return the seconds of a query at some count, over this many shards; lists and probes are
    those at that count.
    """
    own = count / shards
    if graph:
        return large.seconds * max(1.0, math.log(own) / math.log(large.count))
    low, high = (_compared(point.count, point.lists, point.probes) for point in (small, large))
    slope = max(0.0, (large.seconds - small.seconds) / (high - low))
    return large.seconds + slope * (_compared(own, lists, probes) - high)


def _compared(count: float, lists: int, probes: int) -> float:
    return lists + count * probes / lists if lists else count
