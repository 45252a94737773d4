"""Measures of answers: whether a text holds an expected one, and how well a reader's agree (Entity Retrieval, §4.3).

Answers are compared as SQuAD v1.1 does: lower case, no ASCII punctuation, no English articles, single spaces. Of several
expected answers the best counts, and one string is one answer. All functions raise `InvalidInputError` for a text that is not a
string, a question without an expected answer, no questions, and arguments that are not lists of equal length.
"""

from __future__ import annotations

import operator
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from factoid.errors import InvalidInputError
from factoid.evaluate.checks import check_list, check_pairs

_FIRST_WORD = re.compile(r"[^\W_]+")
_MEANINGS = {"yes": True, "true": True, "no": False, "false": False}
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """How well a reader's answers agree with the expected ones: means over `questions`, from 0 to 1."""

    exact_match: float
    f1: float
    questions: int


@dataclass(frozen=True, slots=True)
class YesNoScores:
    """How well a reader answers yes-or-no questions."""

    accuracy: float  # share of right answers, from 0 to 1
    invalid: int  # answers that say neither yes nor no ("Inv #"), and count as wrong
    questions: int


def normalize_answer(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation and the words a, an and the, and with single spaces."""
    _check_text(text, "a text")
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, answers: str | Sequence[str]) -> bool:
    """Tell whether an answer equals an expected one, both normalized."""
    normal = normalize_answer(prediction)
    return any(normal == normalize_answer(answer) for answer in _expected(answers))


def f1(prediction: str, answers: str | Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of an answer's words, from 0 to 1, both sides normalized.

    Words count as often as they occur. As in SQuAD v1.1, a text without words once normalized scores 0.
    """
    words = Counter(normalize_answer(prediction).split())
    scores = []
    for answer in _expected(answers):
        expected = Counter(normalize_answer(answer).split())
        scores.append(2 * (words & expected).total() / max(words.total() + expected.total(), 1))
    return max(scores)


def score_answers(
    predictions: Sequence[str], answers: Sequence[str | Sequence[str]], *, yes_no: bool = False
) -> AnswerScores:
    """Return the mean scores of a reader's answers; answers[i] are those expected of predictions[i].

    With `yes_no`, as in the paper's evaluation of FactoidQA but not of EntityQuestions, a prediction that begins with yes or
    no counts as that word alone, even "Norway", and an empty one is wrong even where nothing is expected.
    """
    check_pairs(predictions, "predictions", answers, "answers", least=1)
    if yes_no:
        words = {True: "yes", False: "no"}
        predictions = [words.get(read_yes_no(text), text or "N/A") for text in predictions]  # type: ignore[arg-type]
    count = len(predictions)
    exact, overlap = (sum(map(measure, predictions, answers)) / count for measure in (exact_match, f1))
    return AnswerScores(exact, overlap, count)


def read_yes_no(answer: str, *, whole_words: bool = False) -> bool | None:
    """Return True for yes, False for no, or None if an answer is neither.

    As in the paper's evaluation its first letters decide, in any case: "yesterday" is a yes, "Nobody" is a no, "True" is
    neither. With `whole_words` its first word decides, whatever the punctuation around it: yes and true, no and false.
    """
    _check_text(answer, "an answer")
    if not whole_words:
        start = answer.strip().lower()
        return True if start.startswith("yes") else False if start.startswith("no") else None
    first = _FIRST_WORD.search(answer)
    return _MEANINGS.get(first[0].lower()) if first else None


def score_yes_no(
    predictions: Sequence[str], answers: Sequence[bool | str], *, whole_words: bool = False
) -> YesNoScores:
    """Compare predictions, read by `read_yes_no`, with bools, or with "yes", "true", "no" or "false" in any case."""
    check_pairs(predictions, "predictions", answers, "answers", least=1)
    said = [read_yes_no(prediction, whole_words=whole_words) for prediction in predictions]
    expected = [_MEANINGS.get(str(answer).strip().lower()) for answer in answers]
    if None in expected:
        wrong = answers[expected.index(None)]
        raise InvalidInputError(f"expected a right answer of yes or no: a bool, yes, true, no or false, got {wrong!r}")
    right = sum(map(operator.eq, said, expected))
    return YesNoScores(right / len(said), said.count(None), len(said))


def has_answer_normalized(text: str, answers: str | Sequence[str], *, whole_words: bool = False) -> bool:
    """Tell whether a text holds an expected answer, both normalized: the definition of a relevant document in §4.3.

    As in the paper's evaluation, the answer may begin and end within a word: "art" is found in "party". `whole_words` requires
    a run of whole words. An answer without words, once normalized, is found in no text.
    """
    space = " " if whole_words else ""
    normal_text = f"{space}{normalize_answer(text)}{space}"
    normals = filter(None, map(normalize_answer, _expected(answers)))
    return any(f"{space}{normal}{space}" in normal_text for normal in normals)


def has_answer_dpr(text: str, answers: str | Sequence[str]) -> bool:
    """Tell whether a text holds an expected answer as a run of tokens (Karpukhin et al., 2020).

    Both sides are converted to NFD and lower case. A token is a longest run of letters, digits and marks, or one other
    character that is neither a separator nor a control. An answer without tokens is found in no text; the original finds it
    in every text.
    """
    padded = f" {_tokens(text)} "
    return any(f" {tokens} " in padded for answer in _expected(answers) if (tokens := _tokens(answer)))


@cache
def _set_apart(character: str) -> str:
    """Return a character with spaces around it if it is a token of its own."""
    kind = unicodedata.category(character)[0]
    return character if kind in "LNM" else " " if kind in "ZC" else f" {character} "


def _tokens(text: str) -> str:
    _check_text(text, "a text")
    spaced = "".join(map(_set_apart, unicodedata.normalize("NFD", text)))
    # Each token on its own: whether a capital sigma becomes "σ" or "ς" depends on its neighbours.
    return " ".join(token.lower() for token in spaced.split())


def _expected(answers: str | Sequence[str]) -> Sequence[str]:
    if isinstance(answers, str):
        return [answers]
    check_list(answers, "answers, or one as a string")
    if not len(answers):
        raise InvalidInputError("expected at least one answer, got none: leave out questions without an answer")
    return answers


def _check_text(value: object, what: str) -> None:
    if not isinstance(value, str):
        raise InvalidInputError(f"expected {what} as a string, got {type(value).__name__}")
