"""Open a large store in new processes: seconds until it is open, and until its first answers.

    python -m benchmarks.store.opening  # 200,000 passages of 60 words, 384 d
    python -m benchmarks.store.opening --against ../other --python ../other/.venv/bin/python

Words are drawn by Zipf's law from 50,000. Each process opens the store once and asks one kind of
question, its files in the machine's cache; `import factoid` is over by then. With `--against`, the
folder of another checkout, both versions take turns with stores of their own; ratios are medians of
the rounds' own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from operator import truediv
from pathlib import Path
from typing import Any

import numpy as np

_BLOCK = 10_000  # passages that are added at a time
_WORDS = 60  # of a passage
_VOCABULARY = 50_000
_PER_DOCUMENT = 5  # passages
_ASKED = (5, 300, 4000)  # places of the words of a question in the vocabulary
_THIS = "this version"
_ROOT = Path(__file__).resolve().parents[2]

QUESTIONS: dict[str, dict[str, Any]] = {
    "by vector": {},
    "by words": {"lexical": 1},
    "by words, filtered by a field": {"lexical": 1, "filter": {"source": "source 3"}},
    "by words, filtered by what a unit is": {"lexical": 1, "filter": {"granularity": "passage"}},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--against", type=Path, metavar="CHECKOUT", help="another version, to take turns with"
    )
    parser.add_argument(
        "--python", default=sys.executable, metavar="FILE", help="that runs the other version"
    )
    parser.add_argument("--name", default="the other", help="of the other version, in the table")
    parser.add_argument(
        "--into", type=Path, metavar="PAGE", help="write the table between the markers of this page"
    )
    parser.add_argument(
        "--work", type=Path, metavar="FOLDER", help="keep what is built here, and use what is there"
    )
    parser.add_argument("--do", nargs=2, metavar=("WHAT", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.do:
        what, folder = arguments.do
        if what == "build":
            build(Path(folder), arguments.passages, arguments.dim)
        else:
            print(json.dumps(ask(Path(folder), QUESTIONS[what], arguments.dim)))
        return
    versions = {_THIS: (_ROOT, sys.executable)}
    if arguments.against:
        versions[arguments.name] = (arguments.against.resolve(), arguments.python)
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        table = measure(versions, work, arguments)
    sizes = (
        f"{arguments.passages:,} passages of {_WORDS} words, {arguments.dim} dimensions; "
        f"{arguments.rounds} rounds."
    )
    text = f"{sizes}\n\n{table}"
    print(text)
    if arguments.into:
        from benchmarks.store.report import (
            fill,
        )  # the processes of another version know no benchmarks

        fill(arguments.into, "opening", text)


def measure(
    versions: dict[str, tuple[Path, str]], work: Path, arguments: argparse.Namespace
) -> str:
    """Build the stores, let the versions take turns, and return a table."""
    sizes = ["--passages", str(arguments.passages), "--dim", str(arguments.dim)]

    def run(version: str, what: str) -> str:
        checkout, python = versions[version]
        store = work / version
        environment = os.environ | {"PYTHONPATH": str(checkout / "shared")}
        command = [python, __file__, *sizes, "--do", what, str(store)]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    for version in versions:
        if not (work / version).exists():
            run(version, "build")
    lines = [
        "| first question | version | open, s | first answer, s | both, × this version |",
        "| :-- | :-- | --: | --: | --: |",
    ]
    for question in QUESTIONS:
        seconds: dict[str, list[list[float]]] = {version: [] for version in versions}
        for _ in range(arguments.rounds):
            for version in versions:
                seconds[version].append(json.loads(run(version, question)))
        ours = list(map(sum, seconds[_THIS]))
        for version, rounds in seconds.items():
            opened, answered = map(statistics.median, zip(*rounds, strict=True))
            ratio = statistics.median(map(truediv, map(sum, rounds), ours))
            lines.append(
                f"| {question} | {version} | {opened:.3f} | {answered:.3f} | {ratio:.2f} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def build(folder: Path, passages: int, dim: int) -> None:
    """Write a store with all of its indexes."""
    from factoid import Granularity, Unit, UnitStore

    generator = np.random.default_rng(0)
    words = vocabulary()
    chances = 1 / np.arange(2, len(words) + 2)
    chances /= chances.sum()
    with UnitStore(folder, encoder=None, granularities=["passage"]) as store:
        for start in range(0, passages, _BLOCK):
            numbers = range(start, min(start + _BLOCK, passages))
            drawn = generator.choice(len(words), (len(numbers), _WORDS), p=chances)
            vectors = generator.normal(size=(len(numbers), dim)).astype(np.float32)
            units = []
            for number, row in zip(numbers, drawn, strict=True):
                document = f"document {number // _PER_DOCUMENT}"
                text = " ".join(map(words.__getitem__, row))
                metadata = {
                    "granularity": "passage",
                    "source": f"source {number % 100}",
                    "file": document,
                }
                place = (Granularity.PASSAGE, document, document, 0, len(text))
                units.append(Unit(f"{number}", text, *place, "", "", metadata))
            store.add(units, vectors=vectors)
        store.refresh()


def ask(folder: Path, options: dict[str, Any], dim: int) -> list[float]:
    """Return the seconds until the store is open, and from then until its first answer."""
    from factoid import UnitStore

    words = vocabulary()
    text = " ".join(words[place] for place in _ASKED)
    began = time.perf_counter()
    with UnitStore(folder, encoder=None, granularities=["passage"]) as store:
        opened = time.perf_counter()
        hits = store.search_by_vector(np.ones(dim, np.float32), 10, text=text, **options)
        answered = time.perf_counter()
    assert hits
    return [opened - began, answered - opened]


def vocabulary() -> list[str]:
    """Return words that nobody has to stem."""
    syllables = map("".join, itertools.product("bdfgklmnprtv", "aou"))
    words = map("".join, itertools.product(syllables, repeat=4))
    return list(itertools.islice(words, 0, None, 33))[:_VOCABULARY]


if __name__ == "__main__":
    main()
