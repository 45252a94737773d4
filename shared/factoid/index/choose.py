"""The kind that "auto" stands for.

Times are those of vectors of 384 components and one query at a time, on two cores; such a vector takes 1.5 KB as it is:

| vectors | chosen | why |
|---|---|---|
| up to 520,000 in half the memory, or 52,000 | `Flat` | 55 ms a query (200,000: 21 ms), exact, built in 2 s, and removes |
| more, if vectors and links fit in half the memory | `HNSW32` | 0.3 ms; 27 s to build 100,000; hides what is removed |
| more, if codes of a byte fit | `IVF…,SQ8` | a quarter of the memory; refined with the exact vectors of the store |
| more | `IVF…,RaBitQ` | a bit a component, 56 bytes for 384; refined (`IVF…,PQ…x4fs` where FAISS has no RaBitQ) |

The time of `Flat` grows with count × dim, so the first limit is 200 million components. The number of lists is the power of
two near 4·√count, at most 65,536; above 16,384 they are found through a graph (`IVF65536_HNSW32`).
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.index.kinds import EXACT, check_kind

_EXACT_COMPONENTS = 200_000_000
_SMALL_COMPONENTS = 20_000_000  # 80 MB: exact whatever the memory
_LINKS = 32
_SHARE = 0.5  # of the memory: the rest is for the encoder, SQLite's pages and a copy while the index is rebuilt
_MOST_LISTS = 65_536
_FEWEST_IN_LISTS = 1_000  # vectors below which lists are not worth a try
_SEARCHED_LISTS = 16_384  # up to here comparing a query with all centroids is cheap
_UNKNOWN = 8 << 30  # where the system does not tell
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def choose_kind(count: int, dim: int, memory_bytes: int) -> str:
    """Choose a kind for a number of vectors (see the table above).

    Args:
        count: Vectors that are there, or soon will be.
        dim: Number of components of each.
        memory_bytes: Memory that this index may count on.

    Raises:
        InvalidInputError: A number is out of its range.
    """
    if count < 0 or dim < 1 or memory_bytes < 0:
        message = f"expected numbers of 0 or more, got {count} vectors of {dim} dimensions and {memory_bytes} bytes"
        raise InvalidInputError(message)
    room = memory_bytes * _SHARE
    exact_bytes = 4 * dim * count
    if count * dim <= _SMALL_COMPONENTS or (count * dim <= _EXACT_COMPONENTS and exact_bytes <= room):
        return EXACT
    if exact_bytes + count * (2 * 4 * _LINKS + 8) <= room:
        return f"HNSW{_LINKS}"
    lists = _lists(count)
    if count * (dim + 16) <= room:
        return f"{lists},SQ8"
    return f"{lists},{_smallest(dim)}"


def kinds_to_try(count: int, dim: int) -> list[str]:
    """Return kinds that are worth comparing on so many vectors: one of each family and size, `Flat` first.

    Args:
        count: Vectors that are there.
        dim: Number of components of each.
    """
    codes = [EXACT, "SQ8", _smallest(dim)]
    lists = _lists(count)
    return [*codes, f"HNSW{_LINKS}", *([f"{lists},{code}" for code in codes] if count >= _FEWEST_IN_LISTS else [])]


def usable_kind(kind: str, dim: int, count: int, memory_bytes: int) -> str:
    """Return the kind that a number of vectors can have now: "auto" is chosen; what they cannot train is `Flat` so far.

    Args:
        kind: A factory string or "auto".
        dim: Number of components.
        count: Vectors that are there.
        memory_bytes: Memory that this index may count on.
    """
    wanted = choose_kind(count, dim, memory_bytes) if kind == "auto" else kind
    return wanted if count >= check_kind(wanted, dim).min_training else EXACT


@lru_cache(maxsize=1)
def usable_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its container's if that has less."""
    memory = _UNKNOWN
    with suppress(ValueError, OSError, AttributeError):  # AttributeError: not on Windows
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with suppress(ValueError, OSError):
            memory = min(memory, int(Path(limit).read_text(encoding="ascii")))
    return memory


def _smallest(dim: int) -> str:
    """Return the codes that take the least room."""
    if hasattr(require("faiss", extra="cpu"), "IndexIVFRaBitQ"):
        return "RaBitQ"
    return f"PQ{math.gcd(dim, 2 * (dim // 8)) if dim % 4 else dim // 4}x4fs"


def _lists(count: int) -> str:
    power = min(round(math.log2(4 * math.sqrt(count))), int(math.log2(_MOST_LISTS)))
    # Each list must get the vectors that its centroid is trained with.
    lists = 2 ** min(power, int(math.log2(max(count // 39, 1))))
    return f"IVF{lists}_HNSW32" if lists > _SEARCHED_LISTS else f"IVF{lists}"
