"""Stores side by side: queries a second, filters, parents, adding, loading, bytes, and whether the
answers are right.

    python -m benchmarks.store  # 200 000 units of 384 d in 40 000 passages
    python -m benchmarks.store --units 1000000 --passages 200000
    python -m benchmarks.store --contestants raw,factoid --rounds 9
    # real vectors
    python -m benchmarks.store --squad ../shared/data/squad-v1.1-dev/dev-v1.1.even.json
    python -m benchmarks.store --small                                # does it run?

Every contestant gets the same vectors, texts and metadata, and has a process of its own. All are
open at once and take turns, query by query kind, in rounds; medians are printed. Slow contestants
get fewer queries. What a contestant cannot do is said in its place. Contestants whose packages are
not installed are left out: `pip install --group bench` has all.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.store import corpus as corpora
from benchmarks.store.contestant import CONTESTANTS
from benchmarks.store.corpus import Corpus
from benchmarks.store.operations import BATCH, PER_ROUND
from benchmarks.store.processes import Failed, Process
from benchmarks.store.report import fill, tables
from benchmarks.store.rounds import search

_EXTRA = 1000  # units that are added at the end
_GIB = 2**30


def main() -> None:
    arguments = parse()
    names = installed(arguments.contestants)
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or Path(temporary)
        corpus = prepare(work / "corpus", arguments)
        stored: dict[str, dict[str, Any]] = {}
        for name in names:
            stored[name] = build(name, corpus, work)
        names = [name for name in names if "failed" not in stored[name]]
        with ExitStack() as stack:
            processes = {}
            for name in names:
                try:
                    processes[name] = opened(
                        stack, name, corpus, work, stored[name], times=arguments.loads
                    )
                except Failed as reason:
                    stored[name]["load cannot"] = str(reason)
            searched = search(processes, corpus, rounds=arguments.rounds, seconds=arguments.seconds)
            for name, process in processes.items():
                stored[name]["peak"] = process.do("peak")["peak"] / _GIB
        for name in processes:
            add(name, corpus, work, stored[name])
    text = tables(searched, {name: stored[name] for name in processes}, heading(corpus, arguments))
    print(text)
    if arguments.into:
        fill(arguments.into, arguments.table, text)
    if arguments.json:
        records = {}
        for name, kinds in searched.items():
            records[name] = {kind: own.record() for kind, own in kinds.items()}
        arguments.json.write_text(json.dumps({"stored": stored, "searched": records}, indent=1))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--units", type=int, default=200_000)
    parser.add_argument("--passages", type=int, default=None, help="default: a fifth of the units")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument(
        "--squad",
        type=Path,
        metavar="FILE",
        help="propositions and questions of a SQuAD file instead",
    )
    parser.add_argument(
        "--contestants", type=lambda text: text.split(","), default=list(CONTESTANTS), metavar="A,B"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--loads", type=int, default=3, help="times that each is opened in a new process"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.7, help="that one contestant gets for a turn, about"
    )
    parser.add_argument(
        "--small", action="store_true", help="2 000 units, 2 rounds, factoid and FAISS unless told"
    )
    parser.add_argument(
        "--work", type=Path, metavar="FOLDER", help="keep what is built here, and use what is there"
    )
    parser.add_argument(
        "--into",
        type=Path,
        metavar="PAGE",
        help="write the tables between the markers of this page",
    )
    parser.add_argument(
        "--table", default="store", metavar="NAME", help="name of the markers (default: store)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here")
    if "--small" in sys.argv:
        parser.set_defaults(
            units=2000, dim=64, rounds=2, loads=1, seconds=0.02, contestants=["raw", "factoid"]
        )
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.contestants if name not in CONTESTANTS]:
        parser.error(
            f"unknown contestants {', '.join(unknown)}; there are {', '.join(CONTESTANTS)}"
        )
    if arguments.passages is None:
        arguments.passages = arguments.units // 5
    return arguments


def installed(names: Sequence[str]) -> list[str]:
    """Return the contestants that can take part, and say what the others lack."""
    able = []
    for name in names:
        if missing := CONTESTANTS[name].missing():
            print(f"{name} is left out: pip install {' '.join(missing)}", file=sys.stderr)
        elif (base := CONTESTANTS[name].built_by) and base not in names:
            print(f"{name} is left out: it opens what {base} builds", file=sys.stderr)
        else:
            able.append(name)
    return able


def prepare(folder: Path, arguments: argparse.Namespace) -> Corpus:
    if (folder / "corpus.json").exists():
        return Corpus.read(folder)
    if arguments.squad:
        from benchmarks.store.squad import squad

        given = squad(arguments.squad)
        return corpora.from_vectors(
            folder, given.vectors, given.parents, given.queries, extra=_EXTRA
        )
    return corpora.make(
        folder,
        units=arguments.units,
        passages=arguments.passages,
        dim=arguments.dim,
        queries=(arguments.rounds + 1) * max(PER_ROUND, BATCH),
        extra=_EXTRA,
    )


def build(name: str, corpus: Corpus, work: Path) -> dict[str, Any]:
    """Build a contestant's folder unless it is there; return what is known of it."""
    owner = CONTESTANTS[name].built_by or name
    record = work / f"{owner}.json"
    if not record.exists():
        shutil.rmtree(work / owner, ignore_errors=True)
        began = time.perf_counter()
        try:
            with Process(owner, corpus, work) as process:
                done = process.do("build")
        except Failed as reason:
            print(f"{name} is left out: {reason} while it adds", file=sys.stderr)
            return {"failed": str(reason)}
        print(
            f"  {owner}: built in {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True
        )
        figures = {
            "added": corpus.units / done["seconds"],
            "added cpu": corpus.units / done["cpu"],
            "bytes": done["bytes"] / corpus.units,
            "build peak": done["peak"] / _GIB,
        }
        record.write_text(json.dumps(figures))
    return dict(json.loads(record.read_text()))


def opened(
    stack: ExitStack, name: str, corpus: Corpus, work: Path, stored: dict[str, Any], *, times: int
) -> Process:
    """Open a contestant some times, each in a new process, and keep the last."""
    took = []
    for at in range(times):
        process = Process(name, corpus, work)
        if at == times - 1:
            stack.enter_context(process)
        answer = process.do("open")
        took.append(answer["seconds"])
        if at < times - 1:
            process.end()
    stored |= {"load": statistics.median(took), "imports": answer["imports"] / _GIB}
    return process


def add(name: str, corpus: Corpus, work: Path, stored: dict[str, Any]) -> None:
    """Add more to a copy of what was built."""
    if CONTESTANTS[name].built_by:
        return
    with tempfile.TemporaryDirectory(dir=work) as copy:
        shutil.copytree(work / name, Path(copy) / name)
        try:
            with Process(name, corpus, Path(copy)) as process:
                process.do("open")
                answer = process.do("add")
        except Failed as reason:
            stored["more cannot"] = str(reason)
            return
    if answer["found"]:
        stored["more"] = answer["seconds"]
    else:
        stored["more cannot"] = "is not found"


def heading(corpus: Corpus, arguments: argparse.Namespace) -> str:
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    what = "propositions of SQuAD v1.1" if arguments.squad else "synthetic vectors"
    return (
        f"{corpus.units:,} units of {corpus.dim} dimensions in {corpus.passages:,} passages "
        f"({what}); "
        f"{arguments.rounds} rounds on {cores} cores ({platform.machine()})."
    )


if __name__ == "__main__":
    main()
