"""Causal language models of transformers as readers (Entity Retrieval, §4.1)."""

from __future__ import annotations

import logging
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, get_args

from factoid._optional import require
from factoid.devices import usable_device
from factoid.entities.prompts import Context, match_contexts, question_prompt
from factoid.entities.reader import MAX_NEW_TOKENS, Prompt, clean_answer
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.units import whole_number
from factoid.words import UNSPACED

if TYPE_CHECKING:
    import torch

_log = logging.getLogger(__name__)
_POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len")
_WORD = re.compile(rf"{UNSPACED.pattern}|\S{{1,50}}")  # or a character of a script without spaces, or a piece
# Overrides the checkpoints' own settings, which are for chats. Penalties would also count the padding.
_GREEDY: dict[str, Any] = dict.fromkeys(("temperature", "top_p", "top_k"))
_GREEDY |= {"do_sample": False, "num_beams": 1, "repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "min_length": 0}

Decoding = Literal["greedy", "checkpoint"]
Truncate = Literal["left", "documents"]


class TransformersReader:
    """Answers with a causal language model: the first line of what it writes after the prompt.

    The model is loaded on first use. A prompt that is too long for the model's positions is cut, and the log says so.
    Threads that share a reader take turns.

    Args:
        model: A name on the Hugging Face hub, or a folder, whose weights keep the type they are saved in; or a loaded model,
            which is put into evaluation mode.
        tokenizer: A name, folder or loaded tokenizer; None for the model's own, if `model` is a name or a folder.
        max_new_tokens: The most tokens of an answer.
        max_length: The most tokens of prompt and answer; None for the limit that model and tokenizer state, if any.
        batch_size: The number of prompts in one forward pass of `read_batch`.
        device: Such as "cuda:1"; None for the device of a loaded model, else CUDA if available, else the CPU.
        prompt: Makes the prompt of a question and its documents.
        decoding: "greedy" for the same answer each time; "checkpoint" for the settings that come with the checkpoint, as in the
            paper's experiments, whose model sampled: `torch.manual_seed` makes its answers repeatable.
        truncate: What a prompt that is too long loses: its first tokens ("left"), as in the paper's experiments; or the end
            of its last document, then of the one before ("documents").
        skip_empty: Whether to skip empty lines before the answer. Else an empty first line is the answer, as in the paper's
            experiments.

    Raises:
        InvalidInputError: An option is out of range, or a loaded model comes without a tokenizer.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        max_new_tokens: int = MAX_NEW_TOKENS,
        max_length: int | None = None,
        batch_size: int = 8,
        device: str | torch.device | None = None,
        prompt: Prompt = question_prompt,
        decoding: Decoding = "greedy",
        truncate: Truncate = "left",
        skip_empty: bool = False,
    ) -> None:
        for name, value in (("max_new_tokens", max_new_tokens), ("max_length", max_length), ("batch_size", batch_size)):
            if value is not None:
                whole_number(name, value)
        for name, choice, choices in (("decoding", decoding, Decoding), ("truncate", truncate, Truncate)):
            if choice not in get_args(choices):
                raise InvalidInputError(f"{name} must be one of {', '.join(get_args(choices))}, got {choice!r}")
        if tokenizer is None and not isinstance(model, str | os.PathLike):
            raise InvalidInputError("a loaded model needs its tokenizer: TransformersReader(model, tokenizer)")
        self.model, self.tokenizer = model, model if tokenizer is None else tokenizer
        self.max_new_tokens, self.max_length, self.batch_size = max_new_tokens, max_length, batch_size
        self.device, self.prompt = device, prompt
        self.decoding, self.truncate, self.skip_empty = decoding, truncate, skip_empty
        self._loaded: tuple[Any, Any] | None = None
        self._lock = Lock()

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question. Raises as `read_batch`."""
        return self.read_batch([question], [context])[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question, the same as one by one; contexts[i] are the documents of questions[i].

        Raises:
            InvalidInputError: A question is empty, or too long for the model; a context is missing; there is no such device.
            UnreadableFileError: The model or its tokenizer cannot be loaded.
        """
        pairs = match_contexts(questions, contexts)
        with self._lock:
            prompts = [self._tokens(question, context) for question, context in pairs]
            answers = [""] * len(prompts)
            by_length = sorted(range(len(prompts)), key=lambda index: len(prompts[index]))
            for start in range(0, len(by_length), self.batch_size):
                batch = by_length[start : start + self.batch_size]
                for index, text in zip(batch, self._complete([prompts[index] for index in batch]), strict=True):
                    answers[index] = clean_answer(text, skip_empty=self.skip_empty)
            return answers

    def _tokens(self, question: str, documents: Sequence[str]) -> list[int]:
        """Return the tokens of a prompt, its documents shortened to fit the model."""
        model, tokenizer = self._load()

        def tokens(texts: Sequence[str]) -> list[int]:
            # Tokenizers warn of texts above their limit; here these are expected.
            return tokenizer(self.prompt(question, texts), verbose=False)["input_ids"]  # type: ignore[no-any-return]

        config = model.config.get_text_config()
        stated = [self.max_length, tokenizer.model_max_length, *(getattr(config, name, None) for name in _POSITIONS)]
        # Tokenizers without a limit state 1e30, and relative positions -1.
        longest = min((size for size in stated if size and 0 < size < 1e9), default=None)
        whole = tokens(documents)
        if longest is None or len(whole) <= (limit := int(longest) - self.max_new_tokens):
            return whole
        if (least := len(tokens([]))) > limit:
            raise InvalidInputError(
                f"the question alone makes a prompt of {least} tokens, and the model takes {max(limit, 0)} before an "
                f"answer of {self.max_new_tokens}: shorten the question, or use a model with more positions"
            )
        if self.truncate == "left":
            _log.warning("prompt of %d tokens cut to its last %d: %.80r", len(whole), limit, question)
            return whole[-limit:]
        shortened = shorten(documents, lambda texts: len(tokens(texts)) <= limit)
        _log.warning("documents shortened to %d characters: %.80r", sum(map(len, shortened)), question)
        return tokens(shortened)

    def _complete(self, prompts: list[list[int]]) -> list[str]:
        """Return what the model writes after each prompt; prompts are padded on the left, so that all answers start together."""
        torch = require("torch", extra="models")
        model, tokenizer = self._load()
        ends = [tokenizer.pad_token_id, tokenizer.eos_token_id, 0]
        padding = next(token for token in ends if token is not None)  # any token will do: the mask hides it
        width = max(map(len, prompts))
        gaps = [width - len(prompt) for prompt in prompts]
        inputs = [[padding] * gap + prompt for gap, prompt in zip(gaps, prompts, strict=True)]
        with torch.inference_mode():
            outputs = model.generate(
                input_ids=torch.tensor(inputs, device=model.device),
                attention_mask=torch.tensor([[0] * gap + [1] * (width - gap) for gap in gaps], device=model.device),
                max_new_tokens=self.max_new_tokens,
                max_length=None,  # otherwise transformers warns that max_new_tokens overrides it
                **(_GREEDY if self.decoding == "greedy" else {}),
                pad_token_id=padding,
            )
        return tokenizer.batch_decode(outputs[:, width:], skip_special_tokens=True)  # type: ignore[no-any-return]

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is not None:
            return self._loaded
        transformers = require("transformers", extra="models")
        model, tokenizer = self.model, self.tokenizer
        named = isinstance(model, str | os.PathLike)
        device = usable_device(self.device, extra="models") if named or self.device is not None else None
        try:
            if isinstance(tokenizer, str | os.PathLike):
                tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer)
            if named:
                model = transformers.AutoModelForCausalLM.from_pretrained(model, dtype="auto")
        except Exception as error:  # each of the libraries below raises its own
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise UnreadableFileError(
                f"cannot load {str(self.model)!r} as a causal language model: {reason}. Expected a model of the Hugging Face "
                "hub, or a whole folder as save_pretrained writes it: if a file is damaged, get it again"
            ) from error
        self._loaded = (model if device is None else model.to(device)).eval(), tokenizer
        return self._loaded


def shorten(documents: Sequence[str], fits: Callable[[Sequence[str]], bool]) -> list[str]:
    """Return the longest beginning of some documents that `fits`, in whole words; the last documents are cut first."""
    words = [(at, match.end()) for at, document in enumerate(documents) for match in _WORD.finditer(document)]

    def beginning(count: int) -> list[str]:
        if not count:
            return []
        at, end = words[count - 1]
        return [*documents[:at], documents[at][:end]]

    counts = range(1, len(words) + 1)
    return beginning(bisect_left(counts, True, key=lambda count: not fits(beginning(count))))
