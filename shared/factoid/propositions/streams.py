"""Results of any propositionizer, singly where it can, checked that each passage has exactly one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

from factoid.errors import PropositionizerError
from factoid.propositions.protocol import (
    AsyncPropositionizer,
    AsyncStreamingPropositionizer,
    Propositionizer,
    StreamingPropositionizer,
    check_outputs,
)
from factoid.units import Unit

Result = tuple[int, list[str]]  # position of a passage, and its propositions


def results(propositionizer: Propositionizer, passages: Sequence[Unit]) -> Iterator[list[Result]]:
    """Yield results as soon as they are there: singly from a stream, else all at once.

    Raises:
        PropositionizerError: Not one list of strings for each passage.
    """
    if isinstance(propositionizer, StreamingPropositionizer):
        waiting = set(range(len(passages)))
        for position, texts in propositionizer.stream(passages):
            yield [_checked(position, texts, waiting, len(passages))]
        _check_ended(waiting, len(passages))
    else:
        yield _all(propositionizer.propositionize(passages), passages)


async def aresults(propositionizer: AsyncPropositionizer, passages: Sequence[Unit]) -> AsyncGenerator[list[Result]]:
    """Do as `results`, without blocking the event loop."""
    if isinstance(propositionizer, AsyncStreamingPropositionizer):
        waiting = set(range(len(passages)))
        async for position, texts in propositionizer.astream(passages):
            yield [_checked(position, texts, waiting, len(passages))]
        _check_ended(waiting, len(passages))
    else:
        yield _all(await propositionizer.apropositionize(passages), passages)


def in_order(results: Iterable[Result]) -> list[list[str]]:
    """Return the propositions of each passage, in order."""
    return [texts for _, texts in sorted(results, key=lambda result: result[0])]


def _all(outputs: list[list[str]], passages: Sequence[Unit]) -> list[Result]:
    check_outputs(outputs, len(passages))
    return list(enumerate(outputs))


def _checked(position: int, texts: list[str], waiting: set[int], count: int) -> Result:
    if position not in waiting:
        message = f"the propositionizer's stream gave position {position!r} of {count} passages twice, or there is none"
        raise PropositionizerError(message)
    check_outputs([texts], 1)
    waiting.remove(position)
    return position, texts


def _check_ended(waiting: set[int], count: int) -> None:
    if waiting:
        message = f"the propositionizer's stream ended without a result for {len(waiting)} of {count} passages"
        raise PropositionizerError(message)
