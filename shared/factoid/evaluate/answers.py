"""Whether a text holds an expected answer, and how well a reader's answer agrees with it (Entity Retrieval, §4.3).

Answers are compared as SQuAD v1.1 does: lower case, no ASCII punctuation, no English articles, single spaces. Everywhere, of
several expected answers the best counts, and one string is one answer.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from factoid.errors import InvalidInputError
from factoid.evaluate.checks import check_list, check_text

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """How well a reader's answers agree with the expected ones.

    Attributes:
        exact_match: Mean over the questions, from 0 to 1.
        f1: Mean over the questions, from 0 to 1.
        questions: Their number.
    """

    exact_match: float
    f1: float
    questions: int


def normalize_answer(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation and the words a, an and the, and with single spaces.

    Raises:
        InvalidInputError: It is no string.
    """
    check_text(text, "a text")
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(prediction: str, answers: str | Sequence[str]) -> bool:
    """Tell whether an answer equals an expected one, both normalized.

    Raises:
        InvalidInputError: There is no expected answer.
    """
    given = normalize_answer(prediction)
    return any(given == normalize_answer(answer) for answer in _expected(answers))


def f1(prediction: str, answers: str | Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of an answer's words, from 0 to 1, both sides normalized.

    Words count as often as they occur. As in SQuAD v1.1, what has no word left when normalized scores 0, even where
    `exact_match` holds of it: "the" and "a".

    Raises:
        InvalidInputError: There is no expected answer.
    """
    given = Counter(normalize_answer(prediction).split())
    return max(_f1(given, Counter(normalize_answer(answer).split())) for answer in _expected(answers))


def score_answers(predictions: Sequence[str], answers: Sequence[str | Sequence[str]]) -> AnswerScores:
    """Return the mean scores of a reader's answers; answers[i] are those expected of predictions[i].

    Raises:
        InvalidInputError: Not as many predictions as questions, no question, a question without an expected answer, or
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
    pairs = list(zip(predictions, answers, strict=True))
    return AnswerScores(
        sum(exact_match(given, expected) for given, expected in pairs) / len(pairs),
        sum(f1(given, expected) for given, expected in pairs) / len(pairs),
        len(pairs),
    )


def has_answer_normalized(text: str, answers: str | Sequence[str], *, whole_words: bool = False) -> bool:
    """Tell whether a text holds an expected answer, both normalized: what makes a document relevant in §4.3.

    As in the paper's evaluation the answer may begin and end within a word: "art" is found in "party", and "no" in "know",
    which makes nearly every document relevant to a question that is answered with "no". It is the default for the sake of
    comparison with published numbers. An answer of which normalization leaves nothing is in no text.

    Args:
        text: The document.
        answers: The expected answers.
        whole_words: Whether the answer must be a run of whole words of the text.

    Raises:
        InvalidInputError: There is no expected answer.
    """
    wanted = [normal for answer in _expected(answers) if (normal := normalize_answer(answer))]
    held = normalize_answer(text)
    if whole_words:
        return any(f" {normal} " in f" {held} " for normal in wanted)
    return any(normal in held for normal in wanted)


def has_answer_dpr(text: str, answers: str | Sequence[str]) -> bool:
    """Tell whether a text holds an expected answer as a run of tokens (Karpukhin et al., 2020).

    Both sides are brought to NFD and lower case. A token is a longest run of letters, digits and marks, or one other
    character that is neither a separator nor a control. So, unlike with `has_answer_normalized`, articles and punctuation
    count, words are whole, and it does not matter how "é" is composed. An answer without any token is in no text; the
    original finds it in every one.

    Raises:
        InvalidInputError: There is no expected answer.
    """
    held = f" {_tokens(text)} "
    return any(f" {tokens} " in held for answer in _expected(answers) if (tokens := _tokens(answer)))


def _expected(answers: str | Sequence[str]) -> Sequence[str]:
    if isinstance(answers, str):
        return [answers]
    check_list(answers, "answers, or one as a string")
    if not len(answers):
        message = "expected at least one answer to compare with, got none: leave out questions without an answer"
        raise InvalidInputError(message)
    return answers


def _f1(given: Counter[str], expected: Counter[str]) -> float:
    same = (given & expected).total()
    return 2 * same / (given.total() + expected.total()) if same else 0.0


class _Spacing(dict[int, int | str]):
    """A table for `str.translate` that sets tokens apart by spaces; filled as characters turn up."""

    def __missing__(self, code: int) -> int | str:
        char = chr(code)
        kind = unicodedata.category(char)[0]
        self[code] = code if kind in "LNM" else " " if kind in "ZC" else f" {char} "
        return self[code]


_SPACING = _Spacing()


def _tokens(text: str) -> str:
    """Return the tokens of a text with spaces between: none holds one, so a run of tokens is a piece of this string."""
    check_text(text, "a text")
    # Each token by itself: whether a capital sigma becomes "σ" or "ς" depends on what stands around it.
    return " ".join(token.lower() for token in unicodedata.normalize("NFD", text).translate(_SPACING).split())
