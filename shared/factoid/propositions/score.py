"""How close two sets of propositions are: the F1 of Dense X Retrieval, Appendix B.

Precision is the mean over the predicted propositions of the best similarity to any reference, recall the mean over the
references of the best similarity to any predicted one, F1 their harmonic mean. The paper's similarity is BERTScore with
roberta-large; figures from different similarities cannot be compared with each other.

The paper leaves open, and here is settled:

* The figure of a corpus is the mean of its passages' figures (for F1: the mean of the passages' F1).
* Sets: a proposition that is given twice counts once; an empty string counts as a proposition.
* No predictions for no references is right (1); no predictions for some references, or some for none, is 0.
* A similarity below 0, as cosines can be, counts as 0.
"""

from __future__ import annotations

import os
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.devices import usable_device
from factoid.errors import InvalidInputError
from factoid.inner_products import products

Matrix = NDArray[np.float64]
Embedded = NDArray[np.float32]  # unit vectors of a text's tokens. Shape: (tokens, dim)

_TOGETHER = 256  # passages whose texts are prepared at once: full batches for a model, bounded memory
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class Similarity(Protocol):
    """How alike texts are: 1 is the same, 0 is nothing in common.

    One with a model may have `prepare(texts)`, which returns the similarity between any of these texts: on many texts at
    once a model is faster.
    """

    def __call__(self, a: Sequence[str], b: Sequence[str], /) -> Matrix:
        """Return the similarities. Shape: (len(a), len(b))."""
        ...


@dataclass(frozen=True, slots=True)
class PropositionF1:
    """How well predicted propositions agree with reference ones, each figure from 0 to 1."""

    precision: float
    recall: float
    f1: float


def proposition_f1(predicted: Sequence[str], references: Sequence[str], similarity: Similarity) -> PropositionF1:
    """Compare the propositions of one passage with reference ones (Dense X Retrieval, Appendix B).

    Raises:
        InvalidInputError: A string is given where a list of strings is expected.
    """
    for texts in (predicted, references):
        if isinstance(texts, str):
            raise InvalidInputError(f"expected a list of propositions, got the string {texts!r:.80}")
    if not predicted or not references:
        same = float(not predicted and not references)
        return PropositionF1(same, same, same)
    return _best_matches(np.maximum(similarity(list(dict.fromkeys(predicted)), list(dict.fromkeys(references))), 0.0))


def _best_matches(similarities: NDArray[np.floating[Any]]) -> PropositionF1:
    """Return the mean best similarity of rows, of columns, and their harmonic mean."""
    precision, recall = float(similarities.max(axis=1).mean()), float(similarities.max(axis=0).mean())
    total = precision + recall
    return PropositionF1(precision, recall, 2 * precision * recall / total if total else 0.0)


def corpus_f1(
    predicted: Sequence[Sequence[str]], references: Sequence[Sequence[str]], similarity: Similarity
) -> PropositionF1:
    """Return the means of `proposition_f1` over passages; there is a predicted list and a reference list for each.

    Raises:
        InvalidInputError: There are no passages, or not as many predicted lists as reference lists.
    """
    if len(predicted) != len(references):
        counts = f"{len(predicted)} lists and {len(references)}"
        raise InvalidInputError(f"expected predicted and reference propositions of the same passages, got {counts}")
    prepare: Callable[[list[str]], Similarity] = getattr(similarity, "prepare", lambda _: similarity)
    pairs = list(zip(predicted, references, strict=True))
    scores = []
    for start in range(0, len(pairs), _TOGETHER):
        chunk = pairs[start : start + _TOGETHER]
        prepared = prepare([text for pair in chunk for texts in pair for text in texts])
        scores += [proposition_f1(*pair, prepared) for pair in chunk]
    return mean_f1(scores)


def mean_f1(scores: Sequence[PropositionF1]) -> PropositionF1:
    """Return the means of precision, recall and F1; raise `InvalidInputError` if there are none."""
    if not scores:
        raise InvalidInputError("expected the propositions of one passage at least, got none")
    return PropositionF1(*(sum(column) / len(scores) for column in zip(*map(astuple, scores), strict=True)))


