"""Causal language models of transformers as readers (Entity Retrieval, §4.1)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.encode import loading
from factoid.readers.prompts import Context, question_prompt
from factoid.readers.reader import Prompt, clean_answer, make_prompts
from factoid.units import whole_number

if TYPE_CHECKING:
    import torch

# Overrides the checkpoints' own settings, which are for chats.
_GREEDY: dict[str, Any] = {"do_sample": False, "num_beams": 1, "repetition_penalty": 1.0}
_GREEDY |= dict.fromkeys(("temperature", "top_p", "top_k"))


class CausalReader:
    """Answers with a causal language model.

    The first line of what it most probably writes after the prompt. The model is loaded on first
    use. A prompt that is too long for it loses its first tokens, as in the paper's experiments.
    Threads that share a reader take turns.

    Args:
        model: A name on the Hugging Face hub, or a folder, whose weights keep the type they are
            saved in; or a loaded model.
        tokenizer: A name, folder or loaded tokenizer; None for the model's own.
        max_new_tokens: The most tokens of an answer, 10 as in the paper.
        batch_size: The number of prompts in one forward pass of `read_batch`.
        device: Such as "cuda:1"; None for a GPU if there is one, else the CPU.
        prompt: Makes the prompt of a question and its documents.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        max_new_tokens: int = 10,
        batch_size: int = 8,
        device: str | torch.device | None = None,
        prompt: Prompt = question_prompt,
    ) -> None:
        self.model = model
        self.tokenizer = getattr(model, "name_or_path", model) if tokenizer is None else tokenizer
        self.max_new_tokens = whole_number("max_new_tokens", max_new_tokens)
        self.batch_size = whole_number("batch_size", batch_size)
        self.device = device
        self.prompt = prompt
        self._lock = Lock()

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question."""
        return self.read_batch([question], [context])[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question, the same as one by one.

        Contexts[i] are the documents of questions[i].
        """
        prompts = make_prompts(self.prompt, questions, contexts)
        if not prompts:
            return []
        with self._lock:
            written = self._pipeline(
                prompts, batch_size=self.batch_size, max_new_tokens=self.max_new_tokens
            )
        return [clean_answer(answer["generated_text"]) for [answer] in written]

    @cached_property
    def _pipeline(self) -> Any:
        transformers = require("transformers", extra="models")
        with loading("reader", self.model):
            if isinstance(self.tokenizer, str | os.PathLike):
                tokenizer = transformers.AutoTokenizer.from_pretrained(self.tokenizer)
            else:
                tokenizer = deepcopy(self.tokenizer)
            tokenizer.padding_side = "left"  # all answers start together
            tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
            if isinstance(self.model, os.PathLike):
                model = os.fspath(self.model)
            else:
                model = self.model
            pipeline = transformers.pipeline(
                "text-generation",
                model=model,
                tokenizer=tokenizer,
                device=self.device,
                dtype="auto",
                return_full_text=False,
                handle_long_generation="hole",  # cuts from the left
                **_GREEDY,
            )
        positions = getattr(
            pipeline.model.config.get_text_config(), "max_position_embeddings", None
        )
        tokenizer.model_max_length = min(
            tokenizer.model_max_length, positions or tokenizer.model_max_length
        )
        return pipeline
