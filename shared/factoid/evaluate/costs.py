"""What a method costs: seconds, peak of main memory, and bytes on disk (Entity Retrieval, §4.7 and Table 6)."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from factoid.errors import FactoidError, UnreadableFileError

_PROC = Path("/proc/self")
_RESET_PEAK = "5"  # what Linux wants to read in clear_refs to begin the peak anew

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work took.

    Attributes:
        seconds: Wall time.
        peak_memory: Most main memory that the process held while it worked, in bytes, everything that it held already
            included: files that are mapped into memory count as far as they were touched, other processes do not.
        whole_process: Whether the system can only tell the peak since the process began, so that `peak_memory` may stem
            from earlier work. Then have a process of its own do the work.
    """

    seconds: float
    peak_memory: int
    whole_process: bool


def measure(work: Callable[[], T]) -> tuple[T, Cost]:
    """Do a piece of work, and return its result and what it took.

    On Linux the kernel's own record of the peak is set back first, so that no short peak is missed, as it would be by looking
    at intervals; measurements of the peak must therefore not overlap. Elsewhere see `Cost.whole_process`. To count the
    loading of models and libraries, too, load them in the work and begin in a fresh process.

    Raises:
        FactoidError: The system does not tell the memory of a process.
    """
    whole = not _reset_peak()
    began = time.perf_counter()
    result = work()
    return result, Cost(time.perf_counter() - began, peak_memory(), whole)


def peak_memory() -> int:
    """Return the most main memory that this process has held since it began, or since the last `measure`, in bytes.

    Raises:
        FactoidError: The system does not tell it.
    """
    # What getrusage says on Linux includes the process that started this one, so it comes second.
    try:
        status = (_PROC / "status").read_text(encoding="utf-8")
    except OSError:
        status = ""
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    try:
        import resource
    except ModuleNotFoundError as error:
        message = f"{sys.platform} does not tell the memory of a process: measure on Linux or macOS"
        raise FactoidError(message) from error
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def disk_bytes(*paths: str | os.PathLike[str]) -> int:
    """Return the bytes of files, and of all files in folders; one that is reached by several paths or links counts once.

    Raises:
        UnreadableFileError: There is no such path, or a folder cannot be read.
    """
    sizes: dict[tuple[int, int], int] = {}
    try:
        for path in map(Path, paths):
            for file in _files(path):
                stat = file.stat()
                sizes[stat.st_dev, stat.st_ino] = stat.st_size
    except OSError as error:
        named = ", ".join(str(path) for path in paths)
        message = f"the size of {named} cannot be told: {error}"
        raise UnreadableFileError(message) from error
    return sum(sizes.values())


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    # Links to folders inside a folder are not followed: they may lead in circles.
    for folder, _, names in os.walk(path, onerror=_raise):
        yield from (file for name in names if (file := Path(folder, name)).is_file())


def _raise(error: OSError) -> None:
    raise error


def _reset_peak() -> bool:
    try:
        (_PROC / "clear_refs").write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return False
    return True
