"""Indexes on GPUs beside the CPU: queries a second in batches of 1, 64 and 1024, and whether the
answers agree.

    python -m benchmarks.store.gpu  # 10 million random vectors of 384 d
    python -m benchmarks.store.gpu --vectors 40000000 --device cuda:0,cuda:1 --shard
    python -m benchmarks.store.gpu --dry-run  # 20 000 vectors; without a GPU, the CPU column alone

Random vectors of unit length: the hardest case for an approximate index, so its agreement is a
lower bound. Both searches take turns; medians are printed. The vectors take 4 · dim bytes each of
memory, and of the GPU's half of that in float16. Needs `pip install "factoid[gpu]"`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator

import numpy as np

from factoid.encode import Vectors
from factoid.vectors import VectorIndex, check_kind
from factoid.vectors.gpu import count_gpus, to_gpu

_CHUNK = 250_000
_K = 10


def main() -> None:
    arguments = parse()
    if arguments.dry_run:
        arguments.vectors = 20_000
        arguments.rounds = 1
    device = arguments.device.split(",")
    present = count_gpus()
    print(
        f"{arguments.vectors:,} random vectors of {arguments.dim} d; "
        f"{cards() or 'no GPU at hand: the CPU alone'}\n"
    )
    print(
        "| index | batch | CPU queries/s | GPU queries/s | ratio | same ids | "
        "largest difference of scores |"
    )
    print("|---|---|---|---|---|---|---|")
    for kind in arguments.kinds.split(";"):
        index = build(kind, arguments.vectors, arguments.dim)
        options = {"shard": arguments.shard, "float16": kind == "Flat"}
        gpu = to_gpu(index, device=device, **options) if present else None
        name = f"{kind}{', fp16 on the GPU' if kind == 'Flat' else ''}"
        for batch in arguments.batches:
            print(f"| {name} | {batch} | {row(index, gpu, batch, arguments)} |", flush=True)


def row(
    index: VectorIndex, gpu: VectorIndex | None, batch: int, arguments: argparse.Namespace
) -> str:
    """Search with both, in turns, and return the cells of a line."""
    queries = random_vectors(np.random.default_rng(7), batch, arguments.dim)
    parameters = {"nprobe": arguments.nprobe} if index.ability.lists else None
    times: dict[str, list[float]] = {"cpu": [], "gpu": []}
    found = {}
    for turn in range(
        arguments.rounds + 1
    ):  # the first is to warm up: it copies the index to the GPU
        for name, searched in (("cpu", index), ("gpu", gpu)):
            if searched is None or (name == "cpu" and turn > arguments.cpu_rounds):
                continue
            start = time.perf_counter()
            found[name] = searched.search(queries, _K, parameters=parameters)
            if turn:
                times[name].append(time.perf_counter() - start)
    cpu = batch / statistics.median(times["cpu"])
    if gpu is None:
        return f"{cpu:,.1f} | no GPU | | | "
    fast = batch / statistics.median(times["gpu"])
    (scores, ids) = found["cpu"]
    (others, other_ids) = found["gpu"]
    same = statistics.fmean(map(len, map(np.intersect1d, ids, other_ids))) / _K
    return (
        f"{cpu:,.1f} | {fast:,.1f} | {fast / cpu:,.1f}x | {same:.2%} | "
        f"{np.abs(scores - others).max():.1e}"
    )


def build(kind: str, count: int, dim: int) -> VectorIndex:
    index = VectorIndex(dim, kind=kind)
    needed = check_kind(kind, dim).min_training
    if needed > count:
        raise SystemExit(
            f"{kind} needs {needed:,} vectors to be trained: give more --vectors or other --kinds"
        )
    if not index.trained:
        index.train(
            random_vectors(
                np.random.default_rng(1), min(count, check_kind(kind, dim).max_training), dim
            )
        )
    for first, block in blocks(count, dim):
        index.add(np.arange(first, first + len(block)), block)
    return index


def blocks(count: int, dim: int) -> Iterator[tuple[int, Vectors]]:
    chance = np.random.default_rng(0)
    for first in range(0, count, _CHUNK):
        yield first, random_vectors(chance, min(_CHUNK, count - first), dim)


def random_vectors(chance: np.random.Generator, count: int, dim: int) -> Vectors:
    vectors = chance.standard_normal((count, dim), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cards() -> str:
    """Return the names of the GPUs."""
    if not count_gpus() or shutil.which("nvidia-smi") is None:
        return ""
    found = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
        capture_output=True,
        text=True,
        check=False,
    )
    return ", ".join(found.stdout.split("\n")[:-1])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vectors", type=int, default=10_000_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--kinds", default="Flat;IVF4096,Flat", help="parted by semicolons")
    parser.add_argument("--nprobe", type=int, default=64, help="lists that are searched")
    parser.add_argument(
        "--batches",
        type=lambda text: list(map(int, text.split(","))),
        default=[1, 64, 1024],
    )
    parser.add_argument("--device", default="cuda", help="parted by commas")
    parser.add_argument("--shard", action="store_true", help="several GPUs hold a part each")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--cpu-rounds", type=int, default=2, help="of them also on the CPU, which is slow"
    )
    parser.add_argument("--dry-run", action="store_true", help="a small run, with or without a GPU")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.kinds = "Flat;IVF64,Flat"
    return arguments


if __name__ == "__main__":
    main()
