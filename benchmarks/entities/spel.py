"""What the fused top-k of SpEL's output layer costs beside a softmax over all entities.

    python -m benchmarks.entities.spel --threads 2

Both get the same hidden states and the same output embedding of random numbers. Times are medians of rounds that alternate
between the two; the ratio is the median of the rounds' ratios. Memory is the peak of a process of its own for each, above
what it held before the first call. The answers are compared.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.entities.page import add_into, into
from factoid.entities.spel.predict import top_entities

TopK = Callable[[torch.Tensor, torch.Tensor, int], tuple[torch.Tensor, torch.Tensor]]


def full_softmax(hidden: torch.Tensor, weight: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and probabilities by the plain way: all logits, a softmax, its top k."""
    probabilities, ids = (hidden @ weight.T).softmax(-1).topk(k)
    return ids, probabilities


_ROOT = Path(__file__).resolve().parents[2]
WAYS: dict[str, TopK] = {"fused": top_entities, "softmax": full_softmax}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=500_000)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--tokens", type=int, nargs="+", default=[20, 254], help="a question's, and a window's")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--memory-of", choices=WAYS, help="print the bytes that one call adds, and nothing else")
    add_into(parser)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    weight = torch.randn((args.entities, args.dim)).div_(args.dim**0.5)
    if args.memory_of:
        print(_peak(WAYS[args.memory_of], args.tokens[0], weight, args.k))
        return
    with into(args.into, "spel", plain=True):
        print(
            f"{args.entities:,} entities of {args.dim} dimensions, k={args.k}, {args.threads} threads, {args.rounds} rounds"
        )
        for tokens in args.tokens:
            _compare(tokens, weight, args)


def _compare(tokens: int, weight: torch.Tensor, args: argparse.Namespace) -> None:
    hidden = torch.randn((tokens, args.dim)) * 3
    with torch.inference_mode():
        found = {name: way(hidden, weight, args.k) for name, way in WAYS.items()}  # also warms up
        seconds: dict[str, list[float]] = {name: [] for name in WAYS}
        floor: list[float] = []
        for number in range(args.rounds):
            for name in list(WAYS)[:: 1 if number % 2 else -1]:
                begun = time.perf_counter()
                WAYS[name](hidden, weight, args.k)
                seconds[name].append(time.perf_counter() - begun)
            begun = time.perf_counter()
            hidden @ weight.T
            floor.append(time.perf_counter() - begun)
    ratios = [plain / fused for plain, fused in zip(seconds["softmax"], seconds["fused"], strict=True)]
    same = (found["fused"][0] == found["softmax"][0]).float().mean().item()
    apart = (found["fused"][1] - found["softmax"][1]).abs().max().item()
    print(f"\n{tokens} tokens: same ids {same:.1%}, probabilities at most {apart:.1e} apart")
    for name, times in seconds.items():
        size = _memory(name, tokens, args)
        print(f"  {name:8} {statistics.median(times):7.3f} s  (least {min(times):.3f})  {size / 1e6:8.1f} MB")
    print(f"  logits   {statistics.median(floor):7.3f} s  which both need")
    print(f"  softmax / fused: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def _memory(name: str, tokens: int, args: argparse.Namespace) -> int:
    """Return the bytes that one call adds to a process that has nothing else to do."""
    sizes = {
        "--entities": args.entities,
        "--dim": args.dim,
        "--tokens": tokens,
        "-k": args.k,
        "--threads": args.threads,
    }
    options = [str(part) for pair in sizes.items() for part in pair]
    command = [sys.executable, "-m", "benchmarks.entities.spel", "--memory-of", name, *options]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, cwd=_ROOT).stdout)


def _peak(way: TopK, tokens: int, weight: torch.Tensor, k: int) -> int:
    with torch.inference_mode():
        way(torch.randn((tokens, weight.shape[1])), weight[:1000], k)  # what the libraries take once
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # Linux: the peak counts from here
        before = _resident("VmRSS")
        way(torch.randn((tokens, weight.shape[1])), weight, k)
        return _resident("VmHWM") - before


def _resident(field: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith(field)).split()[1]) * 1024


if __name__ == "__main__":
    main()
