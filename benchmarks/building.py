"""What `factoid build` costs, here and on Ray, and what kills of its processes change: nothing.

    python -m benchmarks.building compare ../shared/data/domain-retrieval/hotpot/corpus.jsonl …
    python -m benchmarks.building kills ../shared/data/domain-retrieval/hotpot/corpus.jsonl

`compare` builds a corpus in this process and on Ray with some workers, each in a process of its
own, and compares all shards and manifests byte by byte. `kills` takes the first documents of a
corpus, builds them undisturbed in one process, and then once for each kill: SIGKILL to a worker of
Ray, to the driver with all of Ray, or to the process of a build without Ray, once a random number
of shards is done; after the latter two the same command goes on. Propositions come from syntax
rules; vectors are hashes of words (`factoid.testing.HashEncoder`), or those of MiniLM. Needs the
extra `scale`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from factoid import SentenceTransformerEncoder
from factoid.encode import Encoder
from factoid.files.readers import read_documents
from factoid.scale import RayOptions, build
from factoid.testing import HashEncoder
from factoid.units import Granularity


def encoder_named(name: str) -> Encoder:
    if name == "minilm":
        return SentenceTransformerEncoder(device="cpu")
    return HashEncoder(384)


# -- A build in a process of its own --


def run_build(options: dict[str, Any]) -> None:
    """Build, and print what came of it as JSON."""
    ray = None
    if options["workers"]:
        ray = RayOptions(workers=options["workers"])
    report = build(
        options["inputs"],
        options["folder"],
        encoder=partial(encoder_named, options["encoder"]),
        join_paragraphs=False,
        shard_characters=options["shard_characters"],
        ray=ray,
        progress=False,
    )
    passages = report.units.get(Granularity.PASSAGE, 0)
    counts = {"shards": report.shards, "passages": passages, "failures": len(report.failures)}
    counts["propositions"] = report.units.get(Granularity.PROPOSITION, 0)
    print(json.dumps({**counts, "seconds": report.seconds}))


def started(**options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.building", "one", json.dumps(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"a build ended with {process.returncode}")
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all shards and manifests."""
    return {file.name: file.read_bytes() for file in sorted(folder.glob("part-*"))}


# -- Here and on Ray --


def compare(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        options = {"inputs": arguments.inputs, "encoder": arguments.encoder}
        options["shard_characters"] = arguments.shard_characters
        results = {}
        for workers in (0, arguments.workers):
            before = time.perf_counter()
            folder = f"{temporary}/{workers}"
            results[workers] = finished(started(**options, folder=folder, workers=workers))
            results[workers]["whole"] = time.perf_counter() - before
            print(results[workers], file=sys.stderr)
        alike = content(Path(temporary, "0")) == content(Path(temporary, str(arguments.workers)))
        size = sum(map(len, content(Path(temporary, "0")).values()))
    print("| where | seconds | with the start of the process | passages a second |")
    print("|---|---|---|---|")
    for workers, result in results.items():
        where = "this process"
        if workers:
            where = f"Ray, {workers} workers"
        rate = result["passages"] / result["seconds"]
        print(f"| {where} | {result['seconds']:.1f} | {result['whole']:.1f} | {rate:.1f} |")
    here = results[0]
    print(
        f"\n{here['passages']:,} passages, {here['propositions']:,} propositions, "
        f"{here['failures']:,} failures, {here['shards']:,} shards of {size / 1e6:,.1f} MB in all: "
        f"{'identical' if alike else 'DIFFERENT'}"
    )


# -- Kills --


def kills(arguments: argparse.Namespace) -> None:
    choice = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as temporary:
        corpus = Path(temporary, "corpus.jsonl")
        write_first(arguments.inputs, arguments.documents, corpus)
        options = {"inputs": [str(corpus)], "encoder": "hash"}
        options["shard_characters"] = arguments.shard_characters
        undisturbed = Path(temporary, "undisturbed")
        here = finished(started(**options, folder=str(undisturbed), workers=0))
        expected = content(undisturbed)
        print(f"{here['passages']:,} passages in {here['shards']} shards")
        same = 0
        for number in range(arguments.kills):
            folder = Path(temporary, f"killed {number}")
            victim = arguments.victims[number % len(arguments.victims)]
            wanted = choice.randrange(here["shards"] - 2)
            there = killed(options, folder, victim, wanted, choice)
            identical = content(folder) == expected
            same += identical
            print(
                f"{number + 1}: {victim} killed with {there} of {here['shards']} shards done; "
                f"{'identical' if identical else 'DIFFERENT'}",
                flush=True,
            )
    print(f"{same} of {arguments.kills} builds with a kill ended in identical shards")


def write_first(inputs: list[str], count: int, file: Path) -> None:
    """Write the first documents of a corpus as JSON lines."""
    lines = []
    for document in read_documents(inputs):
        lines.append(json.dumps({"text": document.text, "title": document.title}))
        if len(lines) == count:
            break
    file.write_text("\n".join(lines))


def killed(
    options: dict[str, Any], folder: Path, victim: str, wanted: int, choice: random.Random
) -> int:
    """Build with one kill, once there are so many shards, and go on; return how many there were."""
    workers = 2
    if victim == "process":
        workers = 0
    process = started(**options, folder=str(folder), workers=workers)
    try:
        there = 0
        while process.poll() is None and there < wanted:
            time.sleep(0.05)
            there = len(list(folder.glob("*.parquet")))
        while process.poll() is None and workers and not workers_of(process.pid):
            time.sleep(0.05)
        time.sleep(choice.uniform(0, 0.3))
        there = len(list(folder.glob("*.parquet")))
        if victim == "worker":
            with suppress(ProcessLookupError, IndexError):
                os.kill(choice.choice(workers_of(process.pid)), signal.SIGKILL)
        else:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            process = started(**options, folder=str(folder), workers=workers)
        finished(process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return there


def workers_of(session: int) -> list[int]:
    """Return the processes of Ray's workers in a session."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                title = (folder / "cmdline").read_text()
                if int(status[3]) == session and "ShardWorker" in title:
                    found.append(int(folder.name))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    comparing = commands.add_parser("compare")
    comparing.add_argument("inputs", nargs="+")
    comparing.add_argument("--encoder", choices=["hash", "minilm"], default="hash")
    comparing.add_argument("--workers", type=int, default=2)
    comparing.add_argument("--shard-characters", type=int, default=200_000)
    killing = commands.add_parser("kills")
    killing.add_argument("inputs", nargs="+")
    killing.add_argument("--kills", type=int, default=20)
    victims = ["worker", "driver", "process"]
    killing.add_argument("--victims", nargs="+", choices=victims, default=victims)
    killing.add_argument("--documents", type=int, default=150)
    killing.add_argument("--shard-characters", type=int, default=5_000)
    killing.add_argument("--seed", type=int, default=7)
    commands.add_parser("one").add_argument("options", type=json.loads)
    arguments = parser.parse_args()
    if arguments.command == "one":
        run_build(arguments.options)
    elif arguments.command == "compare":
        compare(arguments)
    else:
        kills(arguments)


if __name__ == "__main__":
    main()
