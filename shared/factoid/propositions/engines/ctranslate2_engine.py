"""The engine that runs T5 on CTranslate2, with eight-bit weights."""

from __future__ import annotations

import logging
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from factoid._optional import require
from factoid.errors import PropositionizerError
from factoid.files.atomic import move_into_place, part_beside
from factoid.propositions.engines.batching import Written, batches
from factoid.propositions.engines.checkpoint import Checkpoint

logger = logging.getLogger(__name__)

# others take their input differently, or need a newer CTranslate2
_SUPPORTED = frozenset({"t5", "mt5"})
_BUDGETS = {"cpu": 12_288, "cuda": 65_536}  # tokens of a batch


class CTranslate2Engine:
    """A T5 in CTranslate2, converted on first use, on "cpu", "cuda" or "cuda:1".

    Raises `PropositionizerError` if the checkpoint is not a T5, or cannot be loaded or converted.
    """

    def __init__(self, checkpoint: Checkpoint, *, device: str, dtype: str) -> None:
        ctranslate2 = require("ctranslate2", extra="fast")
        config = checkpoint.config()
        if config.model_type not in _SUPPORTED:
            raise PropositionizerError(
                f"the ctranslate2 engine runs {', '.join(sorted(_SUPPORTED))}, and "
                f"{checkpoint.name!r} is {config.model_type}. "
                'Use engine="transformers", which runs any seq2seq model'
            )
        self.tokenizer = checkpoint.tokenizer()
        self.limit = checkpoint.limit(config, self.tokenizer)
        kind, _, index = device.partition(":")
        self._budget = _BUDGETS.get(kind, 0)
        self._workers = 1
        threads = {}
        # one batch on each core: nothing has to wait for the slowest core of a step
        if kind == "cpu":
            self._workers = (
                len(os.sched_getaffinity(0))
                if hasattr(os, "sched_getaffinity")
                else os.cpu_count() or 1
            )
            threads = {"inter_threads": self._workers, "intra_threads": 1}
        compute_type = "int8_float16" if (kind, dtype) == ("cuda", "int8") else dtype
        folder = os.fspath(converted(checkpoint, compute_type))
        device_index = int(index or 0)
        self._translator = ctranslate2.Translator(
            folder, device=kind, device_index=device_index, compute_type=compute_type, **threads
        )

    def generate(
        self, inputs: Sequence[Sequence[int]], max_new_tokens: int
    ) -> Iterator[tuple[int, Written]]:
        """Yield the position of each input and its greedy output.

        A few batches are ahead of the consumer.
        """
        running: deque[tuple[list[int], list[Any]]] = deque()
        for batch in batches(inputs, max_new_tokens, budget=self._budget, workers=self._workers):
            results = self._translator.translate_batch(
                [self.tokenizer.convert_ids_to_tokens(inputs[position]) for position in batch],
                beam_size=1,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=max_new_tokens,
                return_end_token=True,
                asynchronous=True,
            )
            running.append((batch, results))
            if len(running) > 2 * self._workers:
                yield from self._written(*running.popleft())
        for batch, results in running:
            yield from self._written(batch, results)

    def _written(self, batch: list[int], results: list[Any]) -> Iterator[tuple[int, Written]]:
        for position, result in zip(batch, results, strict=True):
            tokens = result.result().hypotheses[0]
            ended = tokens[-1:] == [self.tokenizer.eos_token]
            if ended:
                tokens = tokens[:-1]
            ids = self.tokenizer.convert_tokens_to_ids(tokens)
            yield position, Written(ids, not ended)


def converted(checkpoint: Checkpoint, quantization: str) -> Path:
    """Return the folder of a checkpoint in CTranslate2's format, converted on first use.

    It is in the folder `FACTOID_CACHE`, or `factoid` in the user's cache folder, and appears whole
    or not at all.
    """
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "factoid"
    cache = Path(os.environ.get("FACTOID_CACHE") or user_cache) / "ctranslate2"
    source = checkpoint.folder()
    name = checkpoint.name
    if source == Path(name):
        name = source.name
    name = re.sub(r"[^\w.-]+", "-", name)
    target = cache / f"{name}-{checkpoint.identity()[:12]}-{quantization}"
    converter = require("ctranslate2.converters", extra="fast").TransformersConverter(
        os.fspath(source)
    )
    converter.load_model = lambda *_, **__: checkpoint.model(
        require("torch", extra="models").float32
    )  # of this revision
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.exists():
                logger.info(
                    "converting %s for CTranslate2 (%s) into %s",
                    checkpoint.name,
                    quantization,
                    target,
                )
                with part_beside(target, folder=True) as part:
                    converter.convert(os.fspath(part / "model"), quantization=quantization)
                    move_into_place(part / "model", target)
    except OSError as error:
        raise PropositionizerError(
            f"cannot write the converted model to {target}: {error}. Free some space, or name "
            "another folder in the environment variable FACTOID_CACHE"
        ) from error
    return target
