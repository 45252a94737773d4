"""What a method costs: seconds, peak of main memory, and bytes on disk (Entity Retrieval, §4.7 and Table 6)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from factoid.errors import FactoidError, UnreadableFileError

_PROC = Path("/proc/self")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall time of a piece of work, and the most main memory of the process during it, in bytes.

    Memory that the process held before counts; files mapped into memory as far as they were touched; other processes do
    not. On systems other than Linux, the peak is that since the process began: run the work in its own.
    """

    seconds: float
    peak_memory: int


def measure(work: Callable[[], T]) -> tuple[T, Cost]:
    """Do a piece of work, and return its result and its cost. Measurements must not overlap.

    Raises:
        FactoidError: The system does not tell the memory of a process.
    """
    with suppress(OSError):
        (_PROC / "clear_refs").write_text("5", encoding="ascii")  # resets the peak
    began = time.perf_counter()
    result = work()
    return result, Cost(time.perf_counter() - began, peak_memory())


def peak_memory() -> int:
    """Return the most main memory, in bytes, of this process since the last `measure` or its begin; raise as `measure`."""
    # On Linux, getrusage includes the process that started this one.
    with suppress(OSError):
        for line in (_PROC / "status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ModuleNotFoundError as error:
        raise FactoidError(f"{sys.platform} does not tell a process's memory: measure on Linux or macOS") from error
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def disk_bytes(*paths: str | os.PathLike[str]) -> int:
    """Return the bytes of files and of all files in folders. A file with several paths or links counts once.

    Raises:
        UnreadableFileError: There is no such path.
    """
    sizes: dict[tuple[int, int], int] = {}
    try:
        for path in map(Path, paths):
            for file in path.rglob("*") if path.is_dir() else [path]:
                if file == path or file.is_file():
                    stat = file.stat()
                    sizes[stat.st_dev, stat.st_ino] = stat.st_size
    except OSError as error:
        raise UnreadableFileError(f"the size of {', '.join(map(str, paths))} cannot be told: {error}") from error
    return sum(sizes.values())
