"""Documents and questions: SQuAD files, FactoidQA (Smith et al., 2008), CLAP NQ (Rosenthal et al.,
2025) and our own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

from benchmarks.entities import factoidqa
from benchmarks.records import indexed_by_id
from factoid import (
    Document,
    Granularity,
    SyntaxPropositionizer,
    Unit,
    split_passages,
    split_sentences,
)
from factoid.propositions import decompose
from factoid.propositions.protocol import Report

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)
NEARLY_WHOLE = 0.9
QUESTIONS = "questions.txt"

_WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        text: As it was asked.
        answers: Short answers, or sentences that support one; any of them will do.
        document_id: Of the document that it was asked about.
    """

    text: str
    answers: tuple[str, ...]
    document_id: str


@dataclass(frozen=True)
class Corpus:
    """Documents with questions.

    Attributes:
        documents: All that is searched.
        questions: Those with an answer.
        long_answers: Whether answers are whole sentences. Then a result counts that is of the
            question's document, and a context that has nine tenths of a sentence's distinct words;
            else either counts if it holds an answer as a run of words (Dense X Retrieval, §4.3).
        in_document: Whether a result also has to be of the question's document.
    """

    documents: Sequence[Document]
    questions: Sequence[Question]
    long_answers: bool = False
    in_document: bool = False

    def is_right(self, question: Question, unit: Unit | Document) -> bool:
        """Tell whether a result answers a question."""
        is_own = question.document_id == (
            unit.id if isinstance(unit, Document) else unit.document_id
        )
        if self.long_answers:
            return is_own
        return (is_own or not self.in_document) and _holds_answer(unit.text, question.answers)

    def is_in(self, question: Question, context: str) -> bool:
        """Tell whether the first words of the results answer a question."""
        if not self.long_answers:
            return _holds_answer(context, question.answers)
        words = set(_words(context))
        for answer in question.answers:
            sentence = set(_words(answer))
            if len(words & sentence) >= NEARLY_WHOLE * len(sentence):
                return True
        return False


def read(path: Path) -> Corpus:
    """Read a SQuAD file, the folder of FactoidQA or of CLAP NQ, or a folder of texts with
    questions.

    Raises:
        ValueError: The path is none of these.
    """
    if path.is_file():
        return read_squad(path)
    if (path / QUESTIONS).exists():
        return read_texts(path)
    if any(path.glob("S*/question_answer_pairs.txt")):
        return read_factoidqa(path)
    if answerable := sorted(path.glob("**/*_answerable.jsonl")):
        return read_clapnq(answerable)
    raise ValueError(
        f"{path} is no SQuAD file, and no folder of FactoidQA, CLAP NQ or texts with {QUESTIONS}"
    )


def read_squad(path: Path) -> Corpus:
    """Make every paragraph a document, its article the title.

    Questions without an answer (SQuAD 2.0) are left out.
    """
    documents = []
    questions = []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            document = Document(
                paragraph["context"], title=article.get("title", "").replace("_", " ")
            )
            documents.append(document)
            for entry in paragraph["qas"]:
                answers = tuple(dict.fromkeys(map(itemgetter("text"), entry["answers"])))
                if answers:
                    questions.append(Question(entry["question"], answers, document.id))
    return Corpus(documents, questions)


def read_texts(folder: Path) -> Corpus:
    """Make every text a document.

    Lines of `questions.txt` hold a file's name, a question and a run of words of the answer.
    """
    documents = {}
    for file in sorted(folder.iterdir()):
        documents[file.name] = Document(file.read_text(encoding="utf-8"))
    questions = []
    for line in documents.pop(QUESTIONS).text.splitlines():
        name, question, answer = line.split("|")
        questions.append(Question(question, (answer,), documents[name].id))
    return Corpus(list(documents.values()), questions, in_document=True)


def read_factoidqa(folder: Path) -> Corpus:
    """Make every article a document. Questions that are answered by yes or no are left out."""
    read = factoidqa.read(folder)
    documents = {}
    for article in read.articles:
        documents[article.title] = Document(article.text, title=article.title)
    questions = []
    for question in read.questions:
        if not question.yes_no:
            document_id = documents[question.title].id
            questions.append(Question(question.text, question.answers, document_id))
    return Corpus(list(documents.values()), questions)


def read_clapnq(files: Iterable[Path]) -> Corpus:
    """Make every gold passage a titled document, and the sentences that annotators selected the
    answers.
    """
    documents: dict[str, Document] = {}
    questions = []
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            [passage] = entry["passages"]
            document = Document(passage["text"].strip(), title=passage["title"])
            documents[document.id] = document
            sentences: dict[str, None] = {}
            for output in entry["output"]:
                sentences |= dict.fromkeys(output["selected_sentences"])
            questions.append(Question(entry["input"], tuple(sentences), document.id))
    return Corpus(list(documents.values()), questions, long_answers=True)


def cut(
    corpus: Corpus,
    propositionizer: SyntaxPropositionizer,
    granularities: Iterable[Granularity] = GRANULARITIES,
) -> tuple[dict[Granularity, list[Unit]], Report]:
    """Return the distinct units of each granularity, and what became of the propositions."""
    passages = list(chain.from_iterable(map(split_passages, corpus.documents)))
    decomposition = decompose(passages, propositionizer)
    units = {
        Granularity.PASSAGE: passages,
        Granularity.SENTENCE: list(chain.from_iterable(map(split_sentences, passages))),
        Granularity.PROPOSITION: decomposition.units,
    }
    distinct = {}
    for granularity in granularities:
        distinct[granularity] = list(indexed_by_id(units[granularity]).values())
    return distinct, decomposition.report


def _holds_answer(text: str, answers: Iterable[str]) -> bool:
    padded = f" {normal(text)} "
    return any(f" {normal(answer)} " in padded for answer in answers)


def normal(text: str) -> str:
    """Return a text's words in lower case, one space between them."""
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


def spread(items: Sequence[Any], count: int | None) -> Sequence[Any]:
    """Return about so many of the items, evenly spread."""
    return items if count is None else items[:: max(1, len(items) // count)]
