"""Simple ways to cite, to compare with: the passages nearest to each sentence by vectors or by
words, or any.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.inner_products import products
from factoid.vectors.lexical import LexicalIndex


def cite_by_vectors(
    sentences: Sequence[str], passages: Sequence[str], encoder: Encoder, *, k: int = 1
) -> list[list[int]]:
    """Return for each sentence the places of the k passages whose vectors have the highest inner
    product with its own.

    As ALCE's post-hoc citations with GTR. Equal scores keep the order of the passages.
    """
    _check(k)
    if not sentences or not passages:
        return [[] for _ in sentences]
    scores = products(
        encoder.encode_queries(list(sentences)), encoder.encode_units(list(passages)).T
    )
    order: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    return order


def cite_by_words(
    sentences: Sequence[str], passages: Sequence[str], *, k: int = 1, language: str = "en"
) -> list[list[int]]:
    """Return for each sentence the places of the k passages with the highest BM25; only passages
    that share a word with it.

    How rare a word is counts among these passages alone.
    """
    _check(k)
    if not passages:
        return [[] for _ in sentences]
    index = LexicalIndex(language)
    index.update(np.empty(0, np.int64), np.arange(len(passages)), passages)
    cited = []
    for sentence in sentences:
        scores = index.scores(index.terms(sentence))
        order = np.argsort(-scores, kind="stable")[:k]
        cited.append(order[scores[order] > 0].tolist())
    return cited


def cite_at_random(
    sentences: Sequence[str], passages: Sequence[str], *, k: int = 1, seed: int = 0
) -> list[list[int]]:
    """Return for each sentence the places of k passages drawn at random; the same for the same
    texts and seed.
    """
    _check(k)
    places = range(len(passages))
    cited = []
    for sentence in sentences:
        chance = random.Random(f"{seed} {sentence}")
        cited.append(chance.sample(places, min(k, len(places))))
    return cited


def _check(k: int) -> None:
    if k < 1:
        raise InvalidInputError(f"k must be at least 1, got {k}")
