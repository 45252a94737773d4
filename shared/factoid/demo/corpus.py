"""The encyclopedia, its questions, and how often each granularity finds the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import factoid
from factoid.context import pack_context
from factoid.errors import UnreadableFileError
from factoid.files.readers import read_documents
from factoid.store import UnitStore
from factoid.units import Document, Granularity, Unit

CUTOFFS = (1, 5)
BUDGETS = (50, 100, 200)  # words

_BELOW = ": "  # a section below its title


@dataclass(frozen=True, slots=True)
class Question:
    """A question; with the accepted answers, and the title of the article that holds them, where they are known."""

    text: str
    answers: tuple[str, ...] = ()
    title: str = ""


def find_data() -> Path:
    """Return the folder of the demo's data.

    Raises:
        UnreadableFileError: It is neither in the installed package nor beside its source code.
    """
    package = Path(factoid.__file__).parent
    for folder in (package / "demo_data", package.parents[1] / "examples" / "data"):
        if (folder / "questions.jsonl").is_file():
            return folder
    message = f"the demo's encyclopedia is not in {package}: install factoid again, or show your own files with --docs"
    raise UnreadableFileError(message)


def load_encyclopedia(folder: Path) -> tuple[list[Document], list[Question]]:
    """Read `encyclopedia/*.md`, and the questions about them in `questions.jsonl`."""
    records = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    questions = [Question(record["question"], tuple(record["answers"]), record["title"]) for record in records]
    return list(read_documents([folder / "encyclopedia"])), questions


def heading_questions(units: Iterable[Unit], count: int = 3) -> list[Question]:
    """Return some headings of passages as questions, spread evenly; if there are any, those of sections, which say more."""
    headings = list(dict.fromkeys(_heading(unit) for unit in units if unit.granularity is Granularity.PASSAGE))
    headings = [heading for heading in headings if _BELOW in heading] or headings
    count = min(count, len(headings))
    return [Question(headings[index * len(headings) // count]) for index in range(count)]


@dataclass(frozen=True, slots=True)
class Scores:
    """Shares of the questions, from 0 to 1, in the order of CUTOFFS and BUDGETS."""

    recall: tuple[float, ...]
    within: tuple[float, ...]


def find_answer(text: str, answers: Sequence[str]) -> int | None:
    """Return where the first answer in a text begins, or None."""
    places = [match.start() for answer in answers if (match := _pattern(answer).search(text))]
    return min(places, default=None)


def is_gold(passage: Unit, question: Question) -> bool:
    """Tell whether a passage is of the article asked about and holds an answer."""
    return passage.title == question.title and find_answer(passage.text, question.answers) is not None


def measure(store: UnitStore, questions: Sequence[Question], **options: Any) -> Scores:
    """Return how often searches find the answer, by two measures over all questions.

    * R@k: among the k best distinct passages, rolled up from the units that were searched, is one that is of the article
      asked about and holds an answer. A question whose answer no passage of its article holds counts as not answered.
    * Answer within W words: an answer occurs in the first W words of the ranked units, in whatever article. So the paper
      measures it (Dense X Retrieval, §4.4); a short answer such as a year can be there by chance.

    An answer is looked for as whole words, without regard to case and runs of white space.

    Args:
        store: Holds the articles.
        questions: Questions with answers, at least one.
        options: Of a search, such as `granularity`.
    """
    recall, within = [], []
    texts = [question.text for question in questions]
    passages = store.search_batch(texts, max(CUTOFFS), **options)
    facts = store.search_batch(texts, max(BUDGETS), parents="unit", **options)
    for question, hits, units in zip(questions, passages, facts, strict=True):
        gold = [is_gold(hit.unit, question) for hit in hits]
        recall.append([any(gold[:cutoff]) for cutoff in CUTOFFS])
        contexts = [pack_context(units, words=words, headings=False) for words in BUDGETS]
        within.append([find_answer(context, question.answers) is not None for context in contexts])
    return Scores(tuple(np.mean(recall, axis=0).tolist()), tuple(np.mean(within, axis=0).tolist()))


def _heading(passage: Unit) -> str:
    heading = _BELOW.join(filter(None, [passage.title, passage.section]))
    return heading or Path(str(passage.metadata.get("source", ""))).stem or passage.text[:60]


def _pattern(answer: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, answer.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
