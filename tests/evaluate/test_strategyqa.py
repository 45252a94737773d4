from __future__ import annotations

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


@pytest.mark.parametrize(("predictions", "answers"), [([], []), (["yes"], []), (["yes"], [True, False])])
def test_predictions_that_do_not_fit(predictions, answers):
    with pytest.raises(InvalidInputError, match=f"{len(predictions)} for {len(answers)} questions"):
        score_yes_no(predictions, answers)
