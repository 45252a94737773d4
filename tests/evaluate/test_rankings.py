from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_dpr
from factoid.evaluate.rankings import judge, mrr, ndcg, top_k_accuracy

LISTS = st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=5)
CUTS = st.integers(1, 8)


def gain(relevance, k):
    return sum((2**grade - 1) / math.log(rank + 2, 2) for rank, grade in enumerate(map(int, relevance)) if rank < k)


@given(LISTS, CUTS)
def test_ndcg_against_the_best_of_all_orders(lists, k):
    expected = []
    for relevance in lists:
        best = max(gain(order, k) for order in itertools.permutations(relevance))
        expected.append(gain(relevance, k) / best if best else 0)
    assert ndcg(lists, k) == pytest.approx(sum(expected) / len(expected))


@given(LISTS, CUTS)
def test_mrr_and_accuracy_from_their_definitions(lists, k):
    places = [next((relevance.index(True) + 1 for _ in [0] if True in relevance), math.inf) for relevance in lists]
    assert mrr(lists) == pytest.approx(sum(1 / place for place in places) / len(lists))
    assert mrr(lists, k=k) == pytest.approx(sum(1 / place for place in places if place <= k) / len(lists))
    assert top_k_accuracy(lists, k) == pytest.approx(len([place for place in places if place <= k]) / len(lists))


def test_judging():
    documents = [["The party", "Modern art"], [], ["Rouen"]]
    answers = [["art"], ["x"], ["Paris", "rouen"]]
    assert judge(documents, answers, has_answer_dpr) == [[False, True], [], [True]]
    with pytest.raises(InvalidInputError, match="got 3 and 2"):
        judge(documents, answers[:2], has_answer_dpr)
    for texts, expected in ((["Paris is"], ["Paris"]), ([["Paris is"]], "P")):
        with pytest.raises(InvalidInputError, match="expected a list of"):
            judge(texts, expected, has_answer_dpr)


@pytest.mark.parametrize("measure", [ndcg, lambda lists, k: mrr(lists, k=k), top_k_accuracy])
def test_bad_input(measure):
    with pytest.raises(InvalidInputError, match="at least 1, got 0"):
        measure([[True]], 0)
    for wrong in ([], "yes", [["yes"]], [True, False], {"a": [True]}):
        with pytest.raises(InvalidInputError, match=r"expected (a list of|for each question, at least one)"):
            measure(wrong, 3)
    lists = [[False, True], [True, True]]
    assert measure(np.array(lists), 3) == measure(lists, 3)
