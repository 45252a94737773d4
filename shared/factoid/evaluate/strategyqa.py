"""Yes or no: the measures of StrategyQA (Entity Retrieval, §4.3 and Table 5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from factoid.errors import InvalidInputError

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
    """
    first = _FIRST_WORD.search(answer)
    return None if first is None else _MEANINGS.get(first[0].lower())


def score_yes_no(predictions: Sequence[str], answers: Sequence[bool]) -> YesNoScores:
    """Return accuracy and the number of invalid answers; answers[i] is the right one to predictions[i].

    Raises:
        InvalidInputError: Not as many predictions as questions, or no question.
    """
    if len(predictions) != len(answers) or not predictions:
        message = (
            "expected one prediction for each question, and at least one, "
            f"got {len(predictions)} for {len(answers)} questions"
        )
        raise InvalidInputError(message)
    read = [read_yes_no(prediction) for prediction in predictions]
    right = sum(said is not None and said == expected for said, expected in zip(read, answers, strict=True))
    return YesNoScores(right / len(read), read.count(None), len(read))
