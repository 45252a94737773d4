"""Measures of retrieved documents: nDCG, MRR and top-k accuracy (Entity Retrieval, §4.3).

All take one list for each question: whether each retrieved document is relevant, best first. A
question without documents has an empty list and counts as 0 in every mean. All values lie between 0
and 1. Measures of no question, or at a k below 1, are an `InvalidInputError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from factoid.errors import InvalidInputError

Relevances = Sequence[Sequence[bool]]


def judge(
    documents: Sequence[Sequence[str]],
    answers: Sequence[str | Sequence[str]],
    has_answer: Callable[[str, Sequence[str]], bool],
) -> list[list[bool]]:
    """Return whether each text retrieved for each question holds an answer to it.

    `has_answer` decides whether a document is relevant, such as `has_answer_normalized` or
    `has_answer_dpr`.
    """
    judgements = []
    for texts, expected in zip(documents, answers, strict=True):
        relevance = [has_answer(text, expected) for text in texts]
        judgements.append(relevance)
    return judgements


def ndcg(relevances: Relevances, k: int) -> float:
    """Return the mean nDCG@k.

    The sum of 1 / log2(i + 1) over the ranks i ≤ k of relevant documents, over that of an ideal. As
    in the paper, the ideal order is made of the relevant documents *among those retrieved*,
    including those beyond k: it shows how well the list is ordered, not how much was found. It is
    trec_eval's ndcg_cut with these documents as judgements.
    """
    _check(relevances, k)
    scores = []
    for hits in relevances:
        if any(hits):
            ideal = sorted(map(bool, hits), reverse=True)
            scores.append(_dcg(hits, k) / _dcg(ideal, k))
    return math.fsum(scores) / len(relevances)


def mrr(relevances: Relevances, *, k: int | None = None) -> float:
    """Return the mean of 1 / rank of the first relevant document, among the first k or all.

    0 where none is relevant.
    """
    _check(relevances, k)
    firsts = []
    for hits in relevances:
        firsts.append(_reciprocal_rank(hits[:k]))
    return math.fsum(firsts) / len(relevances)


def _reciprocal_rank(hits: Sequence[bool]) -> float:
    for rank, hit in enumerate(hits, start=1):
        if hit:
            return 1 / rank
    return 0.0


def top_k_accuracy(relevances: Relevances, k: int) -> float:
    """Return the share of questions that have a relevant document among their first k."""
    _check(relevances, k)
    return sum(any(relevance[:k]) for relevance in relevances) / len(relevances)


def _dcg(relevance: Sequence[bool], k: int) -> float:
    gains = []
    for rank, hit in enumerate(relevance[:k], start=1):
        if hit:
            gains.append(1 / math.log2(rank + 1))
    return math.fsum(gains)


def _check(relevances: Relevances, k: int | None) -> None:
    if not len(relevances) or (k is not None and k < 1):
        raise InvalidInputError(
            f"expected at least one question and a k of at least 1, got {len(relevances)} and {k}"
        )
