"""Measures of answers.

Whether a text holds an expected one, and how well a reader's agree (Entity Retrieval, §4.3).
Answers are compared as SQuAD v1.1 does: lower case, no ASCII punctuation, no English articles,
single spaces. Of several expected answers the best counts, and one string is one answer; a question
without any is an `InvalidInputError`.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from factoid.errors import InvalidInputError

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """How well a reader's answers agree with the expected ones.

    Means over `questions`, from 0 to 1.
    """

    exact_match: float
    f1: float
    questions: int


@dataclass(frozen=True, slots=True)
class YesNoScores:
    """How well a reader answers yes-or-no questions.

    Attributes:
        accuracy: Share of right answers, from 0 to 1.
        invalid: Answers that say neither yes nor no ("Inv #"), and count as wrong.
    """

    accuracy: float
    invalid: int
    questions: int


def normalize_answer(text: str) -> str:
    """Return a text in lower case, without punctuation and articles.

    Those are ASCII punctuation and a, an and the; spaces are single.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, answers: str | Sequence[str]) -> bool:
    """Tell whether an answer equals an expected one, both normalized."""
    return normalize_answer(prediction) in map(normalize_answer, _expected(answers))


def f1(prediction: str, answers: str | Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of an answer's words.

    It is from 0 to 1, both sides normalized. Words count as often as they occur. As in SQuAD v1.1,
    a text without words once normalized scores 0.
    """
    words = Counter(normalize_answer(prediction).split())
    scores = []
    for answer in _expected(answers):
        expected = Counter(normalize_answer(answer).split())
        scores.append(2 * (words & expected).total() / max(words.total() + expected.total(), 1))
    return max(scores)


def score_answers(
    predictions: Sequence[str], answers: Sequence[str | Sequence[str]]
) -> AnswerScores:
    """Return the mean scores of a reader's answers.

    Answers[i] are those expected of predictions[i].
    """
    exact = []
    overlaps = []
    for prediction, expected in zip(predictions, answers, strict=True):
        exact.append(exact_match(prediction, expected))
        overlaps.append(f1(prediction, expected))
    return AnswerScores(fmean(exact), fmean(overlaps), len(exact))


def read_yes_no(answer: str) -> bool | None:
    """Return True for yes, False for no, or None if an answer is neither.

    As in the paper's evaluation its first letters decide, in any case: "yesterday" is a yes,
    "Nobody" is a no, "True" is neither.
    """
    start = answer.strip().lower()
    if start.startswith("yes"):
        return True
    if start.startswith("no"):
        return False
    return None


def score_yes_no(predictions: Sequence[str], answers: Sequence[bool | str]) -> YesNoScores:
    """Compare predictions, read by `read_yes_no`, with the truth.

    That is bools, or "yes" and "no" in any case.
    """
    said = list(map(read_yes_no, predictions))
    expected = []
    for answer in answers:
        if isinstance(answer, str):
            expected.append(read_yes_no(answer))
        else:
            expected.append(bool(answer))
    if None in expected:
        raise InvalidInputError(
            f"expected a right answer of yes or no, got {answers[expected.index(None)]!r}"
        )
    right = []
    for prediction, truth in zip(said, expected, strict=True):
        right.append(prediction == truth)
    return YesNoScores(fmean(right), said.count(None), len(said))


def has_answer_normalized(text: str, answers: str | Sequence[str]) -> bool:
    """Tell whether a text holds an expected answer, both normalized.

    The definition of a relevant document in §4.3. As in the paper's evaluation, the answer may
    begin and end within a word: "art" is found in "party". An answer without words, once
    normalized, is found in no text.
    """
    normal_text = normalize_answer(text)
    expected = filter(None, map(normalize_answer, _expected(answers)))
    return any(answer in normal_text for answer in expected)


def has_answer_dpr(text: str, answers: str | Sequence[str]) -> bool:
    """Tell whether a text holds an expected answer as a run of tokens (Karpukhin et al., 2020).

    Both sides are converted to NFD and lower case. A token is a longest run of letters, digits and
    marks, or one other character that is neither a separator nor a control. An answer without
    tokens is found in no text; the original finds it in every text.
    """
    padded = f" {dpr_tokens(text)} "
    expected = filter(None, map(dpr_tokens, _expected(answers)))
    return any(f" {tokens} " in padded for tokens in expected)


@cache
def _set_apart(character: str) -> str:
    """Return a character with spaces around it if it is a token of its own."""
    kind = unicodedata.category(character)[0]
    if kind in "LNM":
        return character
    if kind in "ZC":
        return " "
    return f" {character} "


def dpr_tokens(text: str) -> str:
    """Return the tokens that `has_answer_dpr` compares, with spaces between them."""
    spaced = "".join(map(_set_apart, unicodedata.normalize("NFD", text)))
    # Each token on its own: whether a capital sigma becomes "σ" or "ς" depends on its neighbours.
    return " ".join(token.lower() for token in spaced.split())


def _expected(answers: str | Sequence[str]) -> Sequence[str]:
    if not len(answers):
        raise InvalidInputError(
            "expected at least one answer, got none: leave out questions without an answer"
        )
    if isinstance(answers, str):
        return [answers]
    return answers
