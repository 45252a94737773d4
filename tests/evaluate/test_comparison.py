from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.evaluate.comparison import Asked, Comparison, Tried
from factoid.evaluate.measures import Answer, Top, measure_of

TOP = Top("It sank.", "vasa.md", 0.5, {}, "", "It sank.", "")
ranks = st.lists(st.one_of(st.none(), st.integers(1, 20)), min_size=1, max_size=6, unique_by=lambda r: r or object())


@given(ranks)
def test_measures_against_trec_eval(found):
    measures = pytest.importorskip("ir_measures")
    qrels = [measures.Qrel("q", f"gold {n}", 1) for n in range(len(found))]
    by_rank = {rank: f"gold {n}" for n, rank in enumerate(found) if rank}
    run = [measures.ScoredDoc("q", by_rank.get(rank, f"other {rank}"), -rank) for rank in range(1, 21)]
    ours = {
        "Success@5": measures.Success @ 5,
        "R@5": measures.R @ 5,
        "R@20": measures.R @ 20,
        "nDCG@10": measures.nDCG @ 10,
        "MRR": measures.RR,
    }
    expected = measures.calc_aggregate(list(ours.values()), qrels, run)
    for name, theirs in ours.items():
        assert measure_of(name)(Answer(tuple(found), None, None)) == pytest.approx(expected[theirs])


def test_a_result_with_several_pieces_counts_once_at_most():
    assert measure_of("nDCG@10")(Answer((1, 1, 1), None, None)) == 1
    assert measure_of("nDCG@10")(Answer((2, None), None, None)) == pytest.approx(
        (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    )


@pytest.mark.parametrize(("words", "within"), [(100, 1), (101, 0), (None, 0)])
def test_words(words, within):
    assert measure_of("within 100 words")(Answer((None,), words, None)) == within


@pytest.mark.parametrize("name", ["Success", "P@5", "within 501 words", "R@21", "nDCG@x"])
def test_unknown_measures(name):
    with pytest.raises(InvalidInputError, match="expected a measure such as"):
        measure_of(name)


def tried(name, size):
    return Tried(name, {"rerank": None}, "", 1, 1, size, 0.0, 0.0, 0.0)


def comparison(**ranks_of):
    answers = {name: tuple(Answer((rank,), None, None) for rank in found) for name, found in ranks_of.items()}
    count = len(next(iter(ranks_of.values())))
    asked = tuple(Asked(str(n), "?", "!", str(n // 2)) for n in range(count))
    settings = tuple(tried(name, 10 * (number + 1)) for number, name in enumerate(ranks_of))
    return Comparison(settings, asked, answers, baseline=next(iter(ranks_of)))


def test_the_sentence_names_the_cheapest_of_level_settings():
    found = comparison(poor=[None] * 40, good=[1] * 39 + [None], best=[1] * 40)
    assert found.recommendation.setting == "good"
    assert found.sentence.startswith(
        "Use good: Success@5 is 97.5 % on 40 questions about 20 documents, and 100.0 % with best, which these "
        "questions cannot tell apart (difference -2.5 points"
    )


def test_the_best_setting_may_be_the_cheapest():
    found = comparison(best=[1] * 40, good=[1] * 39 + [None])
    assert found.sentence == (
        "Use best: Success@5 is 100.0 % on 40 questions about 20 documents, the highest of all settings, and cheaper "
        "than good, which these questions cannot tell from it."
    )


def test_rows_are_paired_with_the_baseline():
    poor, good = comparison(poor=[None] * 38 + [1, None], good=[1] * 38 + [None] * 2).rows
    assert (poor.against, poor.p) == (None, None)
    assert (good.against.wins, good.against.losses, good.against.ties) == (38, 1, 1)
    assert good.p < 0.01
    assert good.low < good.means["Success@5"] < good.high


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer((None, 1), None, None), "first"),
        (Answer((7,), None, None), "at rank 7"),
        (Answer((None,), None, None), "nothing found"),
        (Answer((None,), None, TOP), "not among 20 results"),
        (Answer((None,), None, TOP, in_document=True), "right document, other place"),
        (Answer((None,), None, TOP, in_document=False), "other documents"),
    ],
)
def test_verdicts(answer, verdict):
    assert answer.verdict == verdict


def test_a_table_for_spreadsheets():
    found = comparison(poor=[None, 6], good=[1, 2])
    asked = (Asked("1", "=cmd()", "!", "a"), Asked("2", "Why, then?", "!", "b"))
    lines = list(csv.DictReader(io.StringIO(replace(found, asked=asked).to_csv())))
    assert [line["rank"] for line in lines] == ["", "6", "1", "2"]
    assert [line["Success@5"] for line in lines] == ["0.0", "0.0", "1.0", "1.0"]
    assert [line["text"] for line in lines][:2] == ["'=cmd()", "Why, then?"]


def test_changes_name_the_suspect():
    now = replace(comparison(poor=[1] * 4, good=[1] * 4), manifest={"corpus": "b", "words": 100})
    earlier = replace(comparison(poor=[1] * 3 + [None], old=[1] * 4), manifest={"corpus": "a", "words": 100})
    assert now.changes(earlier) == ["corpus: a → b", "poor: Success@5 75.0 % → 100.0 %", "good: new", "old: gone"]
    assert now.changes(now) == []
