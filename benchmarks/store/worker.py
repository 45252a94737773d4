"""One contestant in a process of its own: a command a line on standard input, an answer a line on
standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.store.contestant import CONTESTANTS, Unsupported
from benchmarks.store.corpus import Corpus, number
from benchmarks.store.operations import K, OPERATIONS, Asked, Condition, Operation


class Worker:
    """Carries out commands; each returns what becomes JSON."""

    def __init__(self, name: str, corpus: Path, folder: Path) -> None:
        self.corpus = Corpus.read(corpus)
        self.folder = folder
        self.queries = self.corpus.column("queries")
        self.contestant = CONTESTANTS[name].make()

    def build(self) -> dict[str, Any]:
        self.folder.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        cpu_began = time.process_time()
        self.contestant.build(self.folder, self.corpus, self.corpus.batches())
        seconds = time.perf_counter() - began
        cpu = time.process_time() - cpu_began
        size = 0
        for path in self.folder.rglob("*"):
            if path.is_file():
                size += path.stat().st_size
        return {"seconds": seconds, "cpu": cpu, "bytes": size, "peak": peak()}

    def open(self) -> dict[str, Any]:
        before = peak()
        began = time.perf_counter()
        self.contestant.open(self.folder, self.corpus)
        self.contestant.units(self.queries[-1], K)
        return {"seconds": time.perf_counter() - began, "imports": before}

    def run(self, name: str, asked: list[list[Any]], calls: int) -> dict[str, Any]:
        """Ask queries one by one; of a batch operation all at once, again and again."""
        [operation] = [operation for operation in OPERATIONS if operation.name == name]
        given = [Asked(query, condition and Condition(*condition)) for query, condition in asked]
        call = self._call(operation, given)
        answers = []
        took = []
        for at in range(calls):
            began = time.perf_counter()
            answers.append(call(at))
            took.append(time.perf_counter() - began)
        found = answers[0] if operation.batch else answers
        numbers = [list(map(number, ids)) for ids in found]
        return {"seconds": sum(took), "took": took, "calls": calls, "found": numbers}

    def add(self) -> dict[str, Any]:
        (batch,) = self.corpus.batches(extra=True)
        began = time.perf_counter()
        self.contestant.add(batch)
        found = self.contestant.units(batch.vectors[-1], 1)
        seconds = time.perf_counter() - began
        is_found = list(map(number, found)) == [int(batch.rows[-1])]
        return {"seconds": seconds, "found": is_found}

    def peak(self) -> dict[str, Any]:
        return {"peak": peak()}

    def _call(self, operation: Operation, given: list[Asked]) -> Callable[[int], Any]:
        rows = [asked.query for asked in given]
        own = self.contestant
        if operation.batch:
            block = self.queries[rows]
            ask = own.units_batch if operation.kind == "units" else own.parents_batch
            return lambda _: ask(block, K)
        if operation.kind == "parents":
            return lambda at: own.parents(self.queries[rows[at]], K)
        return lambda at: own.units(self.queries[rows[at]], K, given[at].condition)


def peak() -> int:
    """Return the most memory that this process has held, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux includes the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    warnings.simplefilter("ignore")
    worker: Worker | None = None
    for line in sys.stdin:
        command, options = json.loads(line)
        try:
            if worker is None:
                worker = Worker(command, *map(Path, options))
                answer = {}
            else:
                answer = getattr(worker, command)(**options)
        except Unsupported as reason:
            answer = {"cannot": str(reason)}
        except Exception as error:  # noqa: BLE001 - it goes into the table
            answer = {"cannot": f"raises {type(error).__name__}", "error": str(error)}
        print(json.dumps(answer), file=answers, flush=True)
    if worker is not None:
        os._exit(0)  # some libraries take long to let go of what is a process's memory


if __name__ == "__main__":
    main()
