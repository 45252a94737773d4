"""Training examples from a SQuAD file: questions of some articles, with hard negatives; and the
questions of the others.

No teacher of passages exists for SQuAD: the score of the question's own paragraph is `SCORE`, that
of the others 0. Negatives are the best other paragraphs by BM25 and by MiniLM, in turn, that hold
no answer.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from operator import itemgetter
from pathlib import Path

import bm25s
import numpy as np

from benchmarks.records import texts_of
from factoid import SentenceTransformerEncoder
from factoid.training.rankers.examples import TrainingExample
from factoid.sentences import sentence_spans
from factoid.words import stands_in

SCORE = 4.0  # of what is right, as a logit over 0: a share of 0.93 against four others
DEPTH = 20  # paragraphs that each of the two rankings returns


@dataclass(frozen=True)
class Question:
    """A question, its answers, and the number of its paragraph."""

    text: str
    answers: tuple[str, ...]
    paragraph: int


@dataclass(frozen=True)
class Split:
    """Paragraphs of some articles, and the questions about them."""

    articles: tuple[str, ...]
    paragraphs: list[str]
    questions: list[Question]


def read_splits(path: Path, *, test_articles: int, seed: int = 0) -> tuple[Split, Split]:
    """Return the training and the test part of a SQuAD file, which have no article in common."""
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    random.Random(seed).shuffle(articles)
    return _split(articles[test_articles:]), _split(articles[:test_articles])


def _split(articles: Sequence[dict]) -> Split:
    paragraphs: list[str] = []
    questions: list[Question] = []
    for article in articles:
        for paragraph in article["paragraphs"]:
            for entry in paragraph["qas"]:
                answers = tuple(dict.fromkeys(map(itemgetter("text"), entry["answers"])))
                questions.append(Question(entry["question"].strip(), answers, len(paragraphs)))
            paragraphs.append(paragraph["context"])
    return Split(tuple(map(itemgetter("title"), articles)), paragraphs, questions)


class Candidates:
    """The best paragraphs of a split for a question, by BM25 and by MiniLM in turn."""

    def __init__(self, paragraphs: Sequence[str]) -> None:
        self._encoder = SentenceTransformerEncoder()
        self._vectors = self._encoder.encode_units(list(paragraphs))
        self._bm25 = bm25s.BM25()
        self._bm25.index(bm25s.tokenize(list(paragraphs), show_progress=False), show_progress=False)

    def search(self, questions: Sequence[str]) -> list[list[int]]:
        """Return, for each question, the numbers of paragraphs, the best first."""
        depth = min(DEPTH, len(self._vectors))
        tokens = bm25s.tokenize(list(questions), show_progress=False)
        lexical, _ = self._bm25.retrieve(tokens, k=depth, show_progress=False)
        scores = self._encoder.encode_queries(list(questions)) @ self._vectors.T
        dense = np.argsort(-scores, axis=1)[:, :depth]
        candidates = []
        for by_words, by_vectors in zip(lexical.tolist(), dense.tolist(), strict=True):
            in_turn = chain.from_iterable(zip_longest(by_words, by_vectors))
            candidates.append(list(dict.fromkeys(in_turn)))
        return candidates


def make_examples(
    split: Split, *, count: int, ways: int, rounds: int, most_words: int, seed: int = 0
) -> list[TrainingExample]:
    """Return examples of questions whose paragraph has several sentences and not too many words;
    the negatives likewise.

    Each question makes one example a round, with other negatives each time. Sentence scores are
    labels: `SCORE` for those that hold an answer, 0 for the others; none for paragraphs without an
    answer.
    """
    short = set()
    for place, text in enumerate(split.paragraphs):
        if len(text.split()) <= most_words:
            short.add(place)
    questions = []
    for question in split.questions:
        is_short = question.paragraph in short
        if is_short and len(set(_labels(split.paragraphs[question.paragraph], question))) > 1:
            questions.append(question)
    random.Random(seed).shuffle(questions)
    questions = questions[:count]
    ranked = Candidates(split.paragraphs).search(texts_of(questions))
    examples = []
    for question, places in zip(questions, ranked, strict=True):
        candidates = [split.paragraphs[place] for place in places if place in short]
        negatives = [text for text in candidates if not _answers(text, question)]
        paragraph = split.paragraphs[question.paragraph]
        labels = tuple(SCORE * right for right in _labels(paragraph, question))
        number = ways - 1  # of negatives in an example
        last = min(rounds * number, len(negatives) - number + 1)
        for start in range(0, last, number):
            others = negatives[start : start + number]
            examples.append(
                TrainingExample(
                    question.text,
                    (paragraph, *others),
                    (SCORE, *[0.0] * number),
                    question.answers,
                    (labels, *[None] * number),
                )
            )
    return examples


def _labels(paragraph: str, question: Question) -> list[bool]:
    """Return which sentences of a paragraph hold an answer."""
    labels = []
    for start, end in sentence_spans(paragraph):
        labels.append(_answers(paragraph[start:end], question))
    return labels


def _answers(text: str, question: Question) -> bool:
    return any(stands_in(answer, text) for answer in question.answers)
