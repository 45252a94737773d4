"""The protocol of propositionizers, and the report on their output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Protocol, runtime_checkable

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.units import Unit

Result = tuple[int, list[str]]  # position of a passage, and its propositions


class NoPropositions(list[str]):
    """An empty result for one passage, and the reason. The passage falls back to its sentences.

    Args:
        reason: A few words, the same for the same kind of failure: reports count by it.
        transient: Whether another try may succeed (a time-out, a server that is down). Such results
            are not cached.
        cached: Whether this result comes from a cache.
    """

    def __init__(self, reason: str, *, transient: bool = False, cached: bool = False) -> None:
        super().__init__()
        self.reason = reason
        self.transient = transient
        self.cached = cached


class CachedPropositions(list[str]):
    """The propositions of one passage from a cache, without a call of the model."""

    cached = True


@runtime_checkable
class Propositionizer(Protocol):
    """Any object that decomposes passages into propositions (Dense X Retrieval, §2).

    Distinct, minimal, self-contained facts. It may also have `apropositionize(passages)`, to be
    awaited, and `stream(passages)` or `astream(passages)`, which yield the position of each passage
    and its propositions, in any order, when they are ready.
    """

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order.

        An empty list means that the passage failed.
        """
        ...


def check_propositionizer(propositionizer: object) -> None:
    """Raise `InvalidInputError` for a class, or for an object without a method `propositionize`."""
    if isinstance(propositionizer, type) or not callable(
        getattr(propositionizer, "propositionize", None)
    ):
        raise InvalidInputError(
            "expected a propositionizer, an object with a method propositionize(passages), such as "
            f"SyntaxPropositionizer(), got {propositionizer!r:.100}"
        )


def check_outputs(outputs: Sequence[Sequence[str]], count: int) -> None:
    """Raise `PropositionizerError` unless there are strings for each passage."""
    lists = isinstance(outputs, list | tuple) and all(
        isinstance(texts, list | tuple) for texts in outputs
    )
    if (
        not lists
        or len(outputs) != count
        or not all(isinstance(text, str) for text in chain.from_iterable(outputs))
    ):
        raise PropositionizerError(
            f"expected one list of strings for each of {count} passages, and the propositionizer "
            f"returned {outputs!r:.100}"
        )


def in_order(results: Iterable[Result]) -> list[list[str]]:
    """Return the propositions of each passage, in order."""
    return [texts for _, texts in sorted(results, key=lambda result: result[0])]


@dataclass(frozen=True, slots=True)
class Report:
    """Counts of what happened to passages. Reports can be added.

    Attributes:
        propositions: Units returned, including sentences that replace failures.
        failures: Passages that fell back to their sentences, by reason.
        unsupported: Propositions with names, numbers or content words that their passage does not
            hold.
        uncovered: Sentences that no proposition covered and that were added unchanged.
        duplicates: Propositions left out since they repeat another one of the same passage, or hold
            no word.
        cached: Passages that needed no model: from a cache, or equal to another passage of the same
            call.
        transient: Failed passages for which another try may succeed; they are not cached.
    """

    passages: int = 0
    propositions: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    unsupported: int = 0
    uncovered: int = 0
    duplicates: int = 0
    cached: int = 0
    transient: int = 0

    def __add__(self, other: Report) -> Report:
        failures = Counter(self.failures) + Counter(other.failures)
        counts = []
        for entry in fields(self):
            if entry.name != "failures":
                counts.append(entry.name)
        sums = {}
        for name in counts:
            sums[name] = getattr(self, name) + getattr(other, name)
        return Report(failures=dict(sorted(failures.items())), **sums)

    @property
    def failed(self) -> int:
        """Number of passages that fell back to their sentences."""
        return sum(self.failures.values())

    def __str__(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.failures.items())
        if self.transient:
            reasons += f"; another try may mend {self.transient}"
        if reasons:
            reasons = f" ({reasons})"
        cached = ""
        if self.cached:
            cached = f" ({self.cached} from the cache)"
        return (
            f"{_counted(self.passages, 'passage')}{cached} "
            f"→ {_counted(self.propositions, 'proposition')}; {_counted(self.failed, 'passage')} "
            f"fell back to sentences{reasons}, {self.unsupported} "
            f"unsupported, {_counted(self.uncovered, 'sentence')} added, "
            f"{_counted(self.duplicates, 'duplicate')} left out"
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
