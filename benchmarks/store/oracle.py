"""Brute force: are the answers right, up to ties, and how much of the right ones do they hold?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.store.corpus import Corpus, Floats, number
from benchmarks.store.operations import K, Asked, Condition

_TIE = 1e-5  # scores nearer than this are equal: contestants add up in different orders
_BLOCK = 32  # queries scored at once


@dataclass(frozen=True)
class Answer:
    """What a contestant said to a query."""

    kind: str
    asked: Asked
    found: tuple[int, ...]


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is exactly that of brute force, k distinct ones in order of their true
    scores; and its recall@k.
    """

    right: bool
    recall: float


def judge(corpus: Corpus, answers: Sequence[Answer]) -> list[Verdict]:
    """Return a verdict on each answer."""
    vectors = corpus.vectors(0, corpus.units)
    queries = corpus.column("queries")
    starts = corpus.column("starts")[: corpus.passages]
    parents = corpus.column("parents")[: corpus.units]
    columns = {name: corpus.column(name) for name in ("year", "category", "author")}
    # By query: contestants are asked the same.
    same: dict[int, dict[tuple[str, Asked], list[int]]] = {}
    for at, answer in enumerate(answers):
        of_query = same.setdefault(answer.asked.query, {})
        of_query.setdefault((answer.kind, answer.asked), []).append(at)
    verdicts: dict[int, Verdict] = {}
    numbers = sorted(same)
    for first in range(0, len(numbers), _BLOCK):
        block = numbers[first : first + _BLOCK]
        for query, scores in zip(block, queries[block] @ vectors.T, strict=True):
            for (kind, asked), places in same[query].items():
                own = scores if kind == "units" else np.maximum.reduceat(scores, starts)
                if asked.condition is not None:
                    passes = _passes(columns[asked.condition.key], asked.condition)
                    passes = passes[: corpus.passages]
                    own = np.where(passes if kind == "parents" else passes[parents], own, -np.inf)
                top = np.sort(own[np.argpartition(-own, min(K, len(own) - 1))[:K]])[::-1]
                top = top[np.isfinite(top)]
                for at in places:
                    verdicts[at] = _verdict(answers[at].found, own, top)
    return [verdicts[at] for at in range(len(answers))]


def _passes(column: Any, condition: Condition) -> Any:
    if condition.operator == "lt":
        return column < condition.value
    return column == number(condition.value)


def _verdict(found: Sequence[int], scores: Floats, top: Floats) -> Verdict:
    """Judge an answer by all scores and the best of them, best first."""
    if not len(top):
        return Verdict(not found, 1.0)
    own = scores[[at for at in dict.fromkeys(found) if 0 <= at < len(scores)]]
    right = len(own) == len(found) == len(top) and np.allclose(own, top, rtol=0, atol=_TIE)
    return Verdict(bool(right), float(np.sum(own >= top[-1] - _TIE)) / len(top))
