"""Speed of propositionizers, side by side: passages per second, CPU seconds per passage, peak
memory.

    python -m benchmarks.propositionizers                                   # on this machine's CPU
    # on a GPU: flan-t5-large, 58 words a passage
    python -m benchmarks.propositionizers --device cuda --dtype bfloat16
    # the same on a CPU with a tiny model
    python -m benchmarks.propositionizers --device cuda --dry-run
    python -m benchmarks.propositionizers --train-tiny  # are outputs of all engines identical?

Speed does not depend on what the weights are, so they are random, in the architecture of Flan-T5;
every contestant writes the same number of tokens for each passage. Those that copy write what
*syntax* makes of the passage: the model computes every step in full, and what it would have written
is then replaced, so that drafts are right as often as with a model that has learned to write so.
Every measurement is a process of its own; contestants take turns, and medians are printed. The
loop, which is slow, gets a few of the passages.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from benchmarks.propositionizers import material, tiny
from benchmarks.propositionizers.contestants import CONTESTANTS, Task

FACTOIDWIKI = 41.4e6  # passages of Wikipedia that the paper decomposes, of 58.5 words on average


def main() -> None:
    arguments = parse()
    if arguments.train_tiny:
        tiny.main(material.read_texts(arguments.passages), minutes=arguments.minutes)
        return
    device = "cpu" if arguments.dry_run else arguments.device
    print(heading(device, arguments))
    with tempfile.TemporaryDirectory() as work:
        os.environ["FACTOID_CACHE"] = (
            f"{work}/cache"  # conversions of random weights are of no use to anybody
        )
        for size in arguments.sizes:
            folder = Path(work) / size
            quietly(lambda size=size, folder=folder: make(folder, size, arguments.passages))
            common = Task(
                contestant="convert",
                checkpoint=str(folder),
                passages=str(arguments.passages) if arguments.passages else None,
                count=arguments.passages_per_run,
                words=arguments.words,
                tokens=arguments.tokens,
                device=device,
                dtype=arguments.dtype,
                cores=arguments.cores,
            )
            if "ctranslate2" in arguments.contestants:
                measure(common)
            counts = {"loop": arguments.loop_passages, "syntax": 8 * arguments.passages_per_run}
            measured: dict[str, list[dict[str, float]]] = {
                name: [] for name in arguments.contestants
            }
            for done in range(arguments.rounds):
                for name in arguments.contestants:
                    task = common._replace(contestant=name, count=counts.get(name, common.count))
                    began = time.perf_counter()
                    measured[name].append(measure(task))
                    took = time.perf_counter() - began
                    print(
                        f"  {size}, round {done + 1}, {name}: {took:.0f} s",
                        file=sys.stderr,
                        flush=True,
                    )
            print(table(size, measured, arguments, device))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--passages", type=Path, help="SQuAD file, text file, or folder (default: what lies beside)"
    )
    parser.add_argument(
        "--sizes",
        type=lambda text: text.split(","),
        help="of tiny, base, large (default: base,large)",
    )
    parser.add_argument(
        "--contestants", type=lambda text: text.split(","), default=list(CONTESTANTS), metavar="A,B"
    )
    parser.add_argument(
        "--words", type=int, help="of a passage (default: 100; on a GPU 58, as FactoidWiki)"
    )
    parser.add_argument(
        "--tokens", type=int, help="that each output has (default: 128; on a GPU 142)"
    )
    parser.add_argument("--passages-per-run", type=int, help="default: 64; on a GPU 2048")
    parser.add_argument("--loop-passages", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--cores",
        type=int,
        default=available_cores(),
        help="default: all that this process may use",
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="bfloat16", help="of the contestants in half precision")
    parser.add_argument(
        "--dry-run", action="store_true", help="a tiny model on the CPU, whatever the device"
    )
    parser.add_argument(
        "--train-tiny",
        action="store_true",
        help="train a tiny T5, compare the outputs of all engines",
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="of --train-tiny")
    arguments = parser.parse_args()
    if unknown := set(arguments.contestants) - set(CONTESTANTS):
        parser.error(
            f"unknown contestants {', '.join(sorted(unknown))}; there are {', '.join(CONTESTANTS)}"
        )
    on_gpu = arguments.device != "cpu"
    defaults = {"words": 58, "tokens": 142, "passages_per_run": 2048, "sizes": ["large"]}
    if not on_gpu:
        defaults = {"words": 100, "tokens": 128, "passages_per_run": 64, "sizes": ["base", "large"]}
    if arguments.dry_run:
        defaults |= {"passages_per_run": 16, "sizes": ["tiny"]}
        arguments.rounds = 1
    for name, value in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    if unknown := set(arguments.sizes) - set(material.SIZES):
        parser.error(
            f"unknown sizes {', '.join(sorted(unknown))}; there are {', '.join(material.SIZES)}"
        )
    return arguments


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def heading(device: str, arguments: argparse.Namespace) -> str:
    where = f"{arguments.cores} CPU cores"
    if device != "cpu":
        import torch

        where = torch.cuda.get_device_name(device)
    elif arguments.dry_run:
        where = f"dry run on {where}"
    return f"{where}; passages of {arguments.words} words, outputs of {arguments.tokens} tokens"


def make(folder: Path, size: str, passages: Path | None) -> None:
    material.make_checkpoint(folder, size, material.read_texts(passages))


def quietly(work: object) -> None:
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    work()  # type: ignore[operator]


def measure(task: Task) -> dict[str, float]:
    command = [
        sys.executable,
        "-m",
        "benchmarks.propositionizers.contestants",
        json.dumps(task._asdict()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=material.ROOT)
    if done.returncode:
        raise SystemExit(f"{task.contestant} failed:\n{done.stderr}")
    printed = done.stdout.splitlines()
    return json.loads(printed[-1]) if printed else {}


def table(
    size: str,
    measured: dict[str, list[dict[str, float]]],
    arguments: argparse.Namespace,
    device: str,
) -> str:
    on_gpu = device != "cpu"
    quantized = "int8_float16" if on_gpu else "int8"
    columns = ["passages/s", "× loop", "CPU s/passage", "× loop", "peak GiB", "tokens/step"]
    columns += ["GPU GiB", "GPU busy", "hours for 41.4 M"] if on_gpu or arguments.dry_run else []
    lines = [f"\nflan-t5-{size}", f"{'':52}" + "".join(f"{name:>18}" for name in columns)]
    medians: dict[str, dict[str, float]] = {}
    for name, runs in measured.items():
        medians[name] = {}
        for key, value in runs[0].items():
            if value is not None:
                medians[name][key] = statistics.median(run[key] for run in runs)
    loop = medians.get("loop")
    for name, found in medians.items():
        label = CONTESTANTS[name].format(dtype=arguments.dtype, quantized=quantized)
        cells = [f"{1 / found['wall']:.2f}", f"{loop['wall'] / found['wall']:.1f}" if loop else ""]
        cells += [
            f"{found['cpu']:.3f}",
            f"{loop['cpu'] / found['cpu']:.1f}" if loop else "",
            f"{found['peak']:.1f}",
        ]
        cells += [f"{found['steps']:.2f}" if "steps" in found else ""]
        if on_gpu or arguments.dry_run:
            cells += [f"{found['gpu_peak']:.1f}" if "gpu_peak" in found else ""]
            cells += [
                f"{found['busy']:.0f} %" if "busy" in found else "",
                f"{FACTOIDWIKI * found['wall'] / 3600:.1f}",
            ]
        lines.append(f"{label:52}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
