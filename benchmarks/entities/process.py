"""Calls in processes of their own, so that each has the memory and the seconds of nothing else.

    timed("benchmarks.entities.passages:search", method="BM25", folder="build/bm25", questions=[...], k=4)

The function is named by module, takes what JSON holds and returns it. Its seconds include the imports and the loading of
models and indexes; Python's own start is not in them.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factoid.evaluate.costs import measure

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


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    warnings.simplefilter("ignore")
    function, options = json.load(sys.stdin)
    module, _, name = function.partition(":")
    result, cost = measure(lambda: getattr(importlib.import_module(module), name)(**options))
    json.dump({"result": result, "seconds": cost.seconds, "peak": cost.peak_memory}, answers)
    answers.flush()
    os._exit(0)  # some libraries take long to let go of what is a process's memory


if __name__ == "__main__":
    main()
