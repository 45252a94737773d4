"""A cache before a propositionizer for the time of a block, where there is one to use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from factoid.propositions.caching.cache import CachedPropositionizer, PropositionCache
from factoid.propositions.protocol import Propositionizer


@contextmanager
def caching(
    propositionizer: Propositionizer,
    cache: PropositionCache | str | Path | None,
    *,
    store: Path | None = None,
    **options: Any,
) -> Iterator[Propositionizer]:
    """Put a cache before a propositionizer for the time of a block.

    Args:
        propositionizer: Is used as it is where there is no cache to use.
        cache: Used for any propositionizer; a path is opened, and closed after the block.
        store: A store's folder, whose own cache is used instead if there is none and the propositionizer is `costly`.
        options: Those of `CachedPropositionizer`.
    """
    if cache is None and getattr(propositionizer, "costly", False):
        cache = store
    if cache is None:
        yield propositionizer
        return
    opened = CachedPropositionizer(propositionizer, cache, **options)
    try:
        yield opened
    finally:
        if opened.cache is not cache:
            opened.cache.close()


@asynccontextmanager
async def acaching(
    propositionizer: Propositionizer, cache: PropositionCache | str | Path | None, **options: Any
) -> AsyncGenerator[Propositionizer]:
    """Do as `caching`, without blocking the event loop."""
    block = caching(propositionizer, cache, **options)
    try:
        yield block.__enter__()  # opens no file yet
    finally:
        await asyncio.to_thread(block.__exit__, None, None, None)
