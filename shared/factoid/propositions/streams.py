"""Results of any propositionizer, as they arrive, checked that each passage has exactly one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import TypeVar

from factoid.errors import PropositionizerError
from factoid.propositions.protocol import (
    AsyncPropositionizer,
    AsyncStreamingPropositionizer,
    Propositionizer,
    StreamingPropositionizer,
    check_outputs,
)
from factoid.units import Unit

T = TypeVar("T")
Result = tuple[int, list[str]]  # position of a passage, and its propositions


def results(propositionizer: Propositionizer, passages: Sequence[Unit]) -> Generator[list[Result]]:
    """Yield results as they arrive: one by one from a stream, else all at once.

    Raises:
        PropositionizerError: Not one list of strings for each passage.
    """
    if isinstance(propositionizer, StreamingPropositionizer):
        waiting = set(range(len(passages)))
        for result in propositionizer.stream(passages):
            yield [_checked(result, waiting, len(passages))]
        _check_ended(waiting, len(passages))
    else:
        yield _all(propositionizer.propositionize(passages), passages)


async def aresults(propositionizer: Propositionizer, passages: Sequence[Unit]) -> AsyncGenerator[list[Result]]:
    """Do as `results`, without blocking the event loop: in threads where the propositionizer cannot await."""
    if isinstance(propositionizer, AsyncStreamingPropositionizer):
        waiting = set(range(len(passages)))
        async for result in propositionizer.astream(passages):
            yield [_checked(result, waiting, len(passages))]
        _check_ended(waiting, len(passages))
    elif isinstance(propositionizer, AsyncPropositionizer):
        yield _all(await propositionizer.apropositionize(passages), passages)
    else:
        with closing(results(propositionizer, passages)) as groups:
            while (group := await in_thread(lambda: next(groups, None))) is not None:
                yield group


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread; if cancelled, wait until the thread is done."""
    task = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(task)
    finally:
        await asyncio.wait([task])


def in_order(results: Iterable[Result]) -> list[list[str]]:
    """Return the propositions of each passage, in order."""
    return [texts for _, texts in sorted(results, key=lambda result: result[0])]


def _all(outputs: list[list[str]], passages: Sequence[Unit]) -> list[Result]:
    check_outputs(outputs, len(passages))
    return list(enumerate(outputs))


def _checked(result: Result, waiting: set[int], count: int) -> Result:
    position, texts = result
    if position not in waiting:
        message = f"the propositionizer's stream gave position {position!r} of {count} passages twice, or there is none"
        raise PropositionizerError(message)
    check_outputs([texts], 1)
    waiting.remove(position)
    return result


def _check_ended(waiting: set[int], count: int) -> None:
    if waiting:
        message = f"the propositionizer's stream ended without a result for {len(waiting)} of {count} passages"
        raise PropositionizerError(message)
