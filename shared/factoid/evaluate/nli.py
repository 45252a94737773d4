"""Entailment with Hugging Face models: classifiers, and sequence-to-sequence models such as TRUE."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from factoid._optional import require
from factoid.devices import usable_device
from factoid.encode import loading
from factoid.errors import InvalidInputError

_PROMPT = "premise: {} hypothesis: {}"  # of google/t5_xxl_true_nli_mixture, which ALCE uses
_ENDLESS = 10**9  # tokenizers without a limit have a far larger one


class NliModel:
    """A model trained for natural language inference.

    A classifier says yes if "entailment" is its most probable label. A sequence-to-sequence model reads
    "premise: … hypothesis: …" and says yes by writing 1 (Honovich et al., 2022).

    Pairs longer than a classifier's limit lose the end of the longer text, usually the premise, and are counted in `truncated`.
    Sequence-to-sequence models get the whole text, as in ALCE.

    Args:
        model: A name on the Hugging Face hub or a folder, such as "google/t5_xxl_true_nli_mixture" (ALCE's and the paper's, 11
            billion parameters) or "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli".
        device: Such as "cuda"; None for CUDA if available, else the CPU.
        batch_size: The number of pairs in one forward pass.
        model_options: For `from_pretrained`, such as `{"dtype": "bfloat16"}`.

    Raises:
        InvalidInputError: On first use, if the model cannot be loaded or has no entailment label.
        MissingDependencyError: On first use, where torch or transformers is absent.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        device: str | None = None,
        batch_size: int = 16,
        model_options: dict[str, Any] | None = None,
    ) -> None:
        self.model = os.fspath(model)
        self.device = device
        self.batch_size = batch_size
        self.model_options = model_options or {}
        self.truncated = 0

    def entails(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[bool]:
        """Tell for each pair whether the hypothesis follows from the premise."""
        pairs = list(zip(premises, hypotheses, strict=True))
        order = sorted(range(len(pairs)), key=lambda place: -sum(map(len, pairs[place])))  # needs little padding
        answers = [False] * len(pairs)
        for start in range(0, len(order), self.batch_size):
            places = order[start : start + self.batch_size]
            for place, answer in zip(places, self._judge([pairs[place] for place in places]), strict=True):
                answers[place] = answer
        return answers

    def _judge(self, pairs: list[tuple[str, str]]) -> list[bool]:
        torch = require("torch", extra="models")
        model, tokenizer, yes = self._loaded
        if yes is None:
            prompts = [_PROMPT.format(*pair) for pair in pairs]
            batch = tokenizer(prompts, padding=True, verbose=False, return_tensors="pt")
        else:
            sides = [list(side) for side in zip(*pairs, strict=True)]
            limit = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", _ENDLESS))
            self.truncated += sum(len(ids) > limit for ids in tokenizer(*sides, verbose=False)["input_ids"])
            batch = tokenizer(*sides, truncation="longest_first", max_length=limit, padding=True, return_tensors="pt")
        batch = batch.to(model.device)
        with torch.inference_mode():
            if yes is None:
                written = model.generate(**batch, max_new_tokens=10)  # as in ALCE's program
                return [text.strip() == "1" for text in tokenizer.batch_decode(written, skip_special_tokens=True)]
            return (model(**batch).logits.argmax(dim=-1) == yes).tolist()  # type: ignore[no-any-return]

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int | None]:
        """Model, tokenizer, and the number of the entailment label; None for a sequence-to-sequence model."""
        transformers = require("transformers", extra="models")
        with loading("NLI model", self.model):
            config = transformers.AutoConfig.from_pretrained(self.model)
            classifies = any(name.endswith("ForSequenceClassification") for name in config.architectures or ())
            writes = config.is_encoder_decoder and not classifies  # BART has classifiers
            kind = "AutoModelForSeq2SeqLM" if writes else "AutoModelForSequenceClassification"
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
            model = getattr(transformers, kind).from_pretrained(self.model, **self.model_options)
        labels = {str(name).lower(): int(number) for number, name in config.id2label.items()}
        entailing = [number for name, number in labels.items() if name.startswith("entail")]
        if not writes and len(entailing) != 1:
            problem = f"{self.model!r} has the labels {', '.join(labels)}: expected one that begins with 'entail'"
            raise InvalidInputError(problem)
        yes = None if writes else entailing[0]
        return model.to(usable_device(self.device, extra="models")).eval(), tokenizer, yes
