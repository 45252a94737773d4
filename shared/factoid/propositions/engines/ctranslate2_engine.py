"""The engine that runs T5 on CTranslate2: eight-bit weights, and no torch once a model has been converted."""

from __future__ import annotations

import logging
import os
import re
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.errors import PropositionizerError
from factoid.files.atomic import move_into_place, part_beside, sync_file
from factoid.propositions.engines.batching import Written
from factoid.propositions.engines.checkpoint import Checkpoint, fingerprint
from factoid.propositions.engines.loops import is_loop

logger = logging.getLogger(__name__)

SUPPORTED = frozenset({"t5", "mt5"})  # others take their input differently, or need a newer CTranslate2
_BUDGETS = {"cpu": 12_288, "cuda": 65_536}  # tokens of a batch

_INSTEAD = 'Use engine="transformers", which runs any seq2seq model'


class CTranslate2Engine:
    """A T5 in CTranslate2, converted on first use, on "cpu", "cuda" or "cuda:1".

    Raises `PropositionizerError` if the checkpoint is not a T5, cannot be loaded or converted, or the device cannot compute in
    this type.
    """

    def __init__(self, checkpoint: Checkpoint, *, device: str, compute_type: str) -> None:
        ctranslate2 = require("ctranslate2", extra="fast")
        config = checkpoint.config()
        if config.model_type not in SUPPORTED:
            kinds, kind = ", ".join(sorted(SUPPORTED)), config.model_type
            raise PropositionizerError(
                f"the ctranslate2 engine runs {kinds}, and {checkpoint.name!r} is {kind}. {_INSTEAD}"
            )
        self.tokenizer = checkpoint.tokenizer()
        self.limit = checkpoint.limit(config, self.tokenizer)
        kind, _, index = device.partition(":")
        self.budget = _BUDGETS[kind]
        # On a CPU, run batches in parallel on one core each: nothing has to wait for the slowest core of a step.
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.workers = cores if kind == "cpu" else 1
        threads = {"inter_threads": self.workers, "intra_threads": 1} if kind == "cpu" else {}
        folder = converted(checkpoint, compute_type)
        try:
            translator = ctranslate2.Translator(
                os.fspath(folder), device=kind, device_index=int(index or 0), compute_type=compute_type, **threads
            )
        except (RuntimeError, ValueError) as error:
            raise PropositionizerError(
                f"CTranslate2 cannot load {checkpoint.name!r} as {compute_type} on {device}: {error}. If {folder} is "
                "damaged, delete it"
            ) from error
        # The workers release the last batch's callback when they can: the process aborts if Python has ended before that.
        self._translators = [translator]
        weakref.finalize(self, self._translators.clear)

    def generate(self, inputs: Sequence[Sequence[int]], max_new_tokens: int) -> list[Written]:
        """Return the greedy output for each input."""
        rows: list[list[int]] = [[] for _ in inputs]
        tokenizer = self.tokenizer  # a callback that holds the engine might end it in a thread of its own translator

        def is_stuck(step: Any) -> bool:
            row = rows[step.batch_id]
            row.append(step.token_id)
            return is_loop(row, tokenizer)

        results = self._translators[0].translate_batch(
            [tokenizer.convert_ids_to_tokens(tokens) for tokens in inputs],
            beam_size=1,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=max_new_tokens,
            return_end_token=True,
            callback=is_stuck,
        )
        written = []
        for result in results:
            tokens = result.hypotheses[0]
            ended = tokens[-1:] == [tokenizer.eos_token]
            written.append(Written(tokenizer.convert_tokens_to_ids(tokens[:-1] if ended else tokens), not ended))
        return written


def converted(checkpoint: Checkpoint, quantization: str) -> Path:
    """Return the folder of a checkpoint in CTranslate2's format, converted on first use.

    It is in the folder `FACTOID_CACHE`, or `factoid` in the user's cache folder, and appears whole or not at all. If two
    processes convert the same checkpoint at once, the second to finish discards its work.
    """
    source = checkpoint.folder()
    is_local = source == Path(checkpoint.name)
    name = re.sub(r"[^\w.-]+", "-", source.name if is_local else checkpoint.name)
    identity = fingerprint(source) if is_local else source.name[:12]
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "factoid"
    cache = Path(os.environ.get("FACTOID_CACHE") or user_cache) / "ctranslate2"
    target = cache / f"{name}-{identity}-{quantization}"
    if target.exists():
        return target
    logger.info("converting %s for CTranslate2 (%s) into %s", checkpoint.name, quantization, target)
    try:
        with part_beside(target, folder=True) as part:
            fresh = part / "model"
            _convert(checkpoint, source, fresh, quantization)
            for file in fresh.iterdir():
                sync_file(file)
            try:
                move_into_place(fresh, target)
            except OSError:
                if not target.is_dir():  # otherwise another process was faster
                    raise
    except OSError as error:
        raise PropositionizerError(
            f"cannot write the converted model to {target}: {error}. Free some space, or name another folder in the "
            "environment variable FACTOID_CACHE"
        ) from error
    return target


def _convert(checkpoint: Checkpoint, source: Path, target: Path, quantization: str) -> None:
    converter = require("ctranslate2.converters", extra="fast").TransformersConverter(os.fspath(source))
    # By default it would ask only for the revision of the model.
    converter.load_model = lambda *_, **__: checkpoint.model(require("torch", extra="models").float32)
    converter.load_tokenizer = lambda *_, **__: checkpoint.tokenizer()
    try:
        converter.convert(os.fspath(target), quantization=quantization)
    except (ValueError, NotImplementedError, AttributeError, KeyError) as error:
        raise PropositionizerError(f"CTranslate2 cannot convert {checkpoint.name!r}: {error}. {_INSTEAD}") from error
