"""One score over every store: candidates are ranked by `factoid.ranking`, as in a `UnitStore`.

What a store returns is the score of each row, from which its metric gives the inner product or the
cosine. A store whose scores cannot be compared gets an order by the fusion of ranks (Cormack et
al., 2009).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.existing.contract import DOCUMENT, GRANULARITY, PASSAGE, Row, passage_of
from factoid.existing.words import Words
from factoid.ranking import (
    LEXICAL,
    Columns,
    Parents,
    Scale,
    View,
    Weights,
    best_parents,
)
from factoid.units import Granularity
from factoid.vectors import VectorIndex
from factoid.vectors.lexical import LexicalIndex

_OTHERS = 1 << 40  # the first number of what is no passage of the words' index
_RANKS = 60  # of the fusion: what rank 1 is above rank 2 counts less the larger this is


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is ranked.

    Attributes:
        units: Rows of the compared granularities by id, best first.
        passages: Rows of passages by the passage's id.
        kinds: The granularities that are compared.
        by_words: Passages by the query's words, best first.
    """

    units: Mapping[str, Row]
    passages: Mapping[str, Row]
    kinds: Sequence[Granularity]
    by_words: Sequence[str]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A parent with its score and the parts of it."""

    key: str  # id of the passage or document, or of the row of the unit
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of an encoder's scores for one query, as a `Scale` of one dimension has it."""

    highest: float
    average: float

    @classmethod
    def of(cls, scale: Scale, query: Vectors) -> Reach:
        """Return how far the scores of a query reach. Shape: (dim,)."""
        exact = query.astype(np.float64)
        return cls(float(np.linalg.norm(exact) * scale.length), float(exact @ scale.mean))

    def as_scale(self) -> Scale:
        """Return it as the scale of scores."""
        return Scale(self.highest, np.array([self.average]))


class _Scores:
    """Scores by id in place of an index of vectors: all that `View` asks of an exact one."""

    is_exact = True
    ability = SimpleNamespace(holds_vectors=True)

    def __init__(self, scores: NDArray[np.float32]) -> None:
        self._scores = scores

    def scores(self, _queries: Vectors, ids: NDArray[np.int64]) -> Vectors:
        """Return the scores of ids for the only query. Shape: (1, n)."""
        return self._scores[ids][None]

    def vectors(self, ids: NDArray[np.int64]) -> Vectors:
        """Return vectors of one dimension, whose product with 1 is the score. Shape: (n, 1)."""
        return self._scores[ids][:, None]


class _Numbers:
    """Rows of the ranking: those of passages as in the words' index, others above."""

    def __init__(self, words: Words | None) -> None:
        self._words = words
        self._numbers: dict[tuple[str, str], int] = {}
        self.names: dict[int, str] = {}
        self._next = _OTHERS

    def of(self, kind: str, name: str) -> int:
        """Return the number of a passage, document or unit."""
        key = (kind, name)
        if key not in self._numbers:
            number = None
            if kind == "passage" and self._words is not None:
                number = self._words.row(name)
            if number is None:
                number = self._next
                self._next += 1
            self._numbers[key] = number
            self.names[number] = name
        return self._numbers[key]


def blend(
    candidates: Candidates,
    scores: Mapping[str, float],
    text: str,
    k: int,
    *,
    parents: Parents,
    weights: Weights,
    words: Words | None,
    reach: Reach | None,
) -> list[Ranked]:
    """Return the k best parents by the score of `factoid.ranking`.

    Args:
        candidates: What is ranked.
        scores: Inner products or cosines, by the id of the row.
        text: The query.
        k: Number of parents.
        parents: What a parent is.
        weights: The weight of each channel.
        words: BM25 of the passages; None takes it over the candidates alone.
        reach: That of the encoder's scores; None for scores from 0 to 1.
    """
    numbers = _Numbers(words)
    views = []
    for kind in candidates.kinds:
        rows = [row for row in candidates.units.values() if row.metadata[GRANULARITY] == kind.value]
        if rows:
            views.append(_view(kind, rows, scores, numbers))
    if not views:
        return []
    context = None
    for view in views:
        if view.granularity is Granularity.PASSAGE:
            context = view
    if context is None and candidates.passages:
        context = _view(Granularity.PASSAGE, list(candidates.passages.values()), scores, numbers)
    lexical: LexicalIndex | None = None
    if weights.lexical:
        lexical = _lexical(candidates, words, numbers)
    scale = None
    if reach is not None:
        scale = reach.as_scale()
    with words.lock if words is not None else nullcontext():
        [groups] = best_parents(
            views,
            context,
            np.ones((1, 1), np.float32),
            k,
            parents=parents,
            weights=weights,
            lexical=lexical,
            texts=[text],
            scale=scale,
        )
    return [Ranked(numbers.names[group.key], group.score, group.parts) for group in groups]


def _view(
    kind: Granularity, rows: Sequence[Row], scores: Mapping[str, float], numbers: _Numbers
) -> View:
    table = np.zeros((5, len(rows)), np.int64)
    for place, row in enumerate(rows):
        passage = numbers.of("passage", passage_of(row))
        number = passage
        if kind is not Granularity.PASSAGE:
            number = numbers.of("unit", row.id)
        document = numbers.of("document", str(row.metadata[DOCUMENT]))
        table[:, place] = (place, number, passage, document, 0)
    index = _Scores(np.array([scores[row.id] for row in rows], np.float32))
    return View(kind, cast(VectorIndex, index), Columns.of(table), index.vectors)


def _lexical(candidates: Candidates, words: Words | None, numbers: _Numbers) -> LexicalIndex:
    if words is not None:
        return words.index
    index = LexicalIndex()
    rows = list(candidates.passages.values())
    ids = np.array([numbers.of("passage", passage_of(row)) for row in rows], np.int64)
    index.update(np.empty(0, np.int64), ids, [row.text for row in rows])
    return index


def fuse(candidates: Candidates, k: int, *, parents: Parents) -> list[Ranked]:
    """Return the k best parents by the sum of 1 / (60 + rank) over units, passages and words."""
    documents = {}
    for row in (*candidates.units.values(), *candidates.passages.values()):
        documents[passage_of(row)] = str(row.metadata[DOCUMENT])

    def parent(row: Row) -> str:
        if parents == "unit":
            return row.id
        if parents == "document":
            return str(row.metadata[DOCUMENT])
        return str(row.metadata[PASSAGE])

    rankings = {"units": _ranks(map(parent, candidates.units.values()))}
    if parents != "unit":
        rankings["passage"] = _ranks(map(parent, candidates.passages.values()))
        by_words: list[str] = []
        for passage in candidates.by_words:
            if passage in documents:
                by_words.append(documents[passage] if parents == "document" else passage)
        rankings[LEXICAL] = _ranks(by_words)
    parts: dict[str, dict[str, float]] = {}
    for name, ranks in rankings.items():
        for key, rank in ranks.items():
            parts.setdefault(key, {})[name] = 1 / (_RANKS + rank)
    ranked = []
    for key, shares in parts.items():
        ranked.append(Ranked(key, math.fsum(shares.values()), shares))
    ranked.sort(key=lambda parent: (-parent.score, parent.key))
    return ranked[:k]


def _ranks(keys: Iterable[str]) -> dict[str, int]:
    """Return the rank of each key, from 1."""
    ranks: dict[str, int] = {}
    for key in keys:
        ranks.setdefault(key, len(ranks) + 1)
    return ranks
