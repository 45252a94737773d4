"""The Propositionizer of the paper, or another seq2seq model (Dense X, §3)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from factoid.errors import MissingDependencyError, PropositionizerError
from factoid.propositions.engines import EngineName, choose, load
from factoid.propositions.engines.checkpoint import Checkpoint
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.prompt import passage_input
from factoid.propositions.protocol import NoPropositions, in_order
from factoid.units import Unit

if TYPE_CHECKING:
    import torch

    from factoid.propositions.engines.batching import Engine

DEFAULT_MODEL = "chentong00/propositionizer-wiki-flan-t5-large"
_MAX_NEW_TOKENS = 512


class FlanT5Propositionizer:
    """Decompose passages with a seq2seq model that answers `passage_input` with a JSON list.

    The model is loaded on first use. Outputs are greedy. Threads that share one object take turns.

    Args:
        model: Name on the Hugging Face hub, or a folder as `save_pretrained` writes it.
        engine: "transformers" runs any seq2seq model on torch, T5 with drafts copied from the
            passage. "ctranslate2" (`pip install "factoid[fast]"`) runs T5; the model is converted
            once and kept in the folder `FACTOID_CACHE`, by default `~/.cache/factoid`. "auto" is
            ctranslate2 on a CPU if it is installed and the CPU has no AMX, with which transformers
            is faster; otherwise it is transformers.
        device: For example "cuda:1"; None for the first available of CUDA, MPS and CPU.
        dtype: "float32", "bfloat16", "float16" or "int8" (ctranslate2 only). None for the fastest
            reliable one: int8 with ctranslate2 on a CPU, bfloat16 on GPUs and CPUs that multiply in
            it, float16 on other CUDA devices, else float32. All engines, batches and drafts agree
            in float32, and in bfloat16 and float16 except for near ties.
        max_new_tokens: Maximum length of an output. If an output is cut off, its complete
            propositions are kept.
        copy: Whether a T5 in the transformers engine drafts from the passage, for the same output
            in fewer steps. None for yes but on CUDA devices, where large batches are faster
            without.
        revision: Branch, tag or commit of a model on the hub.
        progress: Whether to show a bar when there is more than one passage.
    """

    costly = True

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        engine: EngineName = "auto",
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        max_new_tokens: int = _MAX_NEW_TOKENS,
        copy: bool | None = None,
        revision: str | None = None,
        progress: bool = False,
    ) -> None:
        self.model = os.fspath(model)
        self.engine = engine
        self.device = device
        self.dtype = dtype
        self.max_new_tokens = max_new_tokens
        self.copy = copy
        self.revision = revision
        self.progress = progress
        self._engine: Engine | None = None
        self._lock = Lock()

    @cached_property
    def name(self) -> str:
        """Model with its commit, dtype and `max_new_tokens`, leaving out float32 and 512.

        A model in a folder is named by its weights: it is the same one wherever the folder lies.
        """
        try:
            model = Checkpoint(self.model, self.revision).label()
        except (PropositionizerError, MissingDependencyError):
            # Loading the model will report why.
            model = f"{self.model}@{self.revision}" if self.revision else self.model
        *_, dtype = choose(self.engine, self.device, self.dtype)
        dtype = {"float32": "", "int8": "ctranslate2-int8"}.get(dtype, dtype)
        if self.max_new_tokens == _MAX_NEW_TOKENS:
            limit = ""
        else:
            limit = f"max_new_tokens={self.max_new_tokens}"
        return ":".join([model, *filter(None, [dtype, limit])])

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order.

        `NoPropositions` for one that failed.

        Raises:
            PropositionizerError: The model cannot be loaded.
            InvalidInputError: There is no such engine or device, or the engine does not compute in
                this dtype.
            MissingDependencyError: A package that the engine needs is not installed.
        """
        return in_order(self.stream(passages))

    def stream(self, passages: Sequence[Unit]) -> Iterator[tuple[int, list[str]]]:
        """Yield the position of each passage with its propositions as soon as its batch is done.

        Raises as above.
        """
        if not passages:
            return
        engine = self._load()
        inputs = engine.tokenizer(list(map(passage_input, passages)), verbose=False)["input_ids"]
        readable = {}
        for position, tokens in enumerate(inputs):
            if len(tokens) <= engine.limit:
                readable[position] = tokens
        positions = list(readable)
        hidden = not self.progress or len(passages) == 1
        with tqdm(total=len(passages), desc="propositions", unit="passage", disable=hidden) as bar:
            for position in range(len(passages)):
                if position not in readable:
                    bar.update()
                    yield position, NoPropositions("passage too long")
            for place, written in engine.generate(list(readable.values()), self.max_new_tokens):
                bar.update()
                answer = engine.tokenizer.decode(written.tokens, skip_special_tokens=True)
                yield positions[place], read_propositions(answer, cut_off=written.cut_off)

    def _load(self) -> Engine:
        with self._lock:
            if self._engine is None:
                chosen = choose(self.engine, self.device, self.dtype)
                self._engine = load(Checkpoint(self.model, self.revision), *chosen, copy=self.copy)
            return self._engine
