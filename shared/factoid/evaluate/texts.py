"""Judge the texts that any retriever returned, and any reader's answer, without a corpus.

`factoid compare` knows where gold stands in its documents. Other frameworks' experiments have only
texts: those retrieved, and those expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import exact_match, f1, has_answer_dpr
from factoid.evaluate.measures import DEPTH, WORDS, Answer, measure_of, words_read
from factoid.evaluate.questions import reference_texts
from factoid.evaluate.words_needed import words_needed, words_of_quote
from factoid.words import cut_words

_OF_ANSWERS: Mapping[str, Callable[[str, Sequence[str]], float]] = {
    "EM": lambda answer, expected: float(exact_match(answer, expected)),
    "F1": f1,
}


def is_of_answers(measure: str) -> bool:
    """Return whether a measure is about a reader's answer, "EM" or "F1", and not about results."""
    return measure in _OF_ANSWERS


def check_measure(measure: str) -> None:
    """Refuse what is neither "EM" or "F1" nor a measure of results as in `measure_of`.

    Raises:
        InvalidInputError: There is no such measure.
    """
    if is_of_answers(measure):
        return
    measure_of(measure)
    if words_read(measure) is not None:
        raise InvalidInputError(
            f"{measure!r} needs a reader with so many words: expected EM or F1 of an answer, got it"
        )


def measure_texts(measure: str, texts: Sequence[str], reference: Mapping[str, Any]) -> float:
    """Return a measure of the texts that were retrieved for one question, from 0 to 1.

    A text is right if it holds a quote as a run of tokens, or nine tenths of its distinct words;
    without quotes, if it holds an answer as a run of tokens (`has_answer_dpr`).

    Args:
        measure: As in `factoid.evaluate.measures.measure_of`, such as "Success@5" or "within 100
            words".
        texts: Best first.
        reference: What was expected, in fields as `read_questions` knows them: quotes or answers.

    Raises:
        InvalidInputError: There is no such measure, or nothing was expected.
    """
    answers, quotes = _expected(reference)
    ranks = []
    if quotes:
        for quote in quotes:
            ranks.append(_rank(texts, partial(_holds, quote)))
    else:
        ranks.append(_rank(texts, lambda text: has_answer_dpr(text, answers)))
    context = cut_words("\n".join(texts), WORDS)
    words = words_needed(context, answers, quotes)
    return measure_of(measure)(Answer(tuple(ranks), words, None))


def measure_answer(measure: str, answer: str, reference: Mapping[str, Any]) -> float:
    """Return "EM" or "F1" of one answer, as SQuAD v1.1 computes them.

    Args:
        measure: Which.
        answer: What a reader wrote.
        reference: What was expected; answers, in fields as `read_questions` knows them.

    Raises:
        InvalidInputError: There is no such measure, or no answer was expected.
    """
    if not is_of_answers(measure):
        raise InvalidInputError(f"expected EM or F1, got {measure!r}")
    answers, _ = _expected(reference)
    return _OF_ANSWERS[measure](answer, answers)


def _expected(reference: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    answers, quotes = reference_texts(reference)
    if not answers and not quotes:
        raise InvalidInputError(
            "nothing was expected: give the reference a quote, or answers; it has the fields "
            f"{', '.join(map(str, reference)) or '(none)'}"
        )
    return answers, quotes


def _rank(texts: Sequence[str], is_right: Callable[[str], bool]) -> int | None:
    for rank, text in enumerate(texts[:DEPTH], start=1):
        if is_right(text):
            return rank
    return None


def _holds(quote: str, text: str) -> bool:
    return has_answer_dpr(text, [quote]) or words_of_quote(text, quote) is not None
