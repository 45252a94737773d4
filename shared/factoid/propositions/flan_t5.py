"""The Propositionizer of the paper, or any other seq2seq model that writes propositions (Dense X Retrieval, §3)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from factoid.errors import InvalidInputError
from factoid.propositions.engines import EngineName, check_choice, choose, load
from factoid.propositions.engines.batching import generate, model_inputs
from factoid.propositions.engines.checkpoint import Checkpoint, fingerprint
from factoid.propositions.parse import read_propositions
from factoid.propositions.protocol import in_order
from factoid.units import Unit

if TYPE_CHECKING:
    import torch

    from factoid.propositions.engines.batching import Engine

DEFAULT_MODEL = "chentong00/propositionizer-wiki-flan-t5-large"
_MAX_NEW_TOKENS = 512


class FlanT5Propositionizer:
    """Decompose passages with a seq2seq model that answers `passage_input` with a JSON list.

    The model is loaded on first use. Outputs are greedy; one that repeats the same propositions four times is cut off.
    Threads that share one object take turns.

    Args:
        model: Name on the Hugging Face hub, or a folder as `save_pretrained` writes it.
        engine: "transformers" runs any seq2seq model on torch, T5 with drafts copied from the passage. "ctranslate2"
            (`pip install "factoid[fast]"`) runs T5; the model is converted once and kept in the folder `FACTOID_CACHE`,
            by default `~/.cache/factoid`. "auto" is ctranslate2 on a CPU if it is installed and the CPU has no AMX, with which
            transformers is faster; otherwise it is transformers.
        device: For example "cuda:1"; None for the first available of CUDA, MPS and CPU.
        dtype: "float32", "bfloat16", "float16" or "int8" (ctranslate2 only). None for the fastest reliable one: int8 with
            ctranslate2 on a CPU, bfloat16 on GPUs and CPUs that multiply in it, float16 on other CUDA devices, else float32. All
            engines, batches and drafts agree in float32, and in bfloat16 and float16 except for near ties.
        batch_tokens: Maximum tokens of a batch, including padding and expected outputs; None for a value that suits the device.
        max_new_tokens: Maximum length of an output. If an output is cut off, its complete propositions are kept.
        copy: Whether a T5 in the transformers engine drafts from the passage, for the same output in fewer steps.
        revision: Branch, tag or commit of a model on the hub.
        show_progress: Whether to show a bar when there is more than one passage.

    Raises:
        InvalidInputError: `batch_tokens` or `max_new_tokens` is below 1, or `engine` or `dtype` is unknown.
    """

    costly = True

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        engine: EngineName = "auto",
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        batch_tokens: int | None = None,
        max_new_tokens: int = _MAX_NEW_TOKENS,
        copy: bool = True,
        revision: str | None = None,
        show_progress: bool = False,
    ) -> None:
        if max_new_tokens < 1 or (batch_tokens is not None and batch_tokens < 1):
            numbers = f"batch_tokens={batch_tokens} and max_new_tokens={max_new_tokens}"
            raise InvalidInputError(f"expected at least 1, got {numbers}")
        check_choice(engine, dtype)
        self.model = os.fspath(model)
        self.engine = engine
        self.device = device
        self.dtype = dtype
        self.batch_tokens = batch_tokens
        self.max_new_tokens = max_new_tokens
        self.copy = copy
        self.revision = revision
        self.show_progress = show_progress
        self._engine: Engine | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """Model with its commit or the folder's fingerprint, dtype and `max_new_tokens`, leaving out float32 and 512."""
        folder = Path(self.model)
        identity = fingerprint(folder) if folder.is_dir() else self._commit
        limit = "" if self.max_new_tokens == _MAX_NEW_TOKENS else f"max_new_tokens={self.max_new_tokens}"
        suffixes = [choose(self.engine, self.device, self.dtype).suffix, limit]
        return ":".join([f"{self.model}@{identity}" if identity else self.model, *filter(None, suffixes)])

    @cached_property
    def _commit(self) -> str:
        return Checkpoint(self.model, self.revision).commit()

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order; `NoPropositions` for one that failed.

        A passage too long for the model is cut at sentence ends, and the propositions of its parts are joined.

        Raises:
            PropositionizerError: The model cannot be loaded, or a batch does not fit into memory.
            MissingDependencyError: A package that the engine needs is not installed.
        """
        return in_order(self.stream(passages))

    def stream(self, passages: Sequence[Unit]) -> Iterator[tuple[int, list[str]]]:
        """Yield the position of each passage with its propositions as soon as its batch is done. Raises as above."""
        if not passages:
            return
        engine = self._load()
        inputs = model_inputs(passages, engine.tokenizer, engine.limit)
        parts = [(index, number) for index, tokens in enumerate(inputs) for number in range(len(tokens))]
        results: dict[int, list[Any]] = {index: [None] * len(tokens) for index, tokens in enumerate(inputs)}
        hidden = not self.show_progress or len(passages) == 1
        with tqdm(total=len(passages), desc="propositions", unit="passage", disable=hidden) as bar:
            for batch, outputs in generate(engine, list(chain.from_iterable(inputs)), self.max_new_tokens):
                for part, written in zip(batch, outputs, strict=True):
                    index, number = parts[part]
                    answer = engine.tokenizer.decode(written.tokens, skip_special_tokens=True)
                    results[index][number] = read_propositions(answer, cut_off=written.cut_off)
                    if None not in results[index]:
                        bar.update()
                        read = results.pop(index)
                        yield index, list(chain.from_iterable(read)) or read[-1]  # a failure, if all parts failed

    def _load(self) -> Engine:
        with self._lock:
            if self._engine is None:
                choice = choose(self.engine, self.device, self.dtype)
                checkpoint = Checkpoint(self.model, self.revision)
                self._engine = load(choice, checkpoint, copy=self.copy, may_change=self.engine == "auto")
                self._engine.budget = self.batch_tokens or self._engine.budget
            return self._engine
