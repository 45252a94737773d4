"""The measurement itself: who is asked what, in which order, and what came of it."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from benchmarks.store.corpus import Corpus
from benchmarks.store.operations import BATCH, OPERATIONS, Asked, Operation, asked
from benchmarks.store.oracle import Answer, judge
from benchmarks.store.processes import Failed, Process


@dataclass
class Searched:
    """What one contestant did in one operation.

    Attributes:
        rates: Queries a second, one of each round; none where it cannot do it.
        took: Seconds of every call of all rounds.
        answers: One for each distinct query.
        right: Share of the answers that are those of brute force, up to ties.
        recall: Mean recall@k of the answers.
        cannot: Why there are no rates.
    """

    rates: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    right: float = 0.0
    recall: float = 0.0
    cannot: str = ""

    @property
    def rate(self) -> float:
        return statistics.median(self.rates)

    def milliseconds(self, percentile: float) -> float:
        """Return a percentile of how long a call took, in milliseconds."""
        return 1000 * float(np.percentile(self.took, percentile))

    def ratio(self, other: Searched) -> float:
        """Return how many times as fast as another contestant, by rounds."""
        return statistics.median(
            own / its for own, its in zip(self.rates, other.rates, strict=True)
        )

    def record(self) -> dict[str, Any]:
        figures = {"right": self.right, "recall": self.recall} if self.answers else {}
        return {
            "rates": self.rates,
            "took": self.took,
            "queries": len(self.answers),
            **figures,
            "cannot": self.cannot,
        }


def search(
    processes: Mapping[str, Process], corpus: Corpus, *, rounds: int, seconds: float
) -> dict[str, dict[str, Searched]]:
    """Ask every operation of every contestant in turns.

    A contestant is asked as many queries a turn as it answered at its first, untimed try in this
    many seconds.
    """
    found: dict[str, dict[str, Searched]] = {}
    for name in processes:
        found[name] = {operation.name: Searched() for operation in OPERATIONS}
    calls: dict[tuple[str, str], int] = {}
    for operation in OPERATIONS:
        for name, process in processes.items():
            try:
                calls[name, operation.name] = _calls(process, operation, corpus, seconds)
            except Failed as reason:
                found[name][operation.name].cannot = str(reason)
    for turn in range(rounds):
        # Who comes after a slow one finds the machine's caches colder.
        first = turn % len(processes)
        order = [*processes][first:] + [*processes][:first]
        for operation in OPERATIONS:
            for name in order:
                process = processes[name]
                own = found[name][operation.name]
                if not own.cannot:
                    _turn(
                        process,
                        operation,
                        asked(operation, corpus, turn),
                        calls[name, operation.name],
                        own,
                    )
        print(f"  round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
    _verify(corpus, list(chain.from_iterable(map(dict.values, found.values()))))
    return found


def _calls(process: Process, operation: Operation, corpus: Corpus, seconds: float) -> int:
    given = _plain(asked(operation, corpus, -1))
    tries = 1 if operation.fresh else 2  # the first try may load what later ones have
    for _ in range(tries):
        took = process.do("run", name=operation.name, asked=given, calls=1)["seconds"]
    return max(1, min(operation.most, int(seconds / max(took, 1e-9))))


def _turn(
    process: Process, operation: Operation, given: Sequence[Asked], calls: int, own: Searched
) -> None:
    chosen = given if operation.batch else given[:calls]
    try:
        answer = process.do("run", name=operation.name, asked=_plain(chosen), calls=calls)
    except Failed as reason:
        own.cannot = str(reason)
        own.rates = []
        own.answers = []
        return
    own.rates.append(calls * (BATCH if operation.batch else 1) / answer["seconds"])
    own.took += answer["took"]
    for query, rows in zip(chosen, answer["found"], strict=True):
        own.answers.append(Answer(operation.kind, query, tuple(rows)))


def _plain(given: Sequence[Asked]) -> list[list[Any]]:
    """Return queries as JSON takes them."""
    plain = []
    for query, condition in map(astuple, given):
        plain.append([query, condition and list(condition)])
    return plain


def _verify(corpus: Corpus, searched: Sequence[Searched]) -> None:
    answers = list(chain.from_iterable(own.answers for own in searched))
    verdicts = iter(judge(corpus, answers))
    for own in searched:
        if count := len(own.answers):
            judged = list(islice(verdicts, count))
            own.right = sum(verdict.right for verdict in judged) / count
            own.recall = sum(verdict.recall for verdict in judged) / count
