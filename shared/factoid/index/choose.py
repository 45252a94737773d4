"""The kind that "auto" stands for (docs/store.md has the table of what is chosen, and why).

The time of `Flat` grows with count × dim: with 200 million components a query takes 55 ms on two cores. The number of lists
is the power of two near 4·√count, at most 65,536; above 16,384 they are found through a graph (`IVF65536_HNSW32`).
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.index.kinds import AUTO, EXACT, POINTS_PER_CENTROID, check_kind

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
    """Choose a kind for vectors that are there, or soon will be, within the memory that the index may use."""
    if count < 0 or dim < 1 or memory_bytes < 0:
        message = f"expected numbers of 0 or more, got {count} vectors of {dim} dimensions and {memory_bytes} bytes"
        raise InvalidInputError(message)
    room = memory_bytes * _SHARE
    exact_bytes = 4 * dim * count
    if count * dim <= _SMALL_COMPONENTS or (count * dim <= _EXACT_COMPONENTS and exact_bytes <= room):
        return EXACT
    if exact_bytes + count * (2 * 4 * _LINKS + 8) <= room:
        return f"HNSW{_LINKS}"
    return f"{_lists(count)},{'SQ8' if count * (dim + 16) <= room else _smallest(dim)}"


def kinds_to_try(count: int, dim: int) -> list[str]:
    """Return kinds that are worth comparing on so many vectors: one of each family and size, `Flat` first."""
    codes = [EXACT, "SQ8", _smallest(dim)]
    in_lists = [f"{_lists(count)},{code}" for code in codes] if count >= _FEWEST_IN_LISTS else []
    return [*codes, f"HNSW{_LINKS}", *in_lists]


def usable_kind(kind: str, dim: int, count: int, memory_bytes: int) -> str:
    """Return the kind that so many vectors can have now: "auto" is chosen; what they cannot train is `Flat` so far."""
    wanted = choose_kind(count, dim, memory_bytes) if kind == AUTO else kind
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
    wanted = min(round(math.log2(4 * math.sqrt(count))), int(math.log2(_MOST_LISTS)))
    trainable = int(math.log2(max(count // POINTS_PER_CENTROID, 1)))
    lists = 2 ** min(wanted, trainable)
    return f"IVF{lists}_HNSW32" if lists > _SEARCHED_LISTS else f"IVF{lists}"
