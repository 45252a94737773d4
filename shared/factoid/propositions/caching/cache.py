"""Propositions that are kept, so that no passage goes through a model twice and a run that was killed goes on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from inspect import getattr_static
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from factoid.errors import InvalidInputError, StoreError
from factoid.propositions.caching.file import PropositionCache, passage_key
from factoid.propositions.caching.heartbeat import Heartbeat
from factoid.propositions.protocol import (
    AsyncPropositionizer,
    CachedPropositions,
    NoPropositions,
    Propositionizer,
    check_propositionizer,
)
from factoid.propositions.streams import Result, aresults, in_order, results
from factoid.units import Unit

__all__ = ["CachedPropositionizer", "PropositionCache"]

_LOOKUP = 4096  # passages that are looked up together
_POLL = 0.1  # seconds between two looks at what other processes have done
_PATIENCE = 60.0  # seconds without renewal after which a claim counts for nothing, where its process may still live
_SLICE = 16  # passages that are claimed at once at least: less would leave batches and threads half empty
_SHARES = 4  # a claim takes this part of what is left at most, so that others find work, too


class CachedPropositionizer:
    """Asks a propositionizer only what its cache does not hold, and keeps each answer at once.

    An interrupt, an error or a kill costs the batch in flight; the same call made again goes on from there. Processes
    that do so with one cache at the same time divide the passages among them. Equal passages are asked once.

    Args:
        propositionizer: Has a `name`, which tells all that its output depends on besides the passage. The results of
            one with `stream` (or `astream`) are kept one by one as they arrive, those of others batch by batch.
        cache: The cache, or the path of its file.
        batch_size: Most passages that the propositionizer is given at once; fewer towards the end, for others to share.
        show_progress: Show a progress bar over passages, where there is more than one.

    Raises:
        InvalidInputError: No propositionizer, or one without a name, or `batch_size` is below 1.
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
        if batch_size < 1:
            message = f"batch_size must be at least 1, got {batch_size}"
            raise InvalidInputError(message)
        # Looked for without being read: a model's name may take its files to tell.
        if getattr_static(propositionizer, "name", None) is None and not hasattr(propositionizer, "name"):
            message = (
                f"{type(propositionizer).__name__} has no name: give it an attribute `name` that tells what its output "
                "depends on (model and revision, prompt version), or a cache would mix it up with others"
            )
            raise InvalidInputError(message)
        self.propositionizer = propositionizer
        self.cache = cache if isinstance(cache, PropositionCache) else PropositionCache(cache)
        self.batch_size = batch_size
        self.show_progress = show_progress

    def share(self, left: int) -> int:
        """Return how many passages to claim at once when so many are left."""
        widths = [getattr_static(self.propositionizer, each, 0) for each in ("max_concurrency", "batch_size")]
        full, batch = (width if isinstance(width, int) else 0 for width in widths)
        return min(self.batch_size, max(_SLICE, 2 * full, batch, left // _SHARES))

    @property
    def name(self) -> str:
        """The name of the propositionizer, whose results these are."""
        return str(getattr(self.propositionizer, "name", ""))

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order.

        Raises:
            StoreError: The cache cannot be read or written.
            PropositionizerError: What the propositionizer raises, or it did not return one result for each passage.
        """
        return in_order(self.stream(passages))

    async def apropositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Do as `propositionize`, without blocking the event loop."""
        return in_order([result async for result in self.astream(passages)])

    def stream(self, passages: Sequence[Unit]) -> Iterator[Result]:
        """Yield the position of each passage and its propositions: first what the cache holds, then what is new."""
        work = _Work(self, passages)
        with work.bar:
            for chunk in work.chunks:
                yield from work.look_up(chunk)
            while work.left:
                known, batch = work.next_batch()
                yield from known
                with closing(work.do(batch)) as groups:
                    for group in groups:
                        yield from group
                if not known and not batch:
                    time.sleep(_POLL)

    async def astream(self, passages: Sequence[Unit]) -> AsyncGenerator[Result]:
        """Do as `stream`, without blocking the event loop. A propositionizer that cannot await works in a thread."""
        work = await asyncio.to_thread(_Work, self, passages)
        with work.bar:
            for chunk in work.chunks:
                for result in await asyncio.to_thread(work.look_up, chunk):
                    yield result
            while work.left:
                known, batch = await asyncio.to_thread(work.next_batch)
                for result in known:
                    yield result
                async with aclosing(self._ado(work, batch)) as groups:
                    async for group in groups:
                        for result in group:
                            yield result
                if not known and not batch:
                    await asyncio.sleep(_POLL)

    async def _ado(self, work: _Work, batch: Sequence[int]) -> AsyncGenerator[list[Result]]:
        """Do as `_Work.do`, without blocking the event loop."""
        if not batch:
            return
        if not isinstance(self.propositionizer, AsyncPropositionizer):
            stop = threading.Event()
            try:
                yield await asyncio.to_thread(work.do_all, batch, stop)
            finally:
                stop.set()  # if this is cancelled, the thread ends with what it has in hand
            return
        try:
            async with aclosing(aresults(self.propositionizer, work.of(batch))) as groups:
                with work.renewing(batch) as beat:
                    async for group in groups:
                        kept = await asyncio.to_thread(work.keep, batch, group)
                        beat.pause()
                        yield kept
                        beat.go_on()
        finally:
            await asyncio.to_thread(work.end, batch)


class _Work:
    """One call: what is left to do. Its methods read and write the cache, and are never called at the same time."""

    def __init__(self, owner: CachedPropositionizer, passages: Sequence[Unit]) -> None:
        self.left: deque[int] = deque()  # the first position of each passage that has no result yet
        self._owner, self._passages, self._name = owner, passages, owner.name
        self._equal: dict[bytes, list[int]] = defaultdict(list)
        for position, passage in enumerate(passages):
            self._equal[passage_key(self._name, passage)].append(position)
        self._others = {equal[0]: equal[1:] for equal in self._equal.values() if len(equal) > 1}
        first = [equal[0] for equal in self._equal.values()]
        self.chunks = [first[start : start + _LOOKUP] for start in range(0, len(first), _LOOKUP)]
        self._seen: dict[tuple[bytes, float], float] = {}
        hidden = not owner.show_progress or len(passages) < 2
        self.bar: tqdm[Any] = tqdm(total=len(passages), desc="propositions", unit=" passages", disable=hidden)

    def of(self, positions: Iterable[int]) -> list[Unit]:
        """Return passages."""
        return [self._passages[each] for each in positions]

    def look_up(self, positions: Sequence[int]) -> list[Result]:
        """Return what the cache holds of these; the rest is left."""
        found = self._owner.cache.get(self._name, self.of(positions))
        self.left.extend(each for each, texts in zip(positions, found, strict=True) if texts is None)
        return self._answered((each, texts) for each, texts in zip(positions, found, strict=True) if texts is not None)

    def next_batch(self) -> tuple[list[Result], list[int]]:
        """Claim a batch. Return what others have done meanwhile, and the positions claimed: none if others hold all."""
        known: list[Result] = []
        batch: list[int] = []
        size, unseen = self._owner.share(len(self.left)), len(self.left)
        while unseen and len(batch) < size:
            window = [self.left.popleft() for _ in range(min(unseen, size - len(batch)))]
            unseen -= len(window)
            found, own = self._owner.cache.claim(self._name, self.of(window), seen=self._seen, patience=_PATIENCE)
            known += [(window[index], texts) for index, texts in found.items()]
            batch += [window[index] for index in own]
            self.left.extend(window[index] for index in range(len(window)) if index not in found and index not in own)
        return self._answered(known), batch

    def keep(self, batch: Sequence[int], group: Sequence[Result]) -> list[Result]:
        """Commit results, whose positions count in the batch, and return them with those of equal passages."""
        placed = [(batch[index], texts) for index, texts in group]
        self._owner.cache.put(self._name, self.of(each for each, _ in placed), [texts for _, texts in placed])
        return self._answered(placed)

    def do(self, batch: Sequence[int]) -> Generator[list[Result]]:
        """Ask for a batch that was claimed; yield results when they are kept."""
        if not batch:
            return
        try:
            with self.renewing(batch) as beat:
                for group in results(self._owner.propositionizer, self.of(batch)):
                    kept = self.keep(batch, group)
                    beat.pause()
                    yield kept
                    beat.go_on()
        finally:
            self.end(batch)

    def do_all(self, batch: Sequence[int], stop: threading.Event) -> list[Result]:
        """Do as `do` in one call, until it is told to stop."""
        kept: list[Result] = []
        with closing(self.do(batch)) as groups:
            for group in groups:
                kept += group
                if stop.is_set():
                    break
        return kept

    @contextmanager
    def renewing(self, batch: Sequence[int]) -> Iterator[Heartbeat]:
        """Renew the claims on a batch for the time of a block."""
        units = self.of(batch)
        beat = Heartbeat(lambda: self._owner.cache.renew(self._name, units), every=_PATIENCE / 6)
        try:
            yield beat
        finally:
            beat.stop()

    def end(self, batch: Sequence[int]) -> None:
        """Give up claims on what was not done."""
        with suppress(StoreError):  # told by what read or wrote the cache before; a claim that stays costs little
            self._owner.cache.release(self._name, self.of(batch))

    def _answered(self, known: Iterable[Result]) -> list[Result]:
        everywhere = [
            answer
            for position, texts in known
            for answer in ((position, texts), *((each, _again(texts)) for each in self._others.get(position, ())))
        ]
        self.bar.update(len(everywhere))
        return everywhere


def _again(texts: list[str]) -> list[str]:
    """Return a result for an equal passage."""
    if isinstance(texts, NoPropositions):
        return NoPropositions(texts.reason, transient=texts.transient, cached=True)
    return CachedPropositions(texts)
