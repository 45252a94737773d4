"""Entailment with Hugging Face models.

Classifiers, and sequence-to-sequence models such as TRUE.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from factoid._optional import require
from factoid.encode import loading
from factoid.errors import InvalidInputError

_PROMPT = "premise: {} hypothesis: {}"  # of google/t5_xxl_true_nli_mixture, which ALCE uses


class NliModel:
    """A model trained for natural language inference.

    A classifier says yes if "entailment" is its most probable label; pairs longer than its limit
    lose the end of the longer text. A sequence-to-sequence model reads "premise: … hypothesis: …",
    the whole text as in ALCE, and says yes by writing 1 (Honovich et al., 2022).

    Args:
        model: A name on the Hugging Face hub or a folder, such as "google/t5_xxl_true_nli_mixture"
            (ALCE's and the paper's, 11 billion parameters) or
            "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli".
        device: Such as "cuda"; None for CUDA if available, else the CPU.
        batch_size: The number of pairs in one forward pass.
        model_options: For `from_pretrained`, such as `{"dtype": "bfloat16"}`.

    Raises:
        InvalidInputError: On first use, if the model cannot be loaded or has no entailment label.
        MissingDependencyError: On first use, where transformers or sentence-transformers is absent.
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

    def entails(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[bool]:
        """Tell for each pair whether the hypothesis follows from the premise."""
        pairs = list(zip(premises, hypotheses, strict=True))
        if not pairs:
            return []
        model, yes = self._loaded
        if yes is not None:
            scores = model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False)
            return (scores.argmax(axis=1) == yes).tolist()  # type: ignore[no-any-return]
        answers = []
        for start in range(0, len(pairs), self.batch_size):
            prompts = []
            for premise, hypothesis in pairs[start : start + self.batch_size]:
                prompts.append(_PROMPT.format(premise, hypothesis))
            batch = model.tokenizer(prompts, padding=True, verbose=False, return_tensors="pt").to(
                model.device
            )
            written = model.generate(**batch, max_new_tokens=10)  # as in ALCE's program
            for text in model.tokenizer.batch_decode(written, skip_special_tokens=True):
                answers.append(text.strip() == "1")
        return answers

    @cached_property
    def _loaded(self) -> tuple[Any, int | None]:
        """The model, and the number of the entailment label.

        None for a sequence-to-sequence model.
        """
        library = require("sentence_transformers", extra="models")
        transformers = require("transformers", extra="models")
        with loading("NLI model", self.model):
            config = transformers.AutoConfig.from_pretrained(self.model)
            # BART has classifiers
            classifies = any("Classification" in name for name in config.architectures or ())
            if config.is_encoder_decoder and not classifies:
                model = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                    self.model, **self.model_options
                )
                model.tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
                return model.to(self.device or library.util.get_device_name()), None
            classifier = library.CrossEncoder(
                self.model, device=self.device, model_kwargs=self.model_options
            )
        labels = {str(name).lower(): int(number) for number, name in config.id2label.items()}
        entailing = []
        for name, number in labels.items():
            if name.startswith("entail"):
                entailing.append(number)
        if len(entailing) != 1:
            raise InvalidInputError(
                f"{self.model!r} has the labels {', '.join(labels)}: expected one that begins "
                "with 'entail'"
            )
        return classifier, entailing[0]
