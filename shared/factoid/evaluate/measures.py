"""Measures of one question, from the ranks of its gold and the words that it takes to answer it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from factoid.errors import InvalidInputError

DEPTH = 20
"""Results that are looked at for each question."""

WORDS = 500
"""Words of context in which an answer is looked for."""

BUDGETS = (25, 50, 100, 150, 200, 300, 400, 500)
"""Points of the words curve."""

MEASURES = ("Success@1", "Success@5", "R@5", "R@20", "nDCG@10", "MRR", "within 100 words")
"""The columns of the table."""

MEASURE = "Success@5"
"""The measure that decides, unless another is named."""

_MEASURE = re.compile(r"(Success|R|nDCG)@(\d+)|(MRR)|within (\d+) words")


@dataclass(frozen=True, slots=True)
class Top:
    """The best unit for a question.

    Attributes:
        text: What was compared with the question.
        document: Title, source or id of its document.
        score: Of the unit.
        parts: Of the score, by name.
        before, source, after: Its source in the document's text, and what stands around it.
    """

    text: str
    document: str
    score: float
    parts: Mapping[str, float]
    before: str
    source: str
    after: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a setting for one question.

    Attributes:
        ranks: For each piece of gold the rank, from 1, of the first result that holds it among
            `DEPTH`, or None.
        words: How many first words of the context answer the question, or None for more than
            `WORDS` or where it cannot be told.
        top: The best unit, or None if nothing was found.
        in_document: Whether a result among `DEPTH` is of a document with gold; None where answers
            count in any document.
    """

    ranks: tuple[int | None, ...]
    words: int | None
    top: Top | None
    in_document: bool | None = None

    @property
    def first(self) -> int | None:
        """The rank of the first right result, or None."""
        right = [rank for rank in self.ranks if rank is not None]
        return min(right, default=None)

    @property
    def verdict(self) -> str:
        """In words, what became of the question."""
        if self.first == 1:
            return "first"
        if self.first is not None:
            return f"at rank {self.first}"
        if self.top is None:
            return "nothing found"
        if self.in_document is None:
            return f"not among {DEPTH} results"
        if self.in_document:
            return "right document, other place"
        return "other documents"


def answer_of(record: Mapping[str, Any]) -> Answer:
    """Return the answer that `asdict` made a record of."""
    top = record["top"]
    if top is not None:
        top = Top(**top)
    return Answer(tuple(record["ranks"]), record["words"], top, record["in_document"])


# -- Measures --


def measure_of(name: str) -> Callable[[Answer], float]:
    """Return a measure of one question by its name, from 0 to 1.

    * Success@k: 1 if one of the k best results holds gold, else 0. Dense X Retrieval and DPR call
      its mean Recall@k or top-k accuracy.
    * R@k: the share of the pieces of gold that the k best results hold; the same as Success@k where
      there is one.
    * nDCG@k: the sum of 1 / log2(rank + 1) over the pieces of gold, each at the first result that
      holds it, over that of an order that has all of them first.
    * MRR: 1 / rank of the first right result among `DEPTH`, else 0.
    * within l words: 1 if the first l words of context answer the question (Dense X Retrieval,
      Figure 4), else 0.

    Raises:
        InvalidInputError: There is no such measure, or it looks deeper than `DEPTH` or `WORDS`.
    """
    match = _MEASURE.fullmatch(name)
    if match is None or int(match[2] or 1) > DEPTH or int(match[4] or 1) > WORDS:
        raise InvalidInputError(
            f"expected a measure such as {', '.join(MEASURES)}, with k up to {DEPTH} and up to "
            f"{WORDS} words, got {name!r}"
        )
    kind = match[1]
    cut = int(match[2] or match[4] or DEPTH)
    if match[3]:
        return _reciprocal_rank
    if kind == "Success":
        return lambda answer: float(answer.first is not None and answer.first <= cut)
    if kind == "R":
        return lambda answer: len(_ranks_within(answer, cut)) / len(answer.ranks)
    if kind == "nDCG":
        return lambda answer: _ndcg(answer, cut)
    return lambda answer: float(answer.words is not None and answer.words <= cut)


def _reciprocal_rank(answer: Answer) -> float:
    if answer.first is None:
        return 0.0
    return 1 / answer.first


def _ranks_within(answer: Answer, cut: int) -> list[int]:
    return [rank for rank in answer.ranks if rank is not None and rank <= cut]


def _ndcg(answer: Answer, cut: int) -> float:
    gain = math.fsum(map(_discount, _ranks_within(answer, cut)))
    best_ranks = range(1, min(cut, len(answer.ranks)) + 1)
    ideal = math.fsum(map(_discount, best_ranks))
    return min(gain / ideal, 1.0)  # one result may hold several pieces


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
