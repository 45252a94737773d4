"""The engine that runs T5 on CTranslate2: eight-bit weights, and no torch once a model has been converted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from factoid._optional import require
from factoid.errors import PropositionizerError
from factoid.propositions.engines.checkpoint import Checkpoint
from factoid.propositions.engines.conversion import converted
from factoid.propositions.engines.engine import Written
from factoid.propositions.engines.repetition import CHECK_EVERY, loop_detector

SUPPORTED = frozenset({"t5", "mt5"})  # others are given their input in other ways, or need a newer CTranslate2
_BUDGETS = {"cpu": 12_288, "cuda": 65_536}  # tokens of a batch


class CTranslate2Engine:
    """A T5 in CTranslate2.

    Args:
        checkpoint: What to convert, unless that was done before, and to load.
        device: "cpu", "cuda" or "cuda:1".
        compute_type: As CTranslate2 calls it, such as "int8_float32".

    Raises:
        PropositionizerError: The checkpoint is no T5, cannot be loaded or converted, or the device cannot compute in this type.
    """

    def __init__(self, checkpoint: Checkpoint, *, device: str, compute_type: str) -> None:
        ctranslate2 = require("ctranslate2", extra="fast")
        config = checkpoint.config()
        if config.model_type not in SUPPORTED:
            kinds = ", ".join(sorted(SUPPORTED))
            message = f"the ctranslate2 engine runs {kinds}, and {checkpoint.name!r} is {config.model_type}"
            raise PropositionizerError(message + '. Use engine="transformers", which runs any seq2seq model')
        self.tokenizer = checkpoint.tokenizer()
        self.limit = checkpoint.limit(config, self.tokenizer)
        kind, _, index = device.partition(":")
        self.budget = _BUDGETS[kind]
        # On a CPU, batches side by side on one core each: nothing has to wait for the slowest core of a step.
        self.workers = _cores() if kind == "cpu" else 1
        threads = {"inter_threads": self.workers, "intra_threads": 1} if kind == "cpu" else {}
        folder = converted(checkpoint, compute_type)
        try:
            self._translator = ctranslate2.Translator(
                os.fspath(folder), device=kind, device_index=int(index or 0), compute_type=compute_type, **threads
            )
        except (RuntimeError, ValueError) as error:
            message = f"CTranslate2 cannot load {checkpoint.name!r} as {compute_type} on {device}: {error}"
            raise PropositionizerError(message) from error
        self._is_loop = loop_detector(lambda tokens: self.tokenizer.decode(tokens, skip_special_tokens=True))

    def generate(self, inputs: Sequence[Sequence[int]], max_new_tokens: int) -> list[Written]:
        """Return the greedy output for each input."""
        rows: list[list[int]] = [[] for _ in inputs]
        stuck = [False] * len(inputs)

        def is_stuck(step: Any) -> bool:
            at: int = step.batch_id
            rows[at].append(step.token_id)
            if len(rows[at]) % CHECK_EVERY == 0:
                stuck[at] = self._is_loop(rows[at])
            return stuck[at]

        results = self._translator.translate_batch(
            [self.tokenizer.convert_ids_to_tokens(tokens) for tokens in inputs],
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max_new_tokens,
            return_end_token=True,
            callback=is_stuck,
        )
        end = self.tokenizer.eos_token
        written = []
        for result in results:
            tokens = result.hypotheses[0]
            ended = tokens[-1:] == [end]
            ids = self.tokenizer.convert_tokens_to_ids(tokens[:-1] if ended else tokens)
            written.append(Written(ids, not ended))
        return written


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
