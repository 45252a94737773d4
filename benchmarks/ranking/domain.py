"""What the default score finds in documents of several domains, none of which it was made with.

    python -m benchmarks.ranking.domain ../shared/data/domain-retrieval --cache build/vectors

Each folder holds `corpus.jsonl` (or `.gz`) with documents, and `queries.jsonl` with questions, the documents that answer them, and
where there are any, the characters of the evidence. R@k is the share of a question's evidence among its k best results, of as much
as k results can hold: passages that have half of a span of evidence, or where the set names none, documents. The words curve is the
share of questions whose evidence, by nine tenths of its distinct words, or whose answer stands in the first 100 or 200 words of
context. Contexts hold the units' texts, without headings. Questions of tatqa are asked of their own report only.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from benchmarks.ranking.corpora import NEARLY_WHOLE, normal
from factoid import Document, Hit, Unit, pack_context

SETS = ("chunkeval", "covidqa", "scifact", "hotpot", "tatqa")
CUTS = (1, 5)
BUDGETS = (100, 200)
FETCHED = 50  # results of a search for passages, and units of a context
_HALF = 0.5  # of a span of evidence, or of a passage that is shorter than two of them
_GOLD_ALONE = 3  # of documents that answer no question, every so many are kept in a large set
_LARGE = 5000


@dataclass(frozen=True)
class Evidence:
    """A part of a document that answers a question."""

    document_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class DomainQuestion:
    """A question, what answers it, and the documents that it is asked of; none for all."""

    text: str
    gold: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    answers: tuple[str, ...]
    scope: tuple[str, ...] = ()


@dataclass(frozen=True)
class DomainSet:
    """Documents and questions about them; `by_span` says that passages are judged by the evidence that they hold."""

    name: str
    documents: Sequence[Document]
    questions: Sequence[DomainQuestion]
    by_span: bool

    def recall(self, question: DomainQuestion, units: Sequence[Unit]) -> list[float]:
        """Return the share of the question's evidence among the k best results, for each k."""
        if self.by_span:
            wanted: Sequence[Any] = question.evidence
            results: Sequence[Any] = units
            right = _holds
        else:
            wanted = question.gold
            results = list(dict.fromkeys(unit.document_id for unit in units))
            right = str.__eq__
        shares = []
        for k in CUTS:
            found = sum(any(right(result, target) for result in results[:k]) for target in wanted)
            shares.append(min(found / min(k, len(wanted)), 1.0))
        return shares

    def curve(self, question: DomainQuestion, units: Sequence[Unit | Hit]) -> list[float]:
        """Return for each budget whether the first words of context answer the question: 0 or 1, or NaN if nothing can tell."""
        if not question.evidence and not question.answers:
            return [np.nan] * len(BUDGETS)
        answered = []
        for words in BUDGETS:
            context = pack_context(units, words=words, headings=False)
            answered.append(float(_answers(context, question)))
        return answered


def read(folder: Path) -> DomainSet:
    """Read a set. Of a large one, only a third of the documents that answer no question is kept."""
    questions = []
    scopes: dict[str, list[str]] = {}
    corpus = list(_lines(folder / "corpus.jsonl"))
    entries = list(_lines(folder / "queries.jsonl"))
    for row in corpus:
        if "context" in row:
            scopes.setdefault(row["context"], []).append(row["id"])
    gold = {document_id for entry in entries for document_id in entry["gold"]}
    documents = []
    for number, row in enumerate(corpus):
        if len(corpus) < _LARGE or row["id"] in gold or number % _GOLD_ALONE == 0:
            documents.append(Document(row["text"], title=row["title"], id=row["id"]))
    by_id = {document.id: document for document in documents}
    for entry in entries:
        evidence = []
        for span in entry.get("evidence", ()):
            evidence.append(Evidence(span["id"], span["start"], span["end"], span["text"]))
        answers = []
        for answer in entry.get("answers", ()):  # in the words of the text, so that they can be found
            is_there = any(_stands(answer, by_id[document_id].text) for document_id in entry["gold"])
            if is_there and answer.lower() not in ("yes", "no"):
                answers.append(answer)
        scope = tuple(scopes.get(entry.get("context", ""), ()))
        questions.append(DomainQuestion(entry["text"], tuple(entry["gold"]), tuple(evidence), tuple(answers), scope))
    return DomainSet(folder.name, documents, questions, by_span=folder.name in ("chunkeval", "covidqa"))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    packed = path.with_name(f"{path.name}.gz")
    with gzip.open(packed, "rt", encoding="utf-8") if packed.exists() else path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _holds(unit: Unit, evidence: Evidence) -> bool:
    """Return whether a passage has at least half of a span of evidence, or lies in it by at least half."""
    common = min(unit.end, evidence.end) - max(unit.start, evidence.start)
    shorter = min(unit.end - unit.start, evidence.end - evidence.start)
    return unit.document_id == evidence.document_id and common >= _HALF * shorter


def _answers(context: str, question: DomainQuestion) -> bool:
    if not question.evidence:
        return any(_stands(answer, context) for answer in question.answers)
    words = set(normal(context).split())
    for evidence in question.evidence:
        wanted = set(normal(evidence.text).split())
        if len(words & wanted) >= NEARLY_WHOLE * len(wanted):
            return True
    return False


def _stands(answer: str, text: str) -> bool:
    return f" {normal(answer)} " in f" {normal(text)} "
