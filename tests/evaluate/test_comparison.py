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
from factoid.evaluate.measures import Answer, Reading, Top, measure_of
from factoid.evaluate.statistics import difference

TOP = Top("It sank.", "vasa.md", 0.5, {}, "", "It sank.", "")
ranks = st.lists(
    st.one_of(st.none(), st.integers(1, 20)),
    min_size=1,
    max_size=6,
    unique_by=lambda r: r or object(),
)


@given(ranks)
def test_measures_against_trec_eval(found):
    measures = pytest.importorskip("ir_measures")
    qrels = [measures.Qrel("q", f"gold {n}", 1) for n in range(len(found))]
    by_rank = {rank: f"gold {n}" for n, rank in enumerate(found) if rank}
    run = [
        measures.ScoredDoc("q", by_rank.get(rank, f"other {rank}"), -rank) for rank in range(1, 21)
    ]
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
    answers = {
        name: tuple(Answer((rank,), None, None) for rank in found)
        for name, found in ranks_of.items()
    }
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
    earlier = replace(
        comparison(poor=[1] * 3 + [None], old=[1] * 4), manifest={"corpus": "a", "words": 100}
    )
    assert now.changes(earlier) == [
        "corpus: a → b",
        "poor: Success@5 75.0 % → 100.0 %",
        "good: new",
        "old: gone",
    ]
    assert now.changes(now) == []


# -- Few questions --


def test_of_few_questions_the_sentence_says_how_many_are_needed():
    found = comparison(poor=[1] * 10 + [None, None], good=[1] * 11 + [None])
    assert found.sentence.startswith(
        "12 questions about 6 documents cannot tell 2 of 2 settings apart: do not choose by them. About "
    )
    assert (
        "questions would show whether the 8.3 points between poor and good are more than chance"
        in found.sentence
    )
    assert found.sentence.endswith("so far Success@5 is highest with good.")
    assert [check.name for check in found.doubts] == ["not settled"]


def test_few_questions_choose_where_the_difference_is_clear():
    found = comparison(poor=[None] * 20, good=[1] * 20)
    assert found.sentence.startswith("Use good: Success@5 is 100.0 % on 20 questions")


def test_of_equal_settings_no_number_is_made_up():
    found = comparison(poor=[1] * 12, good=[1] * 12)
    assert (
        "At least 30, better 200, are needed; so far Success@5 is the same with all settings."
        in found.sentence
    )


@pytest.mark.parametrize(
    ("generated", "words"),
    [(40, "40 questions written by a model"), (3, "40 questions (3 of them")],
)
def test_the_sentence_says_that_a_model_wrote_questions(generated, words):
    found = comparison(poor=[None] * 40, good=[1] * 40)
    asked = [
        replace(question, is_generated=n < generated) for n, question in enumerate(found.asked)
    ]
    found = replace(found, asked=tuple(asked))
    assert words in found.sentence
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert sum(int(row["written by a model"]) for row in rows) == 2 * generated


# -- Popularity --


def test_bins_of_popularity():
    found = comparison(poor=[1] * 60 + [None] * 30, good=[1] * 90)
    asked = [replace(question, popularity=float(n // 3)) for n, question in enumerate(found.asked)]
    bins = replace(found, asked=tuple(asked)).bins
    assert [(of_bin.low, of_bin.high, of_bin.questions) for of_bin in bins] == [
        (0, 9, 30),
        (10, 19, 30),
        (20, 29, 30),
    ]
    assert [of_bin.means["poor"] for of_bin in bins] == [1, 1, 0]
    groups = [question.group for question in found.asked[60:]]
    assert bins[2].against == {"good": difference([1] * 30, [0] * 30, groups)}


def test_equal_popularity_is_in_one_bin():
    found = comparison(poor=[1] * 90)
    asked = [
        replace(question, popularity=5.0 if n < 80 else 9.0)
        for n, question in enumerate(found.asked)
    ]
    assert [of_bin.questions for of_bin in replace(found, asked=tuple(asked)).bins] == [80, 10]
    asked = [replace(question, popularity=5.0) for question in found.asked]
    assert replace(found, asked=tuple(asked)).bins == []
    assert found.bins == []


# -- A reader --


def test_measures_of_a_reader():
    answer = Answer(
        (1,), 3, None, readings=(Reading(100, "in 1628", 0.0, 0.5), Reading(500, "1628", 1.0, 1.0))
    )
    measures = ("EM@100", "F1@100", "EM@500", "F1@500")
    assert [measure_of(name)(answer) for name in measures] == [0, 0.5, 1, 1]
    with pytest.raises(InvalidInputError, match="no reader was asked with 200 words"):
        measure_of("EM@200")(answer)
    with pytest.raises(InvalidInputError, match="expected a measure such as"):
        measure_of("EM@501")
