"""Encoder-decoder models as readers (Dense X Retrieval, §4.4).

UnifiedQA-v2, the paper's reader, is a T5 that reads a question and a context as one text.
Fusion-in-Decoder (Izacard and Grave, 2021) encodes each passage with the question and lets the
decoder look at all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from threading import Lock
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.encode import loading
from factoid.readers.prompts import Context, fusion_prompt, texts_of, unified_qa_prompt
from factoid.readers.reader import Prompt, clean_answer, make_prompts
from factoid.units import whole_number

if TYPE_CHECKING:
    import torch

UNIFIED_QA = "allenai/unifiedqa-v2-t5-large-1363200"
"""The paper's reader, on the Hugging Face hub."""

_ANSWER_TOKENS = 20  # of a short answer


class Seq2SeqReader:
    """Answers with an encoder-decoder model, such as UnifiedQA-v2.

    The answer is what the model most probably writes, without sampling. The model is loaded on
    first use. A prompt that is too long loses its last words, which are those of the last texts.
    Threads that share a reader take turns.

    Args:
        model: A name on the Hugging Face hub, a folder, or a loaded model; `UNIFIED_QA` is the
            paper's.
        tokenizer: A name, folder or loaded tokenizer; None for the model's own.
        max_new_tokens: The most tokens of an answer.
        batch_size: The number of prompts in one forward pass of `read_batch`.
        device: Such as "cuda:1"; None for a GPU if there is one, else the CPU.
        prompt: Makes the input of a question and its texts.
    """

    def __init__(
        self,
        model: Any = UNIFIED_QA,
        tokenizer: Any = None,
        *,
        max_new_tokens: int = _ANSWER_TOKENS,
        batch_size: int = 8,
        device: str | torch.device | None = None,
        prompt: Prompt = unified_qa_prompt,
    ) -> None:
        self.prompt = prompt
        self.batch_size = whole_number("batch_size", batch_size)
        self._model = _Seq2Seq(model, tokenizer, max_new_tokens, device)

    @property
    def name(self) -> str:
        """What its answers are kept under: the class and the model."""
        return f"{type(self).__name__} {self._model.name}"

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question."""
        return self.read_batch([question], [context])[0]

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question; contexts[i] are the texts of questions[i]."""
        prompts = make_prompts(self.prompt, questions, contexts)
        answers = []
        for start in range(0, len(prompts), self.batch_size):
            answers += self._model.write(prompts[start : start + self.batch_size])
        return answers


class FusionReader:
    """Answers with an encoder-decoder model whose decoder reads all passages at once.

    Each passage is encoded together with the question and apart from the other passages; the
    decoder attends to the vectors of all of them, so time grows with the number of passages and not
    with its square. Any T5 or BART will do; one trained that way answers best. What else it does
    is as in `Seq2SeqReader`.

    Args:
        model: As in `Seq2SeqReader`.
        tokenizer: As in `Seq2SeqReader`.
        max_new_tokens: The most tokens of an answer.
        passages: The number of first passages that are read; None for all.
        passage_tokens: The most tokens of a question with its passage; None for the model's limit.
        device: As in `Seq2SeqReader`.
        prompt: Makes the input of a question and one passage, or of a question alone.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        max_new_tokens: int = _ANSWER_TOKENS,
        passages: int | None = None,
        passage_tokens: int | None = None,
        device: str | torch.device | None = None,
        prompt: Prompt = fusion_prompt,
    ) -> None:
        for name, value in (("passages", passages), ("passage_tokens", passage_tokens)):
            if value is not None:
                whole_number(name, value)
        self.prompt = prompt
        self.passages = passages
        self.passage_tokens = passage_tokens
        self._model = _Seq2Seq(model, tokenizer, max_new_tokens, device)

    @property
    def name(self) -> str:
        """What its answers are kept under: the class and the model."""
        return f"{type(self).__name__} {self._model.name}"

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question."""
        texts = texts_of(context)[: self.passages]
        inputs = [self.prompt(question, [text]) for text in texts]
        if not inputs:
            inputs = [self.prompt(question, ())]
        return self._model.fuse(inputs, self.passage_tokens)

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question; contexts[i] are the passages of questions[i]."""
        answers = []
        for question, context in zip(questions, contexts, strict=True):
            answers.append(self.read(question, context))
        return answers


def is_encoder_decoder(model: str) -> bool:
    """Return whether a model of transformers, by name or folder, has an encoder and a decoder.

    Raises:
        MissingDependencyError: transformers is not installed.
        InvalidInputError: There is no such model.
    """
    transformers = require("transformers", extra="models")
    with loading("reader", model):
        return bool(transformers.AutoConfig.from_pretrained(model).is_encoder_decoder)


class _Seq2Seq:
    """A model with its tokenizer, loaded on first use."""

    def __init__(
        self, model: Any, tokenizer: Any, max_new_tokens: int, device: str | torch.device | None
    ) -> None:
        if isinstance(model, PathLike):
            model = fspath(model)
        self._source = model
        self._tokenizer_source = tokenizer
        if tokenizer is None:
            self._tokenizer_source = getattr(model, "name_or_path", model)
        self._settings: dict[str, Any] = {
            "max_new_tokens": whole_number("max_new_tokens", max_new_tokens),
            "do_sample": False,
            "num_beams": 1,
        }
        self._device = device
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name or folder of the model, or its class."""
        if isinstance(self._source, str):
            return self._source
        return str(getattr(self._source, "name_or_path", "") or type(self._source).__name__)

    def write(self, prompts: Sequence[str]) -> list[str]:
        """Return what the model writes for each prompt."""
        with self._lock:
            tokens = self._tokens(prompts, None)
            written = self._model.generate(**tokens, **self._settings)
        return self._texts(written)

    def fuse(self, inputs: Sequence[str], limit: int | None) -> str:
        """Return what the decoder writes when it reads all inputs."""
        torch = require("torch", extra="models")
        outputs = require("transformers.modeling_outputs", extra="models")
        with self._lock:
            tokens = self._tokens(inputs, limit)
            with torch.inference_mode():
                states = self._model.get_encoder()(**tokens).last_hidden_state
            joined = states.reshape(1, -1, states.shape[-1])
            written = self._model.generate(
                encoder_outputs=outputs.BaseModelOutput(last_hidden_state=joined),
                attention_mask=tokens["attention_mask"].reshape(1, -1),
                **self._settings,
            )
        return self._texts(written)[0]

    def _tokens(self, texts: Sequence[str], limit: int | None) -> dict[str, Any]:
        tokens = self._tokenizer(
            list(texts), padding=True, truncation=True, max_length=limit, return_tensors="pt"
        ).to(self._model.device)
        return {name: tokens[name] for name in ("input_ids", "attention_mask")}

    def _texts(self, written: Any) -> list[str]:
        texts = self._tokenizer.batch_decode(written, skip_special_tokens=True)
        return list(map(clean_answer, texts))

    @cached_property
    def _tokenizer(self) -> Any:
        if not isinstance(self._tokenizer_source, str | PathLike):
            return self._tokenizer_source
        transformers = require("transformers", extra="models")
        with loading("reader", self._source):
            return transformers.AutoTokenizer.from_pretrained(self._tokenizer_source)

    @cached_property
    def _model(self) -> Any:
        model = self._source
        if isinstance(model, str):
            transformers = require("transformers", extra="models")
            with loading("reader", model):
                model = transformers.AutoModelForSeq2SeqLM.from_pretrained(model)
        device = self._device
        if device is None:
            device = "cpu"
            if require("torch", extra="models").cuda.is_available():
                device = "cuda"
        return model.to(device).eval()
