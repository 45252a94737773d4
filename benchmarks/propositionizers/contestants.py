"""One contestant in a process of its own: `run` prints what it measured as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.propositionizers import material
from factoid.propositions.engines.checkpoint import Checkpoint


class Task(NamedTuple):
    """What one process does."""

    contestant: str
    checkpoint: str
    passages: str | None
    count: int
    words: int
    tokens: int
    device: str
    dtype: str
    cores: int


CONTESTANTS = {
    "loop": "model card's loop: one passage at a time, float32",
    "float32": "transformers engine, float32",
    "float32+copy": "transformers engine, float32, copying",
    "half": "transformers engine, {dtype}",
    "half+copy": "transformers engine, {dtype}, copying",
    "ctranslate2": "ctranslate2 engine, {quantized}",
    "syntax": "SyntaxPropositionizer",
}


def run(task: Task) -> None:
    """Measure one contestant, or convert the checkpoint beforehand."""
    if task.contestant == "convert":
        _ctranslate2(task, Checkpoint(task.checkpoint, None))
        return
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: task.cores])
    texts = material.read_texts(Path(task.passages) if task.passages else None)
    given = material.passages(texts, task.count, task.words)
    work = _syntax(given) if task.contestant == "syntax" else _seq2seq(task, given)
    with _Utilisation(task.device) as utilisation:
        wall = time.perf_counter()
        cpu = time.process_time()
        steps = work()
        wall = time.perf_counter() - wall
        cpu = time.process_time() - cpu
    measured = {"wall": wall / len(given), "cpu": cpu / len(given), "peak": _peak(), "steps": steps}
    print(json.dumps(measured | utilisation.found))


def _peak() -> float:
    """Return the most memory that this process has held, in GiB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says on Linux includes the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 2**20
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**30


def _syntax(given: list[Any]) -> Any:
    from factoid import SyntaxPropositionizer

    propositionizer = SyntaxPropositionizer()
    propositionizer.propositionize(given[:2])
    return lambda: propositionizer.propositionize(given) and None


def _seq2seq(task: Task, given: list[Any]) -> Any:
    import torch

    from factoid.propositions.prompting.prompt import passage_input

    torch.set_num_threads(task.cores)
    checkpoint = Checkpoint(task.checkpoint, None)
    if task.contestant == "loop":
        return _loop(task, checkpoint, given)
    engine: Any = (
        _ctranslate2(task, checkpoint)
        if task.contestant == "ctranslate2"
        else _torch(task, checkpoint, given)
    )
    inputs = engine.tokenizer(list(map(passage_input, given)))["input_ids"]
    list(engine.generate(inputs[:2], min(task.tokens, 8)))  # warms up
    decoder = getattr(engine, "_decoder", None)
    if decoder:
        decoder.steps = 0

    def work() -> float | None:
        for _ in engine.generate(inputs, task.tokens):
            pass
        return len(inputs) * task.tokens / decoder.steps if decoder else None

    return work


def _loop(task: Task, checkpoint: Any, given: list[Any]) -> Any:
    import torch

    from factoid.propositions.prompting.prompt import passage_input

    tokenizer = checkpoint.tokenizer()
    model = checkpoint.model(torch.float32).to(task.device)

    def one(passage: Any, tokens: int) -> None:
        ids = tokenizer(passage_input(passage), return_tensors="pt").input_ids.to(task.device)
        with torch.no_grad():
            output = model.generate(
                input_ids=ids, min_new_tokens=tokens, max_new_tokens=tokens, do_sample=False
            )
        tokenizer.decode(output[0], skip_special_tokens=True)

    one(given[0], 4)

    def run() -> None:
        for passage in given:
            one(passage, task.tokens)

    return run


def _ctranslate2(task: Task, checkpoint: Any) -> Any:
    from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine

    engine = CTranslate2Engine(checkpoint, device=task.device, dtype="int8")

    class Forced:
        """Makes every output as long as it may become."""

        def __init__(self, translator: Any) -> None:
            self.translator = translator

        def translate_batch(self, source: Any, **options: Any) -> Any:
            forced = {"min_decoding_length": options["max_decoding_length"]}
            return self.translator.translate_batch(source, **options | forced)

    engine._translator = Forced(engine._translator)
    return engine


def _torch(task: Task, checkpoint: Any, given: list[Any]) -> Any:
    from factoid.propositions.engines.t5_decoder import T5Decoder
    from factoid.propositions.engines.torch_engine import TorchEngine
    from factoid.propositions.prompting.prompt import passage_input

    name, _, copy = task.contestant.partition("+")
    dtype = "float32" if name == "float32" else task.dtype
    engine = TorchEngine(checkpoint, device=task.device, dtype=dtype, copy=bool(copy))
    inputs = engine.tokenizer(list(map(passage_input, given)))["input_ids"]
    wanted = dict(
        zip(map(tuple, inputs), material.targets(engine.tokenizer, given, task.tokens), strict=True)
    )

    class Forced(T5Decoder):
        """Computes everything, and then writes what was to be written."""

        steps = 0  # of rows: those of a batch count each

        def choose(self, logits: Any, cache: Any, fed: Any) -> list[int]:
            super().choose(logits, cache, fed)
            self.steps += len(set(fed.rows))
            tokens = []
            for row, at in zip(fed.rows, fed.positions, strict=True):
                tokens.append(self.script[cache.order[row]][at])
            return tokens

    decoder = Forced(engine.model)
    engine._decoder = decoder
    engine._ends = frozenset()
    plain = engine._outputs

    def outputs(batch: Any, max_new_tokens: int) -> Any:
        decoder.script = [wanted[tuple(tokens)] for tokens in batch]
        return plain(batch, max_new_tokens)

    engine._outputs = outputs  # type: ignore[method-assign]
    return engine


class _Utilisation:
    """Asks nvidia-smi twice a second how busy the GPU is and how much of its memory is taken, by
    whomever.
    """

    def __init__(self, device: str) -> None:
        self.found: dict[str, float] = {}
        self._device = device
        self._done = threading.Event()
        self._samples: list[tuple[float, float]] = []

    def __enter__(self) -> _Utilisation:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        if self._device != "cpu":
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._device != "cpu":
            self._thread.join()
            if self._samples:
                busy, taken = zip(*self._samples, strict=True)
                self.found |= {"busy": sum(busy) / len(busy), "gpu_peak": max(taken) / 1024}

    def _watch(self) -> None:
        import subprocess

        command = [
            "nvidia-smi",
            "--query-gpu=utilization.gpu,memory.used",
            "--format=csv,noheader,nounits",
        ]
        while not self._done.wait(0.5):
            asked = subprocess.run(command, capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                busy, taken = asked.stdout.splitlines()[0].split(",")
                self._samples.append((float(busy), float(taken)))


if __name__ == "__main__":
    run(Task(**json.loads(sys.argv[1])))
