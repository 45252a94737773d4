from __future__ import annotations

import re
import string
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import (
    exact_match,
    f1,
    has_answer_dpr,
    has_answer_normalized,
    normalize_answer,
    read_yes_no,
    score_answers,
    score_yes_no,
)

TEXTS = st.text(st.sampled_from("aAntheb cß.,-é’\u0301 Σσ1\n\u00a0_") | st.characters(codec="utf-8"), max_size=20)


def normalized_step_by_step(text):
    """SQuAD v1.1's four steps, one character and one word at a time."""
    plain = "".join(char for char in text.lower() if char not in string.punctuation)
    spaced, word = [], ""
    for char in [*plain, " "]:
        if re.match(r"\w", char):
            word += char
            continue
        spaced.append(" " if word in ("a", "an", "the") else word)
        spaced.append(char)
        word = ""
    return " ".join("".join(spaced).split())


@given(TEXTS)
def test_normalization_against_its_steps(text):
    assert normalize_answer(text) == normalized_step_by_step(text)


def f1_by_pairing(prediction, answer):
    unpaired, pairs = normalized_step_by_step(answer).split(), 0
    said = normalized_step_by_step(prediction).split()
    expected = len(unpaired)
    for word in said:
        if word in unpaired:
            unpaired.remove(word)
            pairs += 1
    return 0.0 if not pairs else 2 / (len(said) / pairs + expected / pairs)


WORDS = st.lists(st.sampled_from(["the", "one", "two", "Two.", "three"]), max_size=6).map(" ".join)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_f1_against_pairing(prediction, answers):
    assert f1(prediction, answers) == pytest.approx(max(f1_by_pairing(prediction, answer) for answer in answers))


def test_means():
    scores = score_answers(["The Paris.", "no idea", "two three"], ["paris", ["Rome"], ["one", "two"]])
    assert (scores.exact_match, scores.questions) == (1 / 3, 3)
    assert scores.f1 == pytest.approx((1 + 0 + 2 / 3) / 3)


def test_predictions_that_begin_with_yes_or_no_count_as_that_word():
    predictions, answers = ["Yes, he was the sixteenth", "no. He was born in"], [["yes", "Yes."], "No"]
    assert score_answers(predictions, answers).exact_match == 0  # as EntityQuestions is scored
    assert score_answers(predictions, answers, yes_no=True).exact_match == 1
    predictions = answers = ["Norway", " 1832", ""]
    assert score_answers(predictions, answers).exact_match == 1
    assert score_answers(predictions, answers, yes_no=True).exact_match == 1 / 3


@pytest.mark.parametrize(
    ("text", "answer", "dpr", "paper", "whole"),
    [
        ("The party", "art", False, True, False),
        ("in the U.S. today", "US", False, True, True),
        ("caf\u00e9", "cafe\u0301", True, False, False),
        ("Joan Collins played her.", "joan collins", True, True, True),
        ("Joan H. Collins", "Joan Collins", False, False, False),
        ("the Battle of the Bulge", "battle of Bulge", False, True, True),
        ("Ulm, 1879", "ulm , 1879", True, True, True),  # tokens, whatever the space between
        ("anything", "the", False, False, False),
    ],
)
def test_answers_in_texts(text, answer, dpr, paper, whole):
    assert has_answer_dpr(text, [answer]) is dpr
    assert has_answer_normalized(text, [answer]) is paper
    assert has_answer_normalized(text, [answer], whole_words=True) is whole


def tokens_one_by_one(text):
    tokens, open_word = [], False
    for char in unicodedata.normalize("NFD", text):
        kind = unicodedata.category(char)[0]
        if kind in "LNM" and open_word:
            tokens[-1] += char
        elif kind not in "ZC":
            tokens.append(char)
        open_word = kind in "LNM"
    return [token.lower() for token in tokens]


@given(TEXTS, TEXTS)
def test_dpr_against_all_runs_of_tokens(text, answer):
    tokens, answer_tokens = tokens_one_by_one(text), tokens_one_by_one(answer)
    runs = [tokens[start : start + len(answer_tokens)] for start in range(len(tokens))]
    assert has_answer_dpr(text, [answer]) is (bool(answer_tokens) and answer_tokens in runs)


@pytest.mark.parametrize(
    ("measure", "arguments", "problem"),
    [
        (score_answers, ([], []), "at least 1, got 0 and 0"),
        (score_answers, (["x"], ["x", "y"]), "got 1 and 2"),
        (score_answers, ("ab", [["a"], ["b"]]), "a list of predictions"),
        (score_answers, (["a", "b"], "ab"), "a list of answers"),
        (exact_match, ("a", []), "at least one answer"),
        (f1, (None, ["a"]), "a text as a string"),
        (has_answer_normalized, ("a", [None]), "a text as a string"),
        (has_answer_dpr, ("a", {"a": 1}), "a list of answers, or one as a string"),
        (score_yes_no, (["yes"], ["maybe"]), "a right answer of yes or no"),
        (score_yes_no, (["yes"], [1]), "a right answer of yes or no"),
        (score_yes_no, ([None], [True]), "an answer as a string"),
    ],
)
def test_what_cannot_be_measured(measure, arguments, problem):
    with pytest.raises(InvalidInputError, match=problem):
        measure(*arguments)


@pytest.mark.parametrize(
    ("answers", "of_prefix", "of_word"),  # the paper reads the prefixes yes and no
    [
        ([" YES, because it rains", "Yes."], True, True),
        (["no.", "no, yes"], False, False),
        (["yesterday"], True, None),
        (["Not really", "Nobody", "No1"], False, None),
        (['"Yes"', '"True"', "- yes\nno", "**Yes**"], None, True),
        (["False", "“No”"], None, False),
        (["", "...", "It is true", "0 no"], None, None),
    ],
)
def test_yes_and_no(answers, of_prefix, of_word):
    assert {read_yes_no(answer) for answer in answers} == {of_prefix}
    assert {read_yes_no(answer, whole_words=True) for answer in answers} == {of_word}


def test_scores_by_hand():
    predictions, answers = ["Yes", "no", "maybe", "False", ""], [True, True, "true", np.False_, "NO"]
    scores = score_yes_no(predictions, answers)
    assert (scores.accuracy, scores.invalid, scores.questions) == (1 / 5, 3, 5)
    scores = score_yes_no(predictions, answers, whole_words=True)
    assert (scores.accuracy, scores.invalid) == (2 / 5, 2)
