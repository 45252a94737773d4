"""Questions that the caller's model writes from the corpus, for those who have none yet.

They are worse than questions of users: models ask what is easy to ask, in the words of the text.
So each is filtered, and marked as written by a model wherever it is shown.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from factoid.errors import InvalidInputError
from factoid.evaluate.answers import has_answer_dpr, normalize_answer
from factoid.evaluate.checks import is_copied
from factoid.evaluate.gold import Gold, GoldFinder
from factoid.evaluate.questions import Question, Quote
from factoid.files.lines import parse_object
from factoid.reasoning import without_reasoning
from factoid.split import split_passages
from factoid.units import Document, Unit, whole_number
from factoid.words import count_words

Complete = Callable[[Sequence[str]], Sequence[str]]
"""Completes prompts with a model, such as `ChatModel.complete`; "" where it has no answer."""

PROMPT = """\
Here is a passage of a text, with its title. Write one question that the passage answers, as \
somebody would ask it who needs the answer and has never seen the passage.
The question stands alone: it names what it is about, and does not speak of the passage, the text \
or its author. It is specific: no other text would answer it. It uses other words than the passage \
where it can.
Answer with a JSON object alone:
{"question": the question, "quote": the sentence of the passage that answers it, copied word for \
word, "answer": the answer in as few words as possible, copied from that sentence}
If the passage holds nothing that one would ask for, answer {"question": ""}."""

SHORT = 5
"""Words below which a question is too short to be one of a user."""

_LEAST = 25  # words of a passage that is asked about
_ROUNDS = 3  # requests for each question that is wanted, at most
_SPARE = 1.3  # requests for each question that is missing, in one round
_COMMON = 0.5  # share of documents that hold a word which says nothing specific
_FEW = 5  # documents, of which no word is called common
_WORD = re.compile(r"\w{3,}")
_OF_THE_TEXT = re.compile(
    r"\b(?:the|this|that|above|given|following) (?:passage|text|document|article|author|section|"
    r"excerpt|paragraph|context|page|writer)s?\b|\baccording to (?:it|the)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote.

    Attributes:
        questions: Those that passed; fewer than wanted if the corpus or the model gave no more.
        rejected: How many did not, by reason.
        requests: How many passages the model was asked about.
    """

    questions: tuple[Question, ...]
    rejected: Mapping[str, int]
    requests: int

    def __str__(self) -> str:
        text = f"{len(self.questions):,} questions from {self.requests:,} passages"
        reasons = [f"{number:,} {reason}" for reason, number in self.rejected.items()]
        if reasons:
            text += f"; left out: {', '.join(reasons)}"
        return text


def write_questions(
    documents: Sequence[Document], complete: Complete, count: int, *, prompt: str = PROMPT
) -> Written:
    """Let a model write questions about passages of some documents, each with its evidence.

    Passages are drawn from all documents in turn, always the same ones. A question is left out if
    it is short, speaks of the text, has only words that most documents have, repeats the words of
    its evidence, or was asked already, and if its quote is not in the passage or its answer not in
    the quote.

    Args:
        documents: The corpus.
        complete: Asks the model.
        count: How many questions are wanted.
        prompt: Instructions before the passage.

    Raises:
        InvalidInputError: No passage has enough words to be asked about, or no question passed.
    """
    whole_number("number of questions to write", count)
    passages = list(_in_turn(documents))
    if not passages:
        raise InvalidInputError(
            f"no passage of the corpus has {_LEAST} words that one could ask about: name more files"
        )
    checker = _Checker(documents)
    questions: list[Question] = []
    rejected: Counter[str] = Counter()
    asked = 0
    most = min(len(passages), _ROUNDS * count)
    while len(questions) < count and asked < most:
        missing = count - len(questions)
        block = passages[asked : min(asked + round(_SPARE * missing) + 1, most)]
        asked += len(block)
        answers = complete([f"{prompt}\n\n{_shown(passage)}" for passage in block])
        for passage, answer in zip(block, answers, strict=True):
            question, reason = checker.read(answer, passage)
            if question is None:
                rejected[reason] += 1
            elif len(questions) < count:
                questions.append(question)
    written = Written(tuple(questions), dict(rejected.most_common()), asked)
    if not questions:
        raise InvalidInputError(f"no question of the model is usable ({written}): try another one")
    return written


