"""A baseline reader without a model: the best sentence, or a span of it.

It copies from the context and understands nothing. It is there so that a reader can be run
offline, and as the floor that a model has to beat (docs/papers.md has its figures on SQuAD).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.inner_products import products
from factoid.readers.prompts import Context, texts_of
from factoid.sentences import sentence_spans
from factoid.vectors.terms import STOP_WORDS, Terms

Answers = Literal["span", "sentence"]

_SENTENCES = 3  # best ones, in which a span is looked for
_TERMS = Terms("en")
_NEAR = 0.5  # weight of how near a span stands to the question's words, beside its sentence's score

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_NUMBER = re.compile(
    r"[$€£]?\d[\d,.]*\d(?:\s(?:hundred|thousand|million|billion|percent))?%?|[$€£]?\d%?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|fifty)\b"
)
_DATE = re.compile(
    rf"(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}}\b)?(?:,? \d{{4}})?|\b1\d{{3}}s?\b|\b20\d{{2}}s?\b"
    r"|\b\d{1,2}(?:st|nd|rd|th) century\b"
)
_NAME = re.compile(
    r"[A-Z][\w'’.-]*(?:(?: (?:of|the|and|de|la|van|von|der|du|al))* [A-Z][\w'’-]*|\s\d+\b)*"
)
_PHRASE = re.compile(r"[\w'’-]+(?: [\w'’-]+)*")
_WHEN = re.compile(r"\b(?:when|what (?:year|date|century|decade|month|day)|which year|in what)\b")
_HOW_MANY = re.compile(r"\bhow (?:many|much|old|long|far|high|large|big|tall|often)\b|\bpercent")
_WHO = re.compile(r"\b(?:who|whom|whose|where|which|what)\b")
_YES_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|would|will|should)\b")
_NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|none|cannot)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence with its score, and its rank among those of the context."""

    text: str
    score: float


class ExtractiveReader:
    """Copies the answer from the context, by words and, with an encoder, by vectors.

    The best sentence holds the most of the question's words, rare ones counting more, and is
    nearest to it by the encoder. Of the three best ones, the answer is a date, a number, a name or
    a phrase, as the question's first words ask for, that stands near the question's words and
    repeats none of them. A question that asks for yes or no gets "no" if the best sentence denies
    something, else "yes".

    Args:
        encoder: Adds the inner product of question and sentence to the sentence's score; None
            compares words alone.
        answers: "span" for a short answer, "sentence" for the best sentence as it is.

    Raises:
        InvalidInputError: There is no such kind of answers.
    """

    def __init__(self, encoder: Encoder | None = None, *, answers: Answers = "span") -> None:
        if answers not in get_args(Answers):
            raise InvalidInputError(f"answers must be 'span' or 'sentence', got {answers!r}")
        self.encoder = encoder
        self.answers = answers

    def read(self, question: str, context: Context = ()) -> str:
        """Return the answer to a question, "" without a context."""
        sentences = self._ranked(question, texts_of(context))
        if not sentences:
            return ""
        best = sentences[0].text
        if self.answers == "sentence":
            return best
        if _YES_NO.match(question.strip().lower()):
            if _NEGATION.search(best):
                return "no"
            return "yes"
        return _best_span(question, sentences[:_SENTENCES]) or best

    def read_batch(self, questions: Sequence[str], contexts: Sequence[Context]) -> list[str]:
        """Return the answer to each question; contexts[i] are the texts of questions[i]."""
        answers = []
        for question, context in zip(questions, contexts, strict=True):
            answers.append(self.read(question, context))
        return answers

    def _ranked(self, question: str, texts: Sequence[str]) -> list[_Sentence]:
        """Return the sentences of a context, best first; of equal ones the earlier."""
        sentences = []
        for text in texts:
            for start, end in sentence_spans(text):
                sentences.append(text[start:end])
        if not sentences:
            return []
        terms = [set(_TERMS.of_text(sentence)) for sentence in sentences]
        counts = Counter[int]()
        for sentence_terms in terms:
            counts.update(sentence_terms)
        weights = {}
        for term in _TERMS.of_query(question):
            weights[term] = math.log(1 + len(sentences) / max(counts[term], 1))
        total = sum(weights.values())
        near = [0.0] * len(sentences)
        if self.encoder is not None:
            [query] = self.encoder.encode_queries([question])
            near = products(self.encoder.encode_units(sentences), query).tolist()
        ranked = []
        for text, sentence_terms, closeness in zip(sentences, terms, near, strict=True):
            shared = sum(weight for term, weight in weights.items() if term in sentence_terms)
            ranked.append(_Sentence(text, closeness + shared / max(total, 1e-9)))
        return sorted(ranked, key=lambda sentence: -sentence.score)


def _best_span(question: str, sentences: Sequence[_Sentence]) -> str:
    """Return the span that answers best, or "" if no sentence has one."""
    asked = set(_TERMS.of_query(question))
    for pattern in _wanted(question):
        best = ""
        best_score = -math.inf
        for sentence in sentences:
            for start, text in _candidates(pattern, sentence.text, asked):
                score = sentence.score + _NEAR * _nearness(sentence.text, start, text, asked)
                if score > best_score:
                    best = text
                    best_score = score
        if best:
            return best
    return ""


def _wanted(question: str) -> list[re.Pattern[str]]:
    """Return the kinds of spans that a question asks for, the likeliest first."""
    folded = question.lower()
    if _WHEN.search(folded):
        return [_DATE, _NUMBER, _PHRASE]
    if _HOW_MANY.search(folded):
        return [_NUMBER, _PHRASE]
    if _WHO.search(folded):
        return [_NAME, _PHRASE]
    return [_PHRASE]


def _candidates(
    pattern: re.Pattern[str], sentence: str, asked: set[int]
) -> Iterator[tuple[int, str]]:
    """Yield the spans of a kind, each with its place, without words that the question has."""
    for match in pattern.finditer(sentence):
        words = list(re.finditer(r"\S+", match[0]))
        run: list[re.Match[str]] = []
        for word in [*words, None]:
            # A word that says nothing, or that the question has, ends a span.
            if word is not None and _is_news(word[0], asked):
                run.append(word)
                continue
            if run:
                start = run[0].start()
                yield match.start() + start, match[0][start : run[-1].end()].strip(".,;:'’-")
            run = []


def _is_news(word: str, asked: set[int]) -> bool:
    """Return whether a word says something that the question does not."""
    if word.lower().strip(".,;:'’") in STOP_WORDS:
        return False
    terms = _TERMS.of_text(word)
    return bool(terms) and asked.isdisjoint(terms)


def _nearness(sentence: str, start: int, span: str, asked: set[int]) -> float:
    """Return how near the question's words stand to a span, from 0 to 1."""
    end = start + len(span)
    scores = []
    for word in re.finditer(r"\w+", sentence):
        if not asked.isdisjoint(_TERMS.of_query(word[0])):
            gap = max(word.start() - end, start - word.end(), 0)
            scores.append(1 / (1 + gap / 20))
    if scores:
        return math.fsum(scores) / len(scores)
    return 0.0
