"""Compare two sets of propositions by the F1 of Dense X Retrieval, Appendix B.

Precision is the mean over the predicted propositions of the best similarity to any reference,
recall the mean over the references of the best similarity to any predicted one, F1 their harmonic
mean. Figures from different similarities cannot be compared with each other, nor with the paper's,
which come from BERTScore.

The paper leaves these points open; here they are settled as follows:

* A figure for a corpus is the mean of its passages' figures (for F1: the mean of the passages' F1).
* Sets: a repeated proposition counts once; an empty string counts as a proposition.
* No predictions for no references is right (1); no predictions for some references, or some for
  none, is 0.
* A similarity below 0, as cosines can be, counts as 0.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factoid.errors import InvalidInputError
from factoid.inner_products import products

Matrix = NDArray[np.float64]
Similarity = Callable[[Sequence[str], Sequence[str]], Matrix]
"""How alike the texts a and b are: 1 is the same, 0 is nothing in common.

Shape: (len(a), len(b)).
"""

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class PropositionF1:
    """How well predicted propositions agree with references, each figure from 0 to 1."""

    precision: float
    recall: float
    f1: float


def proposition_f1(
    predicted: Sequence[str], references: Sequence[str], similarity: Similarity
) -> PropositionF1:
    """Compare the propositions of one passage with references (Dense X Retrieval, Appendix B).

    Raises:
        InvalidInputError: A string is given where a list of strings is expected.
    """
    for texts in (predicted, references):
        if isinstance(texts, str):
            raise InvalidInputError(
                f"expected a list of propositions, got the string {texts!r:.80}"
            )
    if not predicted or not references:
        same = float(not predicted and not references)
        return PropositionF1(same, same, same)
    similarities = np.maximum(
        similarity(list(dict.fromkeys(predicted)), list(dict.fromkeys(references))), 0.0
    )
    precision = float(similarities.max(axis=1).mean())
    recall = float(similarities.max(axis=0).mean())
    total = precision + recall
    f1 = 0.0
    if total:
        f1 = 2 * precision * recall / total
    return PropositionF1(precision, recall, f1)


def corpus_f1(
    predicted: Sequence[Sequence[str]], references: Sequence[Sequence[str]], similarity: Similarity
) -> PropositionF1:
    """Return the means of `proposition_f1` over passages.

    There is a predicted list and a reference list for each.

    Raises:
        InvalidInputError: There are no passages, or not as many predicted lists as reference lists.
    """
    if not predicted or len(predicted) != len(references):
        counts = f"{len(predicted)} lists and {len(references)}"
        raise InvalidInputError(
            f"expected predicted and reference propositions of the same passages, got {counts}"
        )
    scores = []
    for pair in zip(predicted, references, strict=True):
        scores.append(astuple(proposition_f1(*pair, similarity)))
    return PropositionF1(*(sum(column) / len(scores) for column in zip(*scores, strict=True)))


class EncoderSimilarity:
    """The cosine of two texts' vectors, from the unit side of any encoder.

    A zero vector has similarity 0 to all.
    """

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the cosines. Shape: (len(a), len(b))."""
        vectors = np.asarray(self._encoder.encode_units([*a, *b]), np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(norms > 0, norms, 1)
        return np.asarray(products(vectors[: len(a)], vectors[len(a) :].T))


class TokenF1:
    """The F1 of two texts' bags of tokens, as SQuAD scores answers: exact, without a model.

    Texts are lower-cased; ASCII punctuation is deleted (so that "O'Hare" is one token), then the
    words a, an and the. Overlap counts repetitions. If only one of two texts has tokens, the score
    is 0; if neither has, it is 1.
    """

    def __call__(self, a: Sequence[str], b: Sequence[str]) -> Matrix:
        """Return the F1 scores. Shape: (len(a), len(b))."""
        bags_of_a = list(map(_tokens, a))
        bags_of_b = list(map(_tokens, b))
        scores = []
        for bag_a in bags_of_a:
            for bag_b in bags_of_b:
                scores.append(_overlap(bag_a, bag_b))
        return np.array(scores, np.float64).reshape(len(a), len(b))


def _tokens(text: str) -> Counter[str]:
    return Counter(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _overlap(a: Counter[str], b: Counter[str]) -> float:
    size = a.total() + b.total()
    if a and b:
        return 2 * (a & b).total() / size
    return float(not size)
