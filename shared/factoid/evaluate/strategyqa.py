"""Yes or no: the measures of StrategyQA (Entity Retrieval, §4.3 and Table 5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from factoid.errors import InvalidInputError
from factoid.evaluate.checks import check_list, check_text

_FIRST_WORD = re.compile(r"[^\W_]+")
_MEANINGS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, slots=True)
class YesNoScores:
    """How well a reader answers questions of yes or no.

    Attributes:
        accuracy: Share of the questions that are answered rightly, from 0 to 1; an invalid answer is wrong.
        invalid: Answers that say neither yes nor no ("Inv #").
        questions: Their number.
    """

    accuracy: float
    invalid: int
    questions: int


def read_yes_no(answer: str) -> bool | None:
    """Return what an answer says, or None if it is neither yes nor no.

    Its first word decides, whatever its case and the punctuation around it: Yes and True, No and False. "Yes, because …" is
    a yes; "Nobody", "Not really" and "It is true" are invalid, as is "1".

    Raises:
        InvalidInputError: The answer is no string.
    """
    check_text(answer, "an answer")
    first = _FIRST_WORD.search(answer)
    return None if first is None else _MEANINGS.get(first[0].lower())


def score_yes_no(predictions: Sequence[str], answers: Sequence[bool | str]) -> YesNoScores:
    """Return accuracy and the number of invalid answers.

    Args:
        predictions: What the reader answered.
        answers: The right answer to each: a bool, or "yes", "true", "no" or "false", whatever the case.

    Raises:
        InvalidInputError: Not as many predictions as questions, no question, a right answer that is none of these, or
            strings where lists are expected.
    """
    check_list(predictions, "predictions")
    check_list(answers, "answers")
    if len(predictions) != len(answers) or not predictions:
        message = (
            "expected one prediction for each question, and at least one, "
            f"got {len(predictions)} for {len(answers)} questions"
        )
        raise InvalidInputError(message)
    meant = [_meant(answer) for answer in answers]
    read = [read_yes_no(prediction) for prediction in predictions]
    right = sum(said == expected for said, expected in zip(read, meant, strict=True))
    return YesNoScores(right / len(read), read.count(None), len(read))


def _meant(answer: Any) -> bool:
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    meaning = _MEANINGS.get(answer.strip().lower()) if isinstance(answer, str) else None
    if meaning is None:
        message = f"expected a right answer of yes or no: a bool or one of {', '.join(_MEANINGS)}, got {answer!r}"
        raise InvalidInputError(message)
    return meaning
