"""What is measured: kinds of queries, and which of them each round asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.store.corpus import YEARS, Corpus

K = 10
BATCH = 64
PER_ROUND = 64  # queries of a round, at most
FRESH = 16  # those with a filter that was never used before: there are but 100 categories
_REPEATED = 0  # number of the filter that is used again and again


@dataclass(frozen=True)
class Condition:
    """One condition on metadata: `key` equals the value, or is below it."""

    key: str
    operator: str  # "eq" or "lt"
    value: Any


@dataclass(frozen=True)
class Operation:
    """One column of the table."""

    name: str
    kind: str = "units"  # or "parents"
    batch: bool = False
    level: str = ""  # "50 %", "1 %", "0.01 %", or "" for no filter
    fresh: bool = False

    @property
    def most(self) -> int:
        """Calls of one round, at most."""
        return 8 if self.batch else FRESH if self.fresh else PER_ROUND


SEARCHES = (
    Operation("10 units"),
    Operation("10 units, batch of 64", batch=True),
    Operation("10 parents", kind="parents"),
    Operation("10 parents, batch of 64", kind="parents", batch=True),
)
LEVELS = ("50 %", "1 %", "0.01 %")
FILTERS = (
    Operation("50 %, first", level="50 %", fresh=True),
    Operation("50 %, again", level="50 %"),
    Operation("1 %, first", level="1 %", fresh=True),
    Operation("1 %, again", level="1 %"),
    Operation("0.01 %, first", level="0.01 %", fresh=True),
    Operation("0.01 %, again", level="0.01 %"),
)
OPERATIONS = SEARCHES + FILTERS


@dataclass(frozen=True)
class Asked:
    """One query of one operation; the filter is that of `condition`."""

    query: int
    condition: Condition | None = None


def asked(operation: Operation, corpus: Corpus, turn: int) -> list[Asked]:
    """Return the queries of a round, the most that may be asked; turn -1 is the warm-up."""
    if turn < 0:
        first = corpus.queries - BATCH
        count = BATCH if operation.batch else 1
    else:
        first = turn * PER_ROUND
        count = BATCH if operation.batch else operation.most
    queries = []
    for at in range(count):
        query = (first + at) % corpus.queries
        value = _REPEATED
        if operation.fresh and turn >= 0:
            value = 1 + turn * FRESH + at
        filtered_by = None
        if operation.level:
            filtered_by = condition(operation.level, value, corpus)
        queries.append(Asked(query, filtered_by))
    return queries


def condition(level: str, number: int, corpus: Corpus) -> Condition:
    """Return the filter of some number that lets through about this share of the units."""
    if level == LEVELS[0]:
        return Condition("year", "lt", YEARS // 2 + (-1) ** number * ((number + 1) // 2))
    if level == LEVELS[1]:
        return Condition("category", "eq", f"c{number % 100}")
    return Condition("author", "eq", f"a{number % corpus.authors}")