def _shown(passage: Unit) -> str:
    title = passage.title or "unknown"
    if passage.section:
        title += f" — {passage.section}"
    return f"Title: {title}\nPassage: {passage.search_text}"


def _in_turn(documents: Sequence[Document]) -> Iterator[Unit]:
    """Yield passages of all documents in turn, those of a document in random order."""
    generator = random.Random(0)  # noqa: S311 - a sample, no secret
    by_document = []
    for document in documents:
        passages = []
        for passage in split_passages(document):
            if count_words(passage.search_text) >= _LEAST:
                passages.append(passage)
        generator.shuffle(passages)
        by_document.append(passages)
    generator.shuffle(by_document)
    for turn in zip_longest(*by_document):
        yield from filter(None, turn)


class _Checker:
    """Reads what a model wrote, and says what is wrong with it."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._finder = GoldFinder(documents)
        self._documents = {document.id: document for document in documents}
        self._asked: set[str] = set()
        frequencies: Counter[str] = Counter()
        for document in documents:
            frequencies.update(_words(document.text))
        self._common: set[str] = set()
        if len(documents) >= _FEW:
            most = _COMMON * len(documents)
            self._common = {word for word, number in frequencies.items() if number > most}

    def read(self, answer: str, passage: Unit) -> tuple[Question | None, str]:
        """Return the question in a model's answer, or None and why it is left out."""
        fields = _object(answer)
        if fields is None:
            return None, "without JSON"
        text = str(fields.get("question") or "").strip()
        quote = str(fields.get("quote") or "").strip()
        short_answer = str(fields.get("answer") or "").strip()
        if not text:
            return None, "with nothing to ask"
        if not quote or not short_answer:
            return None, "without quote or answer"
        fault = self._fault(text, passage)
        if fault:
            return None, fault
        question = self._question(text, quote, short_answer, passage)
        gold = self._finder.find(question)
        if gold is None or not _holds(passage, gold):
            return None, "with a quote that is not in the passage"
        if not has_answer_dpr(gold.quotes[0], [short_answer]):
            return None, "with an answer that is not in the quote"
        if is_copied(question, gold, self._documents):
            return None, "in the words of their evidence"
        self._asked.add(normalize_answer(text))
        return question, ""

    def _fault(self, text: str, passage: Unit) -> str:
        """Return what is wrong with the text of a question, or ""."""
        if count_words(text) < SHORT:
            return "too short"
        if _OF_THE_TEXT.search(text):
            return "about the text itself"
        shared = _words(text) & (_words(passage.search_text) | _words(passage.title))
        if not shared - self._common:
            return "too generic"
        if normalize_answer(text) in self._asked:
            return "asked already"
        return ""

    def _question(self, text: str, quote: str, answer: str, passage: Unit) -> Question:
        name = passage.document_id
        return Question(
            text=text,
            id=passage.id,
            answers=(answer,),
            quotes=(Quote(quote, name),),
            documents=(name,),
            is_generated=True,
        )


def _object(answer: str) -> dict[str, Any] | None:
    """Return the JSON object in an answer, or None."""
    text = without_reasoning(answer)
    start = text.find("{")
    end = text.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        return parse_object(text[start : end + 1].encode())
    except InvalidInputError:
        return None


def _holds(passage: Unit, gold: Gold) -> bool:
    """Return whether the quote was found, and stands in the passage."""
    if not gold.places:
        return False
    [place] = gold.places
    return passage.start <= place.start and place.end <= passage.end


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def to_records(
    questions: Iterable[Question], documents: Sequence[Document]
) -> Iterator[dict[str, Any]]:
    """Yield questions with one quote as objects for JSON lines, which `read_questions` reads."""
    sources = {}
    for document in documents:
        sources[document.id] = str(document.metadata.get("source") or document.id)
    for question in questions:
        [quote] = question.quotes
        yield {
            "question": question.text,
            "answers": list(question.answers),
            "quote": quote.text,
            "document": sources.get(quote.document, quote.document),
            "id": question.id,
            "is_generated": question.is_generated,
        }
