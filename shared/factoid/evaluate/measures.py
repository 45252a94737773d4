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

READ = (100, 500)
"""First words of the context that a reader answers from (Dense X Retrieval, Table 3)."""

_MEASURE = re.compile(r"(Success|R|nDCG|EM|F1)@(\d+)|(MRR)|within (\d+) words")
_OF_READER = ("EM", "F1")


@dataclass(frozen=True, slots=True)
class Top:
    """The best unit for a question.

    Attributes:
        text: What was compared with the question.
        document: Title, source or id of its document.
        score: Of the unit.
        parts: Of the score, by name.
        before, source, after: Its source in the document's text, which the report marks, and what
            stands around it.
    """

    text: str
    document: str
    score: float
    parts: Mapping[str, float]
    before: str
    source: str
    after: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader answered from the first words of the context.

    Attributes:
        words: How many words it got.
        text: Its answer.
        exact_match: 1 if the answer is an expected one, both normalized, else 0.
        f1: Agreement of the words with the expected answer that fits best, from 0 to 1.
    """

    words: int
    text: str
    exact_match: float
    f1: float


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
        readings: What a reader answered; empty without one.
    """

    ranks: tuple[int | None, ...]
    words: int | None
    top: Top | None
    in_document: bool | None = None
    readings: tuple[Reading, ...] = ()

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
    readings = [Reading(**reading) for reading in record["readings"]]
    ranks = tuple(record["ranks"])
    return Answer(ranks, record["words"], top, record["in_document"], tuple(readings))


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
      Figure 4), else 0. `factoid.evaluate.words_needed` counts them.
    * EM@l and F1@l: exact match and F1 of a reader's answer from the first l words of context, as
      SQuAD v1.1 computes them (Dense X Retrieval, Table 3). A question without short answers is 0.

    Raises:
        InvalidInputError: There is no such measure, or it looks deeper than `DEPTH` or `WORDS`; or,
            of an answer, no reader was asked with so many words.
    """
    match = _MEASURE.fullmatch(name)
    deepest = DEPTH
    if match is not None and match[1] in _OF_READER:
        deepest = WORDS
    if match is None or int(match[2] or 1) > deepest or int(match[4] or 1) > WORDS:
        raise InvalidInputError(
            f"expected a measure such as {', '.join(MEASURES)}, or EM@100 and F1@100 with a "
            f"reader, with k up to {DEPTH} and up to {WORDS} words, got {name!r}"
        )
    kind = match[1]
    cut = int(match[2] or match[4] or DEPTH)
    if kind == "EM":
        return lambda answer: _reading(answer, cut).exact_match
    if kind == "F1":
        return lambda answer: _reading(answer, cut).f1
    if match[3]:
        return _reciprocal_rank
    if kind == "Success":
        return lambda answer: float(answer.first is not None and answer.first <= cut)
    if kind == "R":
        return lambda answer: len(_ranks_within(answer, cut)) / len(answer.ranks)
    if kind == "nDCG":
        return lambda answer: _ndcg(answer, cut)
    return lambda answer: float(answer.words is not None and answer.words <= cut)


def words_read(name: str) -> int | None:
    """Return how many words of context a measure of a reader is about; None for other measures."""
    match = _MEASURE.fullmatch(name)
    if match is None or match[1] not in _OF_READER:
        return None
    return int(match[2])


def _reading(answer: Answer, words: int) -> Reading:
    for reading in answer.readings:
        if reading.words == words:
            return reading
    raise InvalidInputError(
        f"no reader was asked with {words} words of context: compare with one, and with that number"
    )


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
