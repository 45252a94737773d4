"""Doubts about a comparison, looked for before anything runs.

Each is a sentence that says what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from factoid.encode import Encoder
from factoid.evaluate.gold import Gold
from factoid.evaluate.questions import Question
from factoid.evaluate.statistics import smallest_difference
from factoid.units import Document

FEW = 30
"""Questions below which intervals say little (as in garak, by a named constant)."""

LONG = 120
"""Words of a quote above which a passage does not hold much of it."""

COPIED = 0.9
"""The share of a question's words in its evidence above which it reads as copied from there."""

_OFTEN = 0.2  # of the questions
_FEW_DOCUMENTS = 10
_WORD = re.compile(r"\w{3,}")
_AROUND = 200  # characters before and after an answer
_TAIL = " Further words at the end change what is encoded, unless the encoder does not read them."
_SAME = 1e-4  # distance of vectors of unit length


@dataclass(frozen=True, slots=True)
class Check:
    """A doubt.

    Attributes:
        name: A word for it, such as "few questions".
        message: One sentence for the user.
        is_serious: Whether the comparison cannot be believed as it is.
    """

    name: str
    message: str
    is_serious: bool = False


def check_questions(
    questions: Sequence[Question],
    golds: Sequence[Gold | None],
    documents: Sequence[Document],
    passages: int,
) -> list[Check]:
    """Return the doubts about questions on a corpus.

    Args:
        questions: All questions.
        golds: What `GoldFinder` found of each.
        documents: The corpus.
        passages: How many passages it has.
    """
    asked: list[Asked] = []
    missing = []
    for question, gold in zip(questions, golds, strict=True):
        if gold is None:
            missing.append(question)
        else:
            asked.append((question, gold))
    checks = list(_missing(missing, len(questions)))
    if asked:
        by_id = {document.id: document for document in documents}
        checks += _numbers(asked)
        checks += _corpus(asked, len(documents), passages)
        checks += _wording(asked, by_id)
    return checks


Asked = tuple[Question, Gold]


def check_answers(answerable: Sequence[bool]) -> list[Check]:
    """Return a doubt if questions lack the short answers that a reader's are compared with.

    Args:
        answerable: Whether each question has some.
    """
    missing = len(answerable) - sum(answerable)
    if not missing:
        return []
    return [
        Check(
            "no short answers",
            f"{missing:,} of {len(answerable):,} questions have quotes but no short answers, so EM "
            "and F1 count them as wrong with every setting: add answers.",
            is_serious=missing > _OFTEN * len(answerable),
        )
    ]


def _missing(missing: Sequence[Question], count: int) -> Iterator[Check]:
    if missing:
        yield Check(
            "gold not found",
            f"{len(missing):,} of {count:,} questions are left out, since their gold is not in the "
            f"corpus, as of {missing[0].text[:80]!r}: copy quotes from the text itself, and name "
            "documents by file name or title.",
            is_serious=len(missing) > _OFTEN * count,
        )


def _numbers(asked: Sequence[Asked]) -> Iterator[Check]:
    """Yield what so many questions about so many documents can show."""
    count = len(asked)
    points = 100 * smallest_difference(count)
    if count < FEW:
        yield Check(
            "few questions",
            f"{count} questions are few: differences below about {points:.0f} points do not show; "
            f"write at least {FEW}, better 200.",
            is_serious=True,
        )
    else:
        yield Check(
            "smallest difference",
            f"{count:,} questions show differences from about {points:.0f} points on: for half of "
            "that, ask four times as many.",
        )
    groups = len({gold.group for _, gold in asked})
    if groups < min(_FEW_DOCUMENTS, count):
        yield Check(
            "few documents",
            f"The questions are about few documents ({groups}), and those are what is resampled: "
            "ask about more.",
            is_serious=groups < _FEW_DOCUMENTS / 2,
        )


def _corpus(asked: Sequence[Asked], documents: int, passages: int) -> Iterator[Check]:
    """Yield reasons for which settings may tie."""
    if all(gold.is_of_documents for _, gold in asked):
        yield Check(
            "documents judged",
            "Only documents are judged, so a result of the right document counts whatever it says: "
            "add quotes or answers to compare granularities.",
            is_serious=True,
        )
    if passages <= documents:
        yield Check(
            "one unit per document",
            "Every document is a single passage, so passages and chunks can hardly differ: compare "
            "on whole documents.",
        )


def _wording(asked: Sequence[Asked], documents: Mapping[str, Document]) -> Iterator[Check]:
    """Yield doubts about how questions were written."""
    copied = sum(is_copied(question, gold, documents) for question, gold in asked)
    if copied > _OFTEN * len(asked):
        yield Check(
            "copied questions",
            f"{copied:,} questions repeat the words of their evidence, which flatters BM25: ask as "
            "users do, without the text in view.",
        )
    long = 0
    for _, gold in asked:
        words_of_quotes = map(str.split, gold.quotes)
        shortest = min(map(len, words_of_quotes), default=0)
        long += shortest > LONG
    if long:
        yield Check(
            "long quotes",
            f"{long:,} questions have quotes of more than {LONG} words, of which hardly any result "
            "holds half: quote the sentence that answers.",
            is_serious=long > _OFTEN * len(asked),
        )
    generated = sum(question.is_generated for question, _ in asked)
    if generated:
        yield Check(
            "generated questions",
            f"{generated:,} questions were written by a model: check a sample of them, and trust "
            "questions of users more.",
        )


def is_copied(question: Question, gold: Gold, documents: Mapping[str, Document]) -> bool:
    """Return whether nearly all words of a question stand near its evidence.

    `documents` are those of the corpus, by id.
    """
    words = set(_WORD.findall(question.text.lower()))
    evidence = " ".join(gold.quotes)
    if gold.places:
        place = gold.places[0]
        text = documents[place.document_id].text
        evidence = text[max(0, place.start - _AROUND) : place.end + _AROUND]
    near = set(_WORD.findall(evidence.lower()))
    return bool(words) and len(words & near) >= COPIED * len(words)


def check_truncation(encoder: Encoder, texts: Sequence[str], name: str) -> list[Check]:
    """Return a doubt if an encoder does not read some texts to their end.

    Words are added to a text: where its vector stays the same, they were not read, whatever the
    encoder is made of. Longer texts are taken to be cut, too.

    Args:
        encoder: The encoder.
        texts: What is encoded of units of one kind.
        name: What they are, such as "passages".
    """
    if not texts:
        return []
    ordered = sorted(texts, key=len)
    if not _is_cut(encoder, ordered[-1]):
        return []
    low = 0  # the first text that is cut lies in [low, high]
    high = len(ordered)
    while low < high:
        middle = (low + high) // 2
        if _is_cut(encoder, ordered[middle]):
            high = middle
        else:
            low = middle + 1
    share = (len(ordered) - low) / len(ordered)
    return [
        Check(
            "truncated",
            f"The encoder does not read {100 * share:.1f} % of the {name} to their end: make them "
            "shorter, or take an encoder for longer texts.",
            is_serious=share > _OFTEN,
        )
    ]


def _is_cut(encoder: Encoder, text: str) -> bool:
    vectors = encoder.encode_units([text, text + _TAIL])
    lengths = np.linalg.norm(vectors, axis=1)
    return bool(np.linalg.norm(vectors[0] - vectors[1]) <= _SAME * max(lengths[0], 1e-9))
