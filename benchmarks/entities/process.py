"""Calls in processes of their own, so that each has the memory and the seconds of nothing else.

    timed("benchmarks.entities.passages:search", method="BM25", folder="build/bm25", \
        questions=[...], k=4)

The function is named by module, takes what JSON holds and returns it. Its seconds include the
imports and the loading of models and indexes; Python's own start is not in them. Memory is the peak
of the process, files mapped into memory counted as far as they were touched.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Timed:
    """What a call returned and took.

    Attributes:
        result: As JSON gives it back.
        seconds: Wall time.
        peak: Most memory of its process, in bytes.
    """

    result: Any
    seconds: float
    peak: int


def timed(function: str, **options: Any) -> Timed:
    """Call "package.module:function" in a new process.

    Raises:
        RuntimeError: It failed; the process's own traceback stands on standard error.
    """
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.entities.process"],
        input=json.dumps([function, options]),
        stdout=subprocess.PIPE,
        text=True,
        cwd=_ROOT,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{function} ended with {done.returncode}")
    return Timed(**json.loads(done.stdout))


def disk_bytes(folder: Path) -> int:
    """Return the bytes of all files in a folder; one with several links counts once."""
    sizes = {}
    for path in folder.rglob("*"):
        if path.is_file():
            status = path.stat()
            sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def _peak_memory() -> int:
    """Return the most main memory of this process, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, getrusage includes the process that started this one
        return int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    warnings.simplefilter("ignore")
    function, options = json.load(sys.stdin)
    module, _, name = function.partition(":")
    began = time.perf_counter()
    result = getattr(importlib.import_module(module), name)(**options)
    json.dump(
        {"result": result, "seconds": time.perf_counter() - began, "peak": _peak_memory()}, answers
    )
    answers.flush()
    os._exit(0)  # some libraries take long to let go of what is a process's memory


if __name__ == "__main__":
    main()
