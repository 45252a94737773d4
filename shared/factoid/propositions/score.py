"""How close two sets of propositions are: the F1 of Dense X Retrieval, Appendix B.

Precision is the mean over the predicted propositions of the best similarity to any reference, recall the mean over the
references of the best similarity to any predicted one, F1 their harmonic mean. What similarity means is pluggable: the
paper takes BERTScore with roberta-large; figures from different similarities cannot be compared with each other.

The paper leaves open, and here is settled:

* The figure of a corpus is the mean of its passages' figures (for F1: the mean of the passages' F1).
* Sets: a proposition that is given twice counts once; an empty string counts as a proposition.
* No predictions for no references is right (1); no predictions for some references, or some for none, is 0.
* A similarity below 0, as cosines can be, counts as 0.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from factoid.errors import InvalidInputError
from factoid.products import products
from factoid.propositions.bertscore import BERTScore

__all__ = [
    "BERTScore",
    "EncoderSimilarity",
    "PreparableSimilarity",
    "PropositionF1",
    "Similarity",
    "TokenF1",
    "UnitEncoder",
    "corpus_f1",
    "mean_f1",
    "proposition_f1",
]

Matrix = NDArray[np.float64]

_TOGETHER = 256  # passages whose texts are prepared at once: full batches for a model, bounded memory
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class Similarity(Protocol):
    """How alike texts are, each of some with each of others. 1 is the same, 0 is nothing in common."""

    def __call__(self, a: Sequence[str], b: Sequence[str], /) -> Matrix:
        """Return the similarities. Shape: (len(a), len(b))."""
        ...


@runtime_checkable
class PreparableSimilarity(Protocol):
    """A similarity with a model, which is faster on many texts at once than on a few at a time."""

    def prepare(self, texts: Sequence[str], /) -> Similarity:
        """Return the similarity between any of these texts; the model does its work now."""
        ...


class UnitEncoder(Protocol):
    """The side of an encoder that is needed here; every `factoid.Encoder` has it."""

    def encode_units(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors. Shape: (len(texts), dim)."""
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
    own, wanted = _distinct(predicted), _distinct(references)
    if not own or not wanted:
        same = float(not own and not wanted)
        return PropositionF1(same, same, same)
    best = np.maximum(similarity(own, wanted), 0.0)
    precision, recall = float(best.max(axis=1).mean()), float(best.max(axis=0).mean())
    total = precision + recall
    return PropositionF1(precision, recall, 2 * precision * recall / total if total else 0.0)


def corpus_f1(
    predicted: Sequence[Sequence[str]], references: Sequence[Sequence[str]], similarity: Similarity
) -> PropositionF1:
    """Return the means over passages of `proposition_f1`.

    Args:
        predicted: The propositions of each passage.
        references: As many lists, in the same order.
        similarity: A model behind it gets the texts of many passages at once.

    Raises:
        InvalidInputError: There are no passages, or not as many predicted lists as reference lists.
    """
    if len(predicted) != len(references):
        message = f"expected predicted and reference propositions of the same passages, got {len(predicted)} lists "
        message += f"and {len(references)}"
        raise InvalidInputError(message)
    scores = []
    for start in range(0, len(predicted), _TOGETHER):
        own, wanted = predicted[start : start + _TOGETHER], references[start : start + _TOGETHER]
        prepared = similarity
        if isinstance(similarity, PreparableSimilarity):
            prepared = similarity.prepare([text for texts in (*own, *wanted) for text in texts])
        scores += [proposition_f1(*pair, prepared) for pair in zip(own, wanted, strict=True)]
    return mean_f1(scores)


def mean_f1(scores: Sequence[PropositionF1]) -> PropositionF1:
    """Return the means of precision, recall and F1.

    Raises:
        InvalidInputError: There are none.
    """
    if not scores:
        message = "expected the propositions of one passage at least, got none"
        raise InvalidInputError(message)
    count = len(scores)
    return PropositionF1(
        sum(score.precision for score in scores) / count,
        sum(score.recall for score in scores) / count,
        sum(score.f1 for score in scores) / count,
    )


class EncoderSimilarity:
    """The cosine of two texts' vectors.

    Args:
        encoder: Any encoder; its unit side is used for both texts. A zero vector has similarity 0 to all.
    """

    def __init__(self, encoder: UnitEncoder) -> None:
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
            left, right = (vectors[[rows[text] for text in side]] for side in (a, b))
            return np.asarray(products(left, right.T))

        return cosines


class TokenF1:
    """The F1 of two texts' bags of tokens, as SQuAD scores answers: exact, and in need of no model.

    Texts are lower-cased; ASCII punctuation is deleted (so that "O'Hare" is one token), then the words a, an and the;
    what white space separates are the tokens. Overlap counts repetitions. Of two texts of which one has no tokens, the
    score is 1 if neither has any.
    """

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the F1 scores. Shape: (len(a), len(b))."""
        left, right = ([_tokens(text) for text in side] for side in (a, b))
        return np.array([[_overlap(one, other) for other in right] for one in left]).reshape(len(a), len(b))


def _tokens(text: str) -> Counter[str]:
    return Counter(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _overlap(a: Counter[str], b: Counter[str]) -> float:
    size = a.total() + b.total()
    return 2 * (a & b).total() / size if a and b else float(not size)


def _distinct(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        message = f"expected a list of propositions, got the string {texts!r:.80}"
        raise InvalidInputError(message)
    return list(dict.fromkeys(texts))
