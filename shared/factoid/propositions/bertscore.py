"""BERTScore (Zhang et al. 2020): texts compared by their tokens in context.

Written from the paper's definition. The package `bert-score` is not used: its last release (0.3.13, February 2023) fails
with transformers 5 on an empty text, and importing it takes matplotlib and pandas. In one thing scores differ from its:
there a token may also be matched with a special token of the other text, which the definition does not have.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.devices import usable_device
from factoid.errors import InvalidInputError
from factoid.products import products

if TYPE_CHECKING:
    from factoid.propositions.score import Similarity

Matrix = NDArray[np.float64]
Embedded = NDArray[np.float32]


class BERTScore:
    """The F1 of two texts' tokens, each matched greedily with the most similar one of the other text.

    Similarity is the cosine of hidden states. Tokens that the tokenizer adds ([CLS], <s> and the like) take no part, all
    others count the same: the optional weights by inverse document frequency and the rescaling with a baseline are left
    out, as in the default of `bert-score`. A text without tokens has similarity 0 to all.

    Args:
        model: Any encoder of the Hugging Face hub, or a folder. The default is the paper's.
        layer: The layer whose hidden states are compared; 0 are the embeddings. The authors chose 17 for roberta-large,
            10 for roberta-base, 9 for bert-base-uncased and 18 for bert-large-uncased.
        device: Such as "cuda"; None for CUDA where it is there, else the CPU.
        batch_size: Texts in one forward pass.

    Raises:
        InvalidInputError: On first use, if the model cannot be loaded or has no such layer.
        MissingDependencyError: On first use, where torch or transformers is absent.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "roberta-large",
        *,
        layer: int = 17,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        self.model = os.fspath(model)
        self.layer = layer
        self.device = device
        self.batch_size = batch_size
        self._loaded: tuple[Any, Any] | None = None
        self._lock = Lock()

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the scores. Shape: (len(a), len(b))."""
        return self.prepare([*a, *b])(a, b)

    def prepare(self, texts: Sequence[str]) -> Similarity:
        """Run the model over texts, once each, and return the score between any of them."""
        distinct = sorted(dict.fromkeys(texts), key=len, reverse=True)  # little padding
        embedded: dict[str, Embedded] = {}
        with self._lock:
            for start in range(0, len(distinct), self.batch_size):
                batch = distinct[start : start + self.batch_size]
                embedded.update(zip(batch, self._embed(batch), strict=True))
        return lambda a, b: _scores([embedded[text] for text in a], [embedded[text] for text in b])

    def _embed(self, texts: list[str]) -> list[Embedded]:
        """Return unit vectors of the texts' tokens. Shape of each: (tokens, dim)."""
        torch = require("torch", extra="models")
        model, tokenizer = self._loaded = self._loaded or self._load()
        # With a space before it, a byte-level tokenizer sees the first word as it sees all others.
        batch = tokenizer(
            [f" {text.strip()}" for text in texts],
            padding=True,
            truncation=True,
            max_length=min(tokenizer.model_max_length, model.config.max_position_embeddings - _reserved(model.config)),
            return_special_tokens_mask=True,
            return_tensors="pt",
        ).to(model.device)
        own = batch["attention_mask"].bool() & ~batch.pop("special_tokens_mask").bool()
        with torch.inference_mode():
            states = model(**batch, output_hidden_states=True).hidden_states[self.layer]
            states = torch.nn.functional.normalize(states.float(), dim=-1)
        return [state[mask].cpu().numpy() for state, mask in zip(states, own, strict=True)]

    def _load(self) -> tuple[Any, Any]:
        transformers = require("transformers", extra="models")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
            model = transformers.AutoModel.from_pretrained(self.model)
        except (OSError, ValueError) as error:
            message = f"cannot load the encoder {self.model!r}: {str(error).strip().partition(chr(10))[0]}"
            raise InvalidInputError(message) from error
        if not 0 <= self.layer <= model.config.num_hidden_layers:
            message = f"{self.model!r} has {model.config.num_hidden_layers} layers: expected layer within that, got "
            message += f"layer={self.layer}"
            raise InvalidInputError(message)
        return model.to(usable_device(self.device, extra="models")).eval(), tokenizer


def _reserved(config: Any) -> int:
    """Return how many positions RoBERTa and its kin never use: they count from the padding token's id."""
    return config.pad_token_id + 1 if "roberta" in config.model_type and config.pad_token_id is not None else 0


def _scores(a: Sequence[Embedded], b: Sequence[Embedded]) -> Matrix:
    """Return the F1 of greedy matching. Shape: (len(a), len(b))."""
    scores = np.zeros((len(a), len(b)))
    rows, columns = ([at for at, tokens in enumerate(side) if len(tokens)] for side in (a, b))
    if not rows or not columns:
        return scores
    left, right = [a[at] for at in rows], [b[at] for at in columns]
    starts, ends = ([0, *np.cumsum([len(tokens) for tokens in side])[:-1]] for side in (left, right))
    cosines = products(np.concatenate(left), np.concatenate(right).T)
    precision = np.add.reduceat(np.maximum.reduceat(cosines, ends, axis=1), starts, axis=0)
    recall = np.add.reduceat(np.maximum.reduceat(cosines, starts, axis=0), ends, axis=1)
    precision /= np.array([[len(tokens)] for tokens in left])
    recall /= np.array([[len(tokens) for tokens in right]])
    total = precision + recall
    scores[np.ix_(rows, columns)] = 2 * precision * recall / np.where(total, total, 1)
    return scores
