"""How much memory an index may count on."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_UNKNOWN = 8 << 30  # where the system does not tell
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


@lru_cache(maxsize=1)
def usable_memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its container's if that has less."""
    found = _UNKNOWN
    with suppress(ValueError, OSError, AttributeError):  # AttributeError: not on Windows
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in _LIMITS:
        with suppress(ValueError, OSError):
            found = min(found, int(Path(limit).read_text(encoding="ascii")))
    return found
