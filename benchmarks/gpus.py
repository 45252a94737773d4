"""Everything that needs a GPU, in one go: the tests, indexes and propositionizers, in one table
with the card's name.

    python -m benchmarks.gpus --into gpus.md
    python -m benchmarks.gpus --dry-run              # small runs; without a GPU, on the CPU

Each step is a process of its own, so that one that fails leaves the others alone; what it printed
stands below the table. Needs `pip install "factoid[gpu,models]"` and the tests' packages.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.store.gpu import cards
from benchmarks.store.report import markdown

ROOT = Path(__file__).resolve().parents[1]
STEPS: dict[str, list[str]] = {
    "tests": ["-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/vectors/test_gpu.py"],
    "indexes": ["-m", "benchmarks.store.gpu"],
    "propositionizers": [
        "-m",
        "benchmarks.propositionizers",
        "--device",
        "cuda",
        "--dtype",
        "bfloat16",
    ],
}
SMALL: dict[str, list[str]] = {
    "indexes": ["--dry-run", "--batches", "1,8"],
    "propositionizers": [
        "--dry-run",
        "--passages-per-run",
        "2",
        "--loop-passages",
        "1",
        "--tokens",
        "12",
    ],
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--steps", default=",".join(STEPS), help="parted by commas")
    parser.add_argument("--into", type=Path, metavar="FILE", help="write all of it there")
    arguments = parser.parse_args()
    card = cards()
    if not card and not arguments.dry_run:
        parser.error("no GPU at hand: --dry-run tries the steps on the CPU")
    rows = []
    printed = []
    for name in arguments.steps.split(","):
        options = STEPS[name]
        if arguments.dry_run:
            options = options + SMALL.get(name, [])
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *options], cwd=ROOT, capture_output=True, text=True, check=False
        )
        lines = done.stdout.strip().splitlines()
        result = "done"
        if done.returncode:
            result = f"failed with {done.returncode}"
            lines += done.stderr.strip().splitlines()[-5:]
        last = ""
        if lines:
            last = lines[-1].strip("| ").replace(" | ", ", ")  # of a table
        rows.append([name, result, f"{time.perf_counter() - began:.0f}", last])
        printed.append("\n".join([f"## {name}", "", *lines]))
    table = markdown(["step", "result", "seconds", "last line"], rows)
    text = "\n\n".join([card or "no GPU: on the CPU", table, *printed])
    print(text)
    if arguments.into:
        arguments.into.write_text(text + "\n", encoding="utf-8")
    return int(any(row[1] != "done" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
