"""How often each granularity finds the answer.

Two measures, both over all questions:

* R@k: among the k best distinct passages, rolled up from the units that were searched, is one that is of the article
  asked about and holds an answer. A question whose answer no passage of its article holds counts as not found.
* Answer within W words: an answer occurs in the first W words of the ranked units, in whatever article. So the paper
  measures it (Dense X Retrieval, §4.4); a short answer such as a year can be there by chance.

An answer is looked for as whole words, without regard to case and runs of white space.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from factoid.context import pack_context
from factoid.demo.data import Question
from factoid.encode import Vectors
from factoid.store import UnitStore
from factoid.units import Granularity, Unit

CUTOFFS = (1, 5)
BUDGETS = (50, 100, 200)


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


def measure(store: UnitStore, questions: Sequence[Question], vectors: Vectors, granularity: Granularity) -> Scores:
    """Return both measures at one granularity.

    Args:
        store: Holds the articles.
        questions: Questions with answers, at least one.
        vectors: The encoded questions. Shape: (len(questions), dim).
        granularity: The units that are compared with the questions.
    """
    found = [0] * len(CUTOFFS)
    within = [0] * len(BUDGETS)
    for question, vector in zip(questions, vectors, strict=True):
        hits = store.search_by_vector(vector, max(CUTOFFS), granularity=granularity)
        gold = [is_gold(hit.unit, question) for hit in hits]
        units = store.search_by_vector(vector, max(BUDGETS), granularity=granularity, parents=False)
        for index, cutoff in enumerate(CUTOFFS):
            found[index] += any(gold[:cutoff])
        for index, words in enumerate(BUDGETS):
            within[index] += find_answer(pack_context(units, words=words), question.answers) is not None
    return Scores(tuple(count / len(questions) for count in found), tuple(count / len(questions) for count in within))


def _pattern(answer: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, answer.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
