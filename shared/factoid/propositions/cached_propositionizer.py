"""A propositionizer behind a cache: no passage goes through a model twice, and a killed run can resume."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, aclosing, closing
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tqdm.auto import tqdm

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.cache import PropositionCache, Session, passage_key
from factoid.propositions.protocol import (
    CachedPropositions,
    NoPropositions,
    Propositionizer,
    Result,
    check_outputs,
    check_propositionizer,
    in_order,
)
from factoid.units import Unit, whole_number

T = TypeVar("T")

_LOOKUP = 500  # passages looked up together, shortly before they are decomposed: another process may have added some


class CachedPropositionizer:
    """Pass to a propositionizer only what its cache does not hold, and store each answer at once.

    An interrupt, an error or a kill loses only the current batch; repeat the call to resume there. Equal passages of a call are
    decomposed once; threads and processes that share a cache may decompose the same passage at the same time.

    Args:
        propositionizer: Must have a `name` that identifies everything that its output depends on besides the passage. Results of
            a `stream` (or `astream`) are stored one by one.
        cache: The cache, or the path of its file.
        batch_size: Maximum number of passages in one call of the propositionizer.
        show_progress: Show a progress bar over passages, if there is more than one.

    Raises:
        InvalidInputError: `propositionizer` is not one, or has no name, or `batch_size` is below 1.
        StoreError: On use, see `PropositionCache`.
    """

    def __init__(
        self,
        propositionizer: Propositionizer,
        cache: PropositionCache | str | Path,
        *,
        batch_size: int = 256,
        show_progress: bool = False,
    ) -> None:
        check_propositionizer(propositionizer)
        # A property is not read yet: the name of a model may come from its files.
        if not hasattr(type(propositionizer), "name") and not hasattr(propositionizer, "name"):
            raise InvalidInputError(
                f"{type(propositionizer).__name__} has no name: give it an attribute `name` that identifies what its output "
                "depends on (model and revision, prompt version), or a cache would mix it up with others"
            )
        self.propositionizer = propositionizer
        self.cache = cache if isinstance(cache, PropositionCache) else PropositionCache(cache)
        self.batch_size = whole_number("batch_size", batch_size)
        self.show_progress = show_progress

    @property
    def name(self) -> str:
        """The name of the wrapped propositionizer."""
        return str(getattr(self.propositionizer, "name", ""))

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order.

        Raises:
            StoreError: The cache cannot be read or written.
            PropositionizerError: The propositionizer raised it, or did not return one result for each passage.
        """
        return in_order(self.stream(passages))

    async def apropositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Do the same as `propositionize` without blocking the event loop."""
        return in_order([result async for result in self.astream(passages)])

    def stream(self, passages: Sequence[Unit]) -> Iterator[Result]:
        """Yield the position of each passage and its propositions; for each few hundred passages, cached ones come first."""
        if not passages:
            return
        with self.cache.session() as session, self._bar(len(passages)) as bar:
            call = _Call(self, passages, session, bar)
            for known, missing in call.batches():
                yield from known
                if missing:
                    with closing(_results(self.propositionizer, missing)) as groups:
                        for group in groups:
                            yield from call.store(group)

    async def astream(self, passages: Sequence[Unit]) -> AsyncGenerator[Result]:
        """Do the same as `stream` without blocking the event loop. A propositionizer that cannot await runs in a thread."""
        if not passages:
            return
        stack = ExitStack()
        try:
            session = await _in_thread(lambda: stack.enter_context(self.cache.session()))
            bar = stack.enter_context(self._bar(len(passages)))
            call = await _in_thread(lambda: _Call(self, passages, session, bar))
            batches = call.batches()
            while batch := await _in_thread(lambda: next(batches, None)):
                known, missing = batch
                for result in known:
                    yield result
                if missing:
                    async with aclosing(_aresults(self.propositionizer, missing)) as groups:
                        async for group in groups:
                            for result in await _in_thread(partial(call.store, group)):
                                yield result
        finally:
            await _in_thread(stack.close)

    def _bar(self, count: int) -> tqdm[Any]:
        hidden = not self.show_progress or count < 2
        return tqdm(total=count, desc="propositions", unit=" passages", disable=hidden)


class _Call:
    """One call, with the passages that the cache lacks. Its methods never run at the same time."""

    def __init__(
        self, cached: CachedPropositionizer, passages: Sequence[Unit], session: Session, bar: tqdm[Any]
    ) -> None:
        self._cache, self._batch_size, self._name = cached.cache, cached.batch_size, cached.name
        self._passages, self._session, self._bar = passages, session, bar
        positions: dict[bytes, list[int]] = defaultdict(list)
        for position, passage in enumerate(passages):
            positions[passage_key(self._name, passage)].append(position)
        self._repeated = {first: repeated for first, *repeated in positions.values()}
        self._waiting: dict[int, int] = {}  # places in the batch without a result → positions

    def batches(self) -> Iterator[tuple[list[Result], list[Unit]]]:
        """Yield cached results, and batches of the other passages, whose results go to `store`."""
        distinct = list(self._repeated)
        missing: list[int] = []
        for start in range(0, len(distinct), _LOOKUP):
            chunk = distinct[start : start + _LOOKUP]
            outputs = self._cache.get(self._name, self._units(chunk), session=self._session)
            missing += [position for position, texts in zip(chunk, outputs, strict=True) if texts is None]
            if missing:
                self._session.check_writable()
            known = [(position, texts) for position, texts in zip(chunk, outputs, strict=True) if texts is not None]
            yield self._repeat(known), []
            last = start + _LOOKUP >= len(distinct)
            while len(missing) >= self._batch_size or (last and missing):
                batch, missing = missing[: self._batch_size], missing[self._batch_size :]
                self._waiting = dict(enumerate(batch))
                yield [], self._units(batch)
                if self._waiting:
                    raise PropositionizerError(
                        f"the propositionizer's stream ended without a result for {len(self._waiting)} of {len(batch)} "
                        "passages"
                    )

    def store(self, group: Sequence[Result]) -> list[Result]:
        """Commit results of the batch, and return them with those of equal passages."""
        placed = []
        for place, texts in group:
            if place not in self._waiting:
                raise PropositionizerError(
                    f"the propositionizer's stream returned position {place!r} twice, or no passage has it"
                )
            placed.append((self._waiting.pop(place), texts))
        units = self._units(position for position, _ in placed)
        self._cache.put(self._name, units, [texts for _, texts in placed], session=self._session)
        return self._repeat(placed)

    def _units(self, positions: Iterable[int]) -> list[Unit]:
        return [self._passages[position] for position in positions]

    def _repeat(self, results: Iterable[Result]) -> list[Result]:
        everywhere: list[Result] = []
        for position, texts in results:
            everywhere.append((position, texts))
            everywhere += [(repeated, _again(texts)) for repeated in self._repeated[position]]
        self._bar.update(len(everywhere))
        return everywhere


def _again(texts: list[str]) -> list[str]:
    if isinstance(texts, NoPropositions):
        return NoPropositions(texts.reason, transient=texts.transient, cached=True)
    return CachedPropositions(texts)


def _results(propositionizer: Propositionizer, passages: Sequence[Unit]) -> Generator[list[Result]]:
    """Yield results as they arrive: one by one from a stream, else all at once."""
    if hasattr(propositionizer, "stream"):
        for result in propositionizer.stream(passages):
            yield [result]
    else:
        yield _all(propositionizer.propositionize(passages), passages)


async def _aresults(propositionizer: Propositionizer, passages: Sequence[Unit]) -> AsyncGenerator[list[Result]]:
    """Do the same as `_results` without blocking the event loop: in threads if the propositionizer cannot await."""
    if hasattr(propositionizer, "astream"):
        async for result in propositionizer.astream(passages):
            yield [result]
    elif hasattr(propositionizer, "apropositionize"):
        yield _all(await propositionizer.apropositionize(passages), passages)
    else:
        with closing(_results(propositionizer, passages)) as groups:
            while (group := await _in_thread(lambda: next(groups, None))) is not None:
                yield group


def _all(outputs: list[list[str]], passages: Sequence[Unit]) -> list[Result]:
    check_outputs(outputs, len(passages))
    return list(enumerate(outputs))


async def _in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread; if cancelled, wait until the thread is done."""
    task = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(task)
    finally:
        await asyncio.wait([task])


def with_cache(
    propositionizer: Propositionizer,
    cache: PropositionCache | str | Path | None,
    *,
    store: Path | None = None,
    **options: Any,
) -> Propositionizer:
    """Put a cache in front of a propositionizer: `cache`, or that of a store's folder if the propositionizer is `costly`."""
    check_propositionizer(propositionizer)
    if cache is None and getattr(propositionizer, "costly", False):
        cache = store
    return propositionizer if cache is None else CachedPropositionizer(propositionizer, cache, **options)
