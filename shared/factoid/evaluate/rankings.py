"""Measures of retrieved documents: nDCG, MRR and top-k accuracy (Entity Retrieval, §4.3).

All take one list for each question: whether the retrieved documents are relevant, best first. A question for which nothing was
retrieved has an empty list and counts as 0 in every mean. All values lie between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from factoid.errors import InvalidInputError
from factoid.evaluate.checks import check_list, check_lists

Relevances = Sequence[Sequence[bool]]


def judge(
    documents: Sequence[Sequence[str]],
    answers: Sequence[str | Sequence[str]],
    has_answer: Callable[[str, Sequence[str]], bool],
) -> list[list[bool]]:
    """Return whether each document of each question holds an answer to it.

    Args:
        documents: The texts retrieved for each question, best first.
        answers: The expected answers to each question; one string is one answer.
        has_answer: What makes a document relevant, such as `has_answer_normalized` or `has_answer_dpr`.

    Raises:
        InvalidInputError: Documents and answers are of different numbers of questions, or strings where lists are expected.
    """
    check_lists(documents, "texts")
    check_list(answers, "answers")
    if len(documents) != len(answers):
        message = f"got documents of {len(documents)} questions, and answers to {len(answers)}"
        raise InvalidInputError(message)
    return [[has_answer(text, expected) for text in texts] for texts, expected in zip(documents, answers, strict=True)]


def ndcg(relevances: Relevances, k: int, *, relevant: Sequence[int] | None = None) -> float:
    """Return the mean nDCG@k: DCG@k is the sum of 1 / log2(i + 1) over the ranks i ≤ k of relevant documents.

    It is divided by the DCG@k of an ideal order. As in the paper, the ideal is made of the relevant documents *among those
    retrieved*: all of the list that is given here, not its first k only. It so tells how well the list is ordered,
    not how much of what there is was found, and a list of one relevant document scores 1. It is trec_eval's ndcg_cut with
    the relevant retrieved documents as judgements.

    Args:
        relevances: Whether the documents of each question are relevant, best first.
        k: Documents that count.
        relevant: How many relevant documents there are for each question, retrieved or not, for the usual nDCG with an
            ideal made of all of them. A question that has none counts as 0.

    Raises:
        InvalidInputError: k is below 1, there is no question, something is no list, or `relevant` is of another number of
            questions or below the number that was retrieved.
    """
    _check(relevances, k)
    retrieved = [sum(map(bool, each)) for each in relevances]
    totals = retrieved if relevant is None else list(relevant)
    if len(totals) != len(retrieved) or any(total < own for total, own in zip(totals, retrieved, strict=True)):
        message = (
            "relevant must be the number of relevant documents of each question, and not below that of the retrieved ones, "
            f"got {totals[:5]}… for {retrieved[:5]}…"
        )
        raise InvalidInputError(message)
    scores = [
        _dcg(each, k) / _dcg([True] * min(total, k), k) if total else 0.0
        for each, total in zip(relevances, totals, strict=True)
    ]
    return math.fsum(scores) / len(scores)


def mrr(relevances: Relevances, *, k: int | None = None) -> float:
    """Return the mean of 1 / rank of the first relevant document, 0 where none is relevant.

    Args:
        relevances: Whether the documents of each question are relevant, best first.
        k: Documents that count; None for all.

    Raises:
        InvalidInputError: k is below 1, there is no question, or something is no list.
    """
    _check(relevances, k)
    ranks = (next((rank for rank, each in enumerate(own[:k], start=1) if each), 0) for own in relevances)
    return math.fsum(1 / rank for rank in ranks if rank) / len(relevances)


def top_k_accuracy(relevances: Relevances, k: int) -> float:
    """Return the share of questions that have a relevant document among their first k.

    Raises:
        InvalidInputError: k is below 1, there is no question, or something is no list.
    """
    _check(relevances, k)
    return sum(any(own[:k]) for own in relevances) / len(relevances)


def _dcg(relevance: Sequence[bool], k: int) -> float:
    return math.fsum(1 / math.log2(rank + 1) for rank, each in enumerate(relevance[:k], start=1) if each)


def _check(relevances: Relevances, k: int | None) -> None:
    if k is not None and k < 1:
        message = f"k must be at least 1, got {k}"
        raise InvalidInputError(message)
    check_lists(relevances, "relevances")
    if not len(relevances):
        message = "expected a list for each question, got no question"
        raise InvalidInputError(message)
    if any(isinstance(each, str) for own in relevances for each in own):
        message = "expected whether each document is relevant, got a string: judge tells it of texts"
        raise InvalidInputError(message)
