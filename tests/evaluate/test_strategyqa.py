from __future__ import annotations

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.evaluate.strategyqa import read_yes_no, score_yes_no


@pytest.mark.parametrize(
    "answer", ["yes", "Yes.", " YES, because it rains", '"True"', "\n- yes\nno", "**Yes**", "true"]
)
def test_yes(answer):
    assert read_yes_no(answer) is True


@pytest.mark.parametrize("answer", ["no", "No!", "False", "no, yes", "“No”"])
def test_no(answer):
    assert read_yes_no(answer) is False


@pytest.mark.parametrize(
    "answer",
    ["", "...", "Nobody", "Not really", "It is true", "Maybe yes", "1", "0 no", "yesterday", "No1", "y", "нет"],
)
def test_neither(answer):
    assert read_yes_no(answer) is None


def test_scores_by_hand():
    scores = score_yes_no(["Yes", "no", "maybe", "False", ""], [True, True, True, False, False])
    assert (scores.accuracy, scores.invalid, scores.questions) == (2 / 5, 2, 5)


def test_right_answers_in_words():
    scores = score_yes_no(["Yes", "no", "maybe", "False", "yes"], ["yes", " True", "NO", "false", "no"])
    assert (scores.accuracy, scores.invalid, scores.questions) == (2 / 5, 1, 5)
    assert score_yes_no(["Yes", "no"], np.array([True, True])).accuracy == 0.5


@pytest.mark.parametrize("answer", ["maybe", "", "Yes.", 1, 0.0, None, ["yes"]])
def test_right_answers_that_are_none(answer):
    with pytest.raises(InvalidInputError, match="expected a right answer of yes or no"):
        score_yes_no(["yes", "no"], [True, answer])


def test_strings_are_no_lists():
    for predictions, answers in (("yes", ["yes"] * 3), (["y"] * 3, "yes"), (["yes"], None)):
        with pytest.raises(InvalidInputError, match=r"expected a list of (predictions|answers), got"):
            score_yes_no(predictions, answers)
    with pytest.raises(InvalidInputError, match="expected an answer as a string, got bool"):
        score_yes_no([True], [True])


@pytest.mark.parametrize(("predictions", "answers"), [([], []), (["yes"], []), (["yes"], [True, False])])
def test_predictions_that_do_not_fit(predictions, answers):
    with pytest.raises(InvalidInputError, match=f"{len(predictions)} for {len(answers)} questions"):
        score_yes_no(predictions, answers)