class EncoderSimilarity:
    """The cosine of two texts' vectors, from the unit side of any encoder. A zero vector has similarity 0 to all."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the cosines. Shape: (len(a), len(b))."""
        return self.prepare([*a, *b])(a, b)

    def prepare(self, texts: Sequence[str]) -> Similarity:
        """Encode texts, once each, and return the cosine between any of them."""
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return lambda a, b: np.zeros((len(a), len(b)))
        vectors = np.asarray(self._encoder.encode_units(distinct), np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(norms > 0, norms, 1)
        rows = {text: row for row, text in enumerate(distinct)}

        def cosines(a: Sequence[str], b: Sequence[str]) -> Matrix:
            rows_of_a, rows_of_b = (vectors[[rows[text] for text in side]] for side in (a, b))
            return np.asarray(products(rows_of_a, rows_of_b.T))

        return cosines


class TokenF1:
    """The F1 of two texts' bags of tokens, as SQuAD scores answers: exact, and in need of no model.

    Texts are lower-cased; ASCII punctuation is deleted (so that "O'Hare" is one token), then the words a, an and the.
    Overlap counts repetitions. If only one of two texts has tokens, the score is 0; if neither has, it is 1.
    """

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the F1 scores. Shape: (len(a), len(b))."""
        bags_of_a, bags_of_b = ([_tokens(text) for text in side] for side in (a, b))
        scores = [_overlap(bag_a, bag_b) for bag_a in bags_of_a for bag_b in bags_of_b]
        return np.array(scores, np.float64).reshape(len(a), len(b))


def _tokens(text: str) -> Counter[str]:
    return Counter(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _overlap(a: Counter[str], b: Counter[str]) -> float:
    size = a.total() + b.total()
    return 2 * (a & b).total() / size if a and b else float(not size)


class BERTScore:
    """The F1 of two texts' tokens in context, each matched greedily with the most similar one of the other (Zhang et al. 2020).

    Written from the paper's definition: the last release of `bert-score` (0.3.13) fails with transformers 5 on an empty
    text. There, a token may also be matched with a special token of the other text; here, [CLS], <s> and the like take no
    part. All tokens count the same, and nothing is rescaled, as is the default there. A text without tokens has similarity
    0 to all.

    Args:
        model: Any encoder of the Hugging Face hub, or a folder. The default is the paper's.
        layer: The layer whose hidden states are compared by cosine; 0 are the embeddings. The authors chose 17 for
            roberta-large, 10 for roberta-base, 9 for bert-base-uncased and 18 for bert-large-uncased.
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

        def score(one: Embedded, other: Embedded) -> float:
            return _best_matches(products(one, other.T)).f1 if len(one) and len(other) else 0.0

        def scores(a: Sequence[str], b: Sequence[str]) -> Matrix:
            values = [score(embedded[one], embedded[other]) for one in a for other in b]
            return np.array(values, np.float64).reshape(len(a), len(b))

        return scores

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
        content = batch["attention_mask"].bool() & ~batch.pop("special_tokens_mask").bool()
        with torch.inference_mode():
            states = model(**batch, output_hidden_states=True).hidden_states[self.layer]
            states = torch.nn.functional.normalize(states.float(), dim=-1)
        return [state[mask].cpu().numpy() for state, mask in zip(states, content, strict=True)]

    def _load(self) -> tuple[Any, Any]:
        transformers = require("transformers", extra="models")
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
            model = transformers.AutoModel.from_pretrained(self.model)
        except (OSError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise InvalidInputError(f"cannot load the encoder {self.model!r}: {reason}") from error
        if not 0 <= self.layer <= (layers := model.config.num_hidden_layers):
            raise InvalidInputError(
                f"{self.model!r} has {layers} layers: expected layer within that, got layer={self.layer}"
            )
        return model.to(usable_device(self.device, extra="models")).eval(), tokenizer


def _reserved(config: Any) -> int:
    """Return how many positions RoBERTa and its kin never use: they count from the padding token's id."""
    return config.pad_token_id + 1 if "roberta" in config.model_type and config.pad_token_id is not None else 0
