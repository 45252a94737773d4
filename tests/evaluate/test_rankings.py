from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_dpr, has_answer_normalized
from factoid.evaluate.rankings import judge, mrr, ndcg, top_k_accuracy

LISTS = st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=5)
CUTS = st.integers(1, 8)


def gain(relevance, k):
    return sum((2**each - 1) / math.log(rank + 2, 2) for rank, each in enumerate(map(int, relevance)) if rank < k)


@given(LISTS, CUTS)
def test_ndcg_against_the_best_of_all_orders(lists, k):
    expected = []
    for own in lists:
        best = max(gain(order, k) for order in itertools.permutations(own))
        expected.append(gain(own, k) / best if best else 0)
    assert ndcg(lists, k) == pytest.approx(sum(expected) / len(expected))


@given(LISTS, CUTS, st.data())
def test_ndcg_over_all_relevant_documents(lists, k, data):
    missed = [data.draw(st.integers(0, 4)) for _ in lists]
    expected = []
    for own, more in zip(lists, missed, strict=True):
        ideal = gain(sorted(own + [True] * more, reverse=True), k)
        expected.append(gain(own, k) / ideal if ideal else 0)
    totals = [sum(own) + more for own, more in zip(lists, missed, strict=True)]
    measured = ndcg(lists, k, relevant=totals)
    assert measured == pytest.approx(sum(expected) / len(expected))
    assert measured <= ndcg(lists, k) + 1e-12


def test_ndcg_by_hand():
    assert ndcg([[True]], 4) == 1.0  # the paper's advantage of those who retrieve little
    assert ndcg([[True]], 4, relevant=[2]) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert ndcg([[False, True, True], []], 2) == pytest.approx(1 / math.log2(3) / (1 + 1 / math.log2(3)) / 2)
    assert ndcg([[False, True]], 1) == 0.0  # the ideal has the document that stands beyond k


@given(LISTS, CUTS)
def test_mrr_and_accuracy_from_their_definitions(lists, k):
    places = [next((own.index(True) + 1 for _ in [0] if True in own), math.inf) for own in lists]
    assert mrr(lists) == pytest.approx(sum(1 / place for place in places) / len(lists))
    assert mrr(lists, k=k) == pytest.approx(sum(1 / place for place in places if place <= k) / len(lists))
    assert top_k_accuracy(lists, k) == pytest.approx(len([place for place in places if place <= k]) / len(lists))


@given(LISTS, CUTS)
def test_questions_without_documents_count_as_0(lists, k):
    twice = [*lists, *([[]] * len(lists))]
    for measure in (ndcg, top_k_accuracy):
        assert measure(twice, k) == pytest.approx(measure(lists, k) / 2)
    assert mrr(twice) == pytest.approx(mrr(lists) / 2)


@given(LISTS, CUTS)
def test_bounds_and_growth(lists, k):
    assert 0 <= ndcg(lists, k) <= 1 + 1e-12
    assert mrr(lists) <= top_k_accuracy(lists, 6)
    assert top_k_accuracy(lists, k) <= top_k_accuracy(lists, k + 1)


def test_judging():
    documents = [["The party", "Modern art"], [], ["Rouen"]]
    answers = [["art"], ["x"], ["Paris", "rouen"]]
    assert judge(documents, answers, has_answer_dpr) == [[False, True], [], [True]]
    assert judge(documents, answers, has_answer_normalized) == [[True, True], [], [True]]
    with pytest.raises(InvalidInputError, match="documents of 3 questions, and answers to 2"):
        judge(documents, answers[:2], has_answer_dpr)


def test_bad_input():
    for measure in (ndcg, top_k_accuracy):
        with pytest.raises(InvalidInputError, match="at least 1, got 0"):
            measure([[True]], 0)
        with pytest.raises(InvalidInputError, match="got no question"):
            measure([], 1)
    with pytest.raises(InvalidInputError, match="got no question"):
        mrr([])
    with pytest.raises(InvalidInputError, match="at least 1, got -1"):
        mrr([[True]], k=-1)
    for relevant in ([1], [0, 1], [2, 1, 1]):
        with pytest.raises(InvalidInputError, match="relevant must be"):
            ndcg([[True], [True]], 1, relevant=relevant)


@pytest.mark.parametrize("wrong", ["yes", ["yes"], [["yes"]], [True, False], None, {"a": [True]}])
def test_relevances_that_are_none(wrong):
    for measure in (lambda given: ndcg(given, 3), mrr, lambda given: top_k_accuracy(given, 3)):
        with pytest.raises(InvalidInputError, match=r"expected (a list of|whether each document is relevant)"):
            measure(wrong)


def test_relevances_in_an_array():
    given = [[False, True], [True, True]]
    for measure in (lambda given: ndcg(given, 2), mrr, lambda given: top_k_accuracy(given, 1)):
        assert measure(np.array(given)) == measure(given)


@pytest.mark.parametrize(
    ("documents", "answers"), [("Paris is", ["Paris"]), (["Paris is"], ["Paris"]), ([["Paris is"]], "P"), ([[]], None)]
)
def test_texts_that_are_no_lists(documents, answers):
    with pytest.raises(InvalidInputError, match=r"expected a list of"):
        judge(documents, answers, has_answer_normalized)


def test_one_expected_answer():
    assert judge([["Paris is", "Rouen"]], ["Paris"], has_answer_normalized) == [[True, False]]
