from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import RR, Qrel, ScoredDoc, Success, nDCG

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_dpr
from factoid.evaluate.rankings import judge, mrr, ndcg, top_k_accuracy

LISTS = st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=5)
CUTS = st.integers(1, 8)


def by_trec_eval(measure, lists):
    """Return the mean that ir-measures gives; a judgement of nothing has it count questions without
    documents.
    """
    qrels = [Qrel(str(question), "none", 0) for question in range(len(lists))]
    run = []
    for question, relevances in enumerate(lists):
        for place, relevant in enumerate(relevances):
            qrels.append(Qrel(str(question), str(place), int(relevant)))
            run.append(ScoredDoc(str(question), str(place), -float(place)))
    return pytest.approx(ir_measures.calc_aggregate([measure], qrels, run)[measure])


@given(LISTS, CUTS)
def test_measures_are_those_of_trec_eval(lists, k):
    assert ndcg(lists, k) == by_trec_eval(nDCG @ k, lists)
    assert mrr(lists) == by_trec_eval(RR, lists)
    assert mrr(lists, k=k) == by_trec_eval(RR @ k, lists)
    assert top_k_accuracy(lists, k) == by_trec_eval(Success @ k, lists)


def test_judging():
    documents = [["The party", "Modern art"], [], ["Rouen"]]
    answers = [["art"], ["x"], ["Paris", "rouen"]]
    assert judge(documents, answers, has_answer_dpr) == [[False, True], [], [True]]
    with pytest.raises(ValueError, match="zip"):
        judge(documents, answers[:2], has_answer_dpr)


@pytest.mark.parametrize("measure", [ndcg, lambda lists, k: mrr(lists, k=k), top_k_accuracy])
def test_bad_input(measure):
    for lists, k in (([[True]], 0), ([], 3)):
        with pytest.raises(InvalidInputError, match="at least one question and a k of at least 1"):
            measure(lists, k)
    lists = [[False, True], [True, True]]
    assert measure(np.array(lists), 3) == measure(lists, 3)
