"""One collection made of shards, each asked in turn, with the time that each took.

In production every shard has a machine of its own and they are asked at once: an answer is there
when the slowest one is. Here they share two cores, so that asking them at once would measure how
they disturb each other. They are asked one after another, and the time of a search as in production
is what it took, less the seconds of all shards, and the seconds of the slowest one in each call.
Seconds are those of the processor, of servers as well (`benchmarks.serving.clock`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from benchmarks.serving.clock import Clock
from factoid.existing import Collection, KnownStore, Metric, Question, Row
from factoid.existing.contract import DOCUMENT, PASSAGE
from factoid.filters import All, Comparison, Operator, Tree

NEAREST = "nearest"  # rows of some granularities, best first
UNDER = "under"  # rows of some parents
BY_ID = "by id"
KINDS = (NEAREST, UNDER, BY_ID)


@dataclass(frozen=True)
class Call:
    """One call to all shards.

    Attributes:
        kind: What was asked for.
        seconds: Of each shard.
        merging: Seconds of putting the answers together.
        rows: Of all answers.
    """

    kind: str
    seconds: Sequence[float]
    merging: float
    rows: int


@dataclass
class FanOut:
    """A collection whose rows lie in shards, those of a document in one of them."""

    shards: Sequence[Collection]
    clock: Clock
    calls: list[Call] = field(default_factory=list)

    @property
    def known(self) -> KnownStore | None:
        return self.shards[0].known

    def metric(self) -> Metric | None:
        return self.shards[0].metric()

    def takes_vectors(self) -> bool:
        return self.shards[0].takes_vectors()

    def is_exact(self) -> bool:
        return self.shards[0].is_exact()

    def nearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        """Return the nearest rows of all shards: each is asked for as many as are wanted."""
        metric = self.metric()
        assert metric is not None
        kind = NEAREST
        if _names_parents(condition):
            kind = UNDER
        answers = []
        seconds = []
        for shard in self.shards:
            began = self.clock.now()
            answers.append(shard.nearest(question, limit, condition))
            seconds.append(self.clock.now() - began)
        began = self.clock.now()
        rows = list(chain.from_iterable(answers))
        if len(answers) > 1:
            rows.sort(key=lambda row: -metric.similarity(row.score, 1.0, 1.0))
        merging = self.clock.now() - began
        self.calls.append(Call(kind, seconds, merging, len(rows)))
        return rows[:limit]

    async def anearest(self, question: Question, limit: int, condition: Tree) -> list[Row]:
        return self.nearest(question, limit, condition)

    def get(self, ids: Sequence[str]) -> list[Row]:
        """Return rows by id: which shard has one is not known, so all are asked."""
        rows: list[Row] = []
        seconds = []
        for shard in self.shards:
            began = self.clock.now()
            rows += shard.get(ids)
            seconds.append(self.clock.now() - began)
        self.calls.append(Call(BY_ID, seconds, 0.0, len(rows)))
        return rows

    def put(self, rows: Sequence[Row]) -> None:
        raise NotImplementedError("documents are loaded into a shard")

    def remove(self, ids: Sequence[str]) -> None:
        raise NotImplementedError("documents are deleted in their shard")

    def scan(self, condition: Tree | None) -> Iterator[Row]:
        for shard in self.shards:
            yield from shard.scan(condition)

    def ids(self, condition: Tree) -> None:
        del condition  # words are not kept in a file here

    def leaves(self, condition: Tree) -> bool | None:
        answers = [shard.leaves(condition) for shard in self.shards]
        if True in answers:
            return True
        if None in answers:
            return None
        return False

    def shortcoming(self, question: Question, limit: int, condition: Tree) -> str:
        for shard in self.shards:
            reason = shard.shortcoming(question, limit, condition)
            if reason:
                return reason
        return ""


def _names_parents(condition: Tree) -> bool:
    """Return whether a condition asks for the rows of some parents."""
    if isinstance(condition, All):
        return any(map(_names_parents, condition.parts))
    return (
        isinstance(condition, Comparison)
        and condition.key in (PASSAGE, DOCUMENT)
        and condition.operator is Operator.IN
    )
