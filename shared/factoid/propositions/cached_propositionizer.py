"""A propositionizer behind a cache.

No passage goes through a model twice, and a killed run can resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from factoid.errors import InvalidInputError
from factoid.propositions.cache import PropositionCache, passage_key
from factoid.propositions.prompting.concurrency import in_background
from factoid.propositions.protocol import (
    CachedPropositions,
    NoPropositions,
    Propositionizer,
    check_propositionizer,
)
from factoid.units import Unit, whole_number


class CachedPropositionizer:
    """Pass to a propositionizer only what its cache does not hold, and store each answer at once.

    An interrupt, an error or a kill loses only the current batch; repeat the call to resume there.
    Equal passages of a call are decomposed once; threads and processes that share a cache may
    decompose the same passage at the same time.

    Args:
        propositionizer: Must have a `name` that identifies everything that its output depends on
            besides the passage. Results of a `stream` (or `astream`) are stored one by one.
        cache: The cache, or the path of its file.
        batch_size: Maximum number of passages in one call of the propositionizer.
        progress: Show a progress bar over passages, if there is more than one.

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
        progress: bool = False,
    ) -> None:
        check_propositionizer(propositionizer)
        # A property is not read yet: the name of a model may come from its files.
        if not hasattr(type(propositionizer), "name") and not hasattr(propositionizer, "name"):
            raise InvalidInputError(
                f"{type(propositionizer).__name__} has no name: give it an attribute `name` that "
                "identifies what its output depends on (model and revision, prompt version), or "
                "a cache would mix it up with others"
            )
        self.propositionizer = propositionizer
        self.cache = cache if isinstance(cache, PropositionCache) else PropositionCache(cache)
        self.batch_size = whole_number("batch_size", batch_size)
        self.progress = progress

    @property
    def name(self) -> str:
        """The name of the wrapped propositionizer."""
        return str(getattr(self.propositionizer, "name", ""))

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order.

        Raises:
            StoreError: The cache cannot be read or written.
            PropositionizerError: The propositionizer raised it, or did not return one result for
                each passage.
        """
        outputs, missing = self._look_up(passages)
        with self._bar(passages, missing) as bar:
            for batch in self._batches(missing):
                with closing(_results(self.propositionizer, batch)) as results:
                    for result in results:
                        outputs |= self._store(*result)
                        bar.update(len(result[0]))
        return self._in_order(passages, outputs)

    async def apropositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Do the same as `propositionize` without blocking the event loop.

        What cannot await runs in a thread.
        """
        outputs, missing = await asyncio.to_thread(self._look_up, passages)
        with self._bar(passages, missing) as bar:
            for batch in self._batches(missing):
                async with aclosing(_aresults(self.propositionizer, batch)) as results:
                    async for result in results:
                        outputs |= await asyncio.to_thread(self._store, *result)
                        bar.update(len(result[0]))
        return self._in_order(passages, outputs)

    def _look_up(self, passages: Sequence[Unit]) -> tuple[dict[bytes, list[str]], list[Unit]]:
        """Return cached propositions by key, and the other passages, each once."""
        distinct = {}
        for passage in passages:
            distinct[passage_key(self.name, passage)] = passage
        known: list[list[str] | None] = []
        if distinct:
            known = self.cache.get(self.name, list(distinct.values()))
        outputs = {}
        for key, texts in zip(distinct, known, strict=True):
            if texts is not None:
                outputs[key] = texts
        return outputs, [passage for key, passage in distinct.items() if key not in outputs]

    def _batches(self, passages: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
        for start in range(0, len(passages), self.batch_size):
            yield passages[start : start + self.batch_size]

    def _store(
        self, passages: Sequence[Unit], outputs: Sequence[list[str]]
    ) -> dict[bytes, list[str]]:
        """Commit the propositions of passages, and return them by key."""
        self.cache.put(self.name, passages, outputs)
        stored = {}
        for passage, texts in zip(passages, outputs, strict=True):
            stored[passage_key(self.name, passage)] = texts
        return stored

    def _in_order(
        self, passages: Sequence[Unit], outputs: dict[bytes, list[str]]
    ) -> list[list[str]]:
        """Return the propositions of each passage; for a repeated passage, as if from the cache."""
        results: list[list[str]] = []
        seen: set[bytes] = set()
        for passage in passages:
            key = passage_key(self.name, passage)
            texts = outputs[key]
            if key in seen:
                texts = _again(texts)
            results.append(texts)
            seen.add(key)
        return results

    def _bar(self, passages: Sequence[Unit], missing: Sequence[Unit]) -> tqdm[Any]:
        hidden = not self.progress or len(passages) < 2
        done = len(passages) - len(missing)
        return tqdm(
            total=len(passages), initial=done, desc="propositions", unit=" passages", disable=hidden
        )


def _again(texts: list[str]) -> list[str]:
    if isinstance(texts, NoPropositions):
        return NoPropositions(texts.reason, transient=texts.transient, cached=True)
    return CachedPropositions(texts)


def _results(
    propositionizer: Propositionizer, passages: Sequence[Unit]
) -> Generator[tuple[Sequence[Unit], list[list[str]]]]:
    """Yield passages with their propositions as they arrive.

    One by one from a stream, else all at once.
    """
    if hasattr(propositionizer, "stream"):
        for position, texts in propositionizer.stream(passages):
            yield [passages[position]], [texts]
    else:
        yield passages, propositionizer.propositionize(passages)


async def _aresults(
    propositionizer: Propositionizer, passages: Sequence[Unit]
) -> AsyncGenerator[tuple[Sequence[Unit], list[list[str]]]]:
    """Do the same as `_results` without blocking the event loop.

    In threads if the propositionizer cannot await.
    """
    if hasattr(propositionizer, "astream"):
        async for position, texts in propositionizer.astream(passages):
            yield [passages[position]], [texts]
    elif hasattr(propositionizer, "apropositionize"):
        yield passages, await propositionizer.apropositionize(passages)
    else:
        async with aclosing(in_background(_results(propositionizer, passages))) as results:
            async for result in results:
                yield result


def with_cache(
    propositionizer: Propositionizer,
    cache: PropositionCache | str | Path | None,
    *,
    store: Path | None = None,
    **options: Any,
) -> Propositionizer:
    """Put a cache in front of a propositionizer.

    `cache`, or that of a store's folder if the propositionizer is `costly`.
    """
    check_propositionizer(propositionizer)
    if cache is None and getattr(propositionizer, "costly", False):
        cache = store
    if cache is None:
        return propositionizer
    return CachedPropositionizer(propositionizer, cache, **options)
