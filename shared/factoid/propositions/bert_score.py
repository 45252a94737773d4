"""BERTScore, the similarity of two propositions in Dense X Retrieval, Appendix B.

Each token of one text is matched with the nearest token of the other, by the cosine of their
vectors in one layer of a model (Zhang et al., 2020). Without weights and without rescaling, as the
paper names neither; it equals the package `bert-score` (its tests compare them).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.inner_products import products
from factoid.units import whole_number

Matrix = NDArray[np.float64]

_LAYERS = {  # those that agree best with people, by the package's own table
    "roberta-large": 17,
    "roberta-base": 10,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "distilbert-base-uncased": 5,
    "microsoft/deberta-xlarge-mnli": 40,
    "microsoft/deberta-large-mnli": 18,
}
_BYTE_LEVEL = ("roberta", "gpt2", "bart", "longformer")  # a word is another token after a space


class _Tokens(NamedTuple):
    """The tokens of a text, the special ones included."""

    vectors: NDArray[np.float32]  # of length 1; shape: (tokens, dim)
    is_word: NDArray[np.bool_]  # whether a token is not special


class BertScore:
    """The F1 of two texts' tokens, each matched with the nearest of the other.

    Special tokens, such as [CLS], are not matched, but may be what another token is nearest to, as
    in the package. A text without tokens has the similarity 0 to all. The model is loaded on first
    use.

    Args:
        model: A name on the Hugging Face hub or a folder; "roberta-large" is the paper's.
        layer: The layer whose vectors are compared, from 1; None for the one that is usual for the
            model, which is known by name for some.
        device: Such as "cuda"; None for a GPU if there is one, else the CPU.
        batch_size: Texts in one forward pass.

    Raises:
        InvalidInputError: No layer is given, and none is known for the model. On first use, if the
            model cannot be loaded or has fewer layers.
    """

    def __init__(
        self,
        model: str | PathLike[str] = "roberta-large",
        *,
        layer: int | None = None,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        self.model = fspath(model)
        if layer is None:
            layer = _LAYERS.get(self.model)
        if layer is None:
            raise InvalidInputError(
                f"no layer is known for {self.model!r:.120}: give layer=…, or one of "
                f"{', '.join(_LAYERS)}"
            )
        self.layer = whole_number("layer", layer)
        self.device = device
        self.batch_size = whole_number("batch_size", batch_size)

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the F1 scores. Shape: (len(a), len(b))."""
        texts = list(dict.fromkeys([*a, *b]))
        tokens = dict(zip(texts, self._tokens(texts), strict=True))
        scores = np.zeros((len(a), len(b)))
        for row, first in enumerate(a):
            for column, second in enumerate(b):
                scores[row, column] = _f1(tokens[first], tokens[second])
        return scores

    def _tokens(self, texts: Sequence[str]) -> list[_Tokens]:
        """Return the tokens of each text."""
        torch = require("torch", extra="models")
        model, tokenizer, limit = self._loaded
        prefix = ""
        if model.config.model_type in _BYTE_LEVEL:
            prefix = " "
        vectors: list[_Tokens] = []
        for start in range(0, len(texts), self.batch_size):
            batch = [prefix + text.strip() for text in texts[start : start + self.batch_size]]
            inputs = tokenizer(
                batch,
                padding=True,
                truncation=True,
                max_length=limit,
                return_special_tokens_mask=True,
                return_tensors="pt",
            )
            special = inputs.pop("special_tokens_mask").bool().numpy()
            lengths = inputs["attention_mask"].sum(1).tolist()
            with torch.inference_mode():
                outputs = model(**inputs.to(model.device), output_hidden_states=True)
            states = outputs.hidden_states[self.layer].float().cpu().numpy()
            for text, row, mask, length in zip(batch, states, special, lengths, strict=True):
                tokens = row[:length]
                norms = np.linalg.norm(tokens, axis=1, keepdims=True)
                is_word = ~mask[:length]
                if not text.strip():
                    is_word[:] = False
                vectors.append(_Tokens(tokens / norms, is_word))
        return vectors

    @cached_property
    def _loaded(self) -> tuple[Any, Any, int]:
        """The model, its tokenizer and the most tokens that it reads."""
        transformers = require("transformers", extra="models")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
            model = transformers.AutoModel.from_pretrained(self.model)
        except (OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise InvalidInputError(
                f"cannot load the model of BERTScore {self.model!r:.120}: {reason}"
            ) from error
        if self.layer > model.config.num_hidden_layers:
            raise InvalidInputError(
                f"{self.model!r:.120} has {model.config.num_hidden_layers} layers, got "
                f"layer={self.layer}"
            )
        positions = getattr(model.config, "max_position_embeddings", 512)
        if model.config.model_type == "roberta":
            positions -= 2  # it numbers them from 2
        device = self.device
        if device is None:
            device = "cpu"
            if require("torch", extra="models").cuda.is_available():
                device = "cuda"
        limit = min(tokenizer.model_max_length, positions)
        return model.to(device).eval(), tokenizer, limit


def _f1(a: _Tokens, b: _Tokens) -> float:
    if not a.is_word.any() or not b.is_word.any():
        return 0.0
    similarities = products(a.vectors, b.vectors.T)
    precision = float(similarities.max(axis=1)[a.is_word].mean())
    recall = float(similarities.max(axis=0)[b.is_word].mean())
    return 2 * precision * recall / (precision + recall)
