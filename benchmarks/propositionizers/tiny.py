"""A tiny T5 that learns to write what *syntax* writes, and whether all engines make the same of
it.
"""

from __future__ import annotations

import json
import tempfile
import time
from operator import eq
from pathlib import Path
from typing import Any

from benchmarks.propositionizers import material
from factoid import SyntaxPropositionizer
from factoid.propositions.prompting.prompt import passage_input

WORDS = 25
BATCH = 24


def main(texts: list[str], *, minutes: float) -> None:
    """Train on one core for some minutes, then compare and time the engines on passages not
    seen.
    """
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "tiny"
        material.make_checkpoint(folder, "tiny", texts)
        given = material.passages(texts, 4000, WORDS)
        held_out = given[:60]
        training = given[60:]
        loss, steps = train(folder, training, minutes)
        print(
            f"trained for {minutes:g} minutes: {steps} steps, loss {loss:.2f}; {len(held_out)} "
            "passages held out"
        )
        compare(folder, held_out)


def train(folder: Path, given: list[Any], minutes: float) -> tuple[float, int]:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)
    outputs = SyntaxPropositionizer().propositionize(given)
    pairs = []
    for passage, texts in zip(given, outputs, strict=True):
        if texts:
            pairs.append((passage_input(passage), json.dumps(texts, ensure_ascii=False)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    chance = torch.Generator().manual_seed(0)
    until = time.monotonic() + 60 * minutes
    steps = 0
    average = 0.0
    while time.monotonic() < until:
        places = torch.randint(len(pairs), (BATCH,), generator=chance).tolist()
        sources, targets = zip(*(pairs[at] for at in places), strict=True)
        read = tokenizer(list(sources), padding=True, return_tensors="pt")
        written = tokenizer(list(targets), padding=True, return_tensors="pt").input_ids
        loss = model(**read, labels=written.masked_fill(written == 0, -100)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
        average += (loss.item() - average) / min(steps, 50)
    model.save_pretrained(folder)
    return average, steps


def compare(folder: Path, given: list[Any]) -> None:
    import torch

    from factoid.propositions.engines.checkpoint import Checkpoint
    from factoid.propositions.engines.ctranslate2_engine import CTranslate2Engine
    from factoid.propositions.engines.torch_engine import TorchEngine

    checkpoint = Checkpoint(str(folder), None)
    limit = 256
    engines: dict[str, Any] = {
        "transformers, float32": TorchEngine(checkpoint, device="cpu", dtype="float32", copy=False),
        "transformers, float32, copying": TorchEngine(checkpoint, device="cpu", dtype="float32"),
        "ctranslate2, float32": CTranslate2Engine(checkpoint, device="cpu", dtype="float32"),
    }
    tokenizer = checkpoint.tokenizer()
    inputs = tokenizer(list(map(passage_input, given)))["input_ids"]
    model = checkpoint.model(torch.float32)
    expected = [_generated(model, tokens, limit) for tokens in inputs]
    print(f"{sum(map(len, expected)) / len(expected):.0f} tokens an output, for example:")
    print(f"  {given[0].text}\n  {tokenizer.decode(expected[0], skip_special_tokens=True)}")
    for name, engine in engines.items():
        for rows in (1, len(inputs)):
            began = time.process_time()
            steps = _count_steps(engine)
            found = []
            for at in range(0, len(inputs), rows):
                outputs = sorted(engine.generate(inputs[at : at + rows], limit))
                found += [output.tokens for _, output in outputs]
            seconds = time.process_time() - began
            same = sum(map(eq, found, expected))
            note = (
                f", {sum(len(tokens) + 1 for tokens in found) / steps[0]:.2f} tokens a step"
                if steps[0]
                else ""
            )
            print(
                f"{name:32} batches of {rows:2}: {same} of {len(inputs)} as generate writes them, "
                f"{seconds:.1f} CPU s{note}"
            )


def _generated(model: Any, tokens: list[int], limit: int) -> list[int]:
    import torch

    with torch.inference_mode():
        output = model.generate(
            input_ids=torch.tensor([tokens]), max_new_tokens=limit, do_sample=False
        )[0, 1:].tolist()
    return output[: output.index(1)] if 1 in output else output


def _count_steps(engine: Any) -> list[int]:
    """Return a count that grows by the rows of each step."""
    count = [0]
    if decoder := getattr(engine, "_decoder", None):
        choose = type(decoder).choose

        def counting(logits: Any, cache: Any, fed: Any) -> list[int]:
            count[0] += len(set(fed.rows))
            return choose(decoder, logits, cache, fed)

        decoder.choose = counting
    return count
