"""Work on several items at a time.

The work is done in threads or in an event loop, and results come as they are ready. After an early
end no further items begin.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

from factoid.errors import FactoidError

T = TypeVar("T")
R = TypeVar("R")


def in_threads(
    work: Callable[[T], R], items: Sequence[T], *, width: int, stop: threading.Event
) -> Generator[tuple[int, R]]:
    """Yield (position, result) for every item, each worked on in a copy of the caller's context.

    An early end sets `stop`, and running threads finish in the background; but before one of our
    own errors is raised they are awaited, since the caller may close their client.
    """
    executor = ThreadPoolExecutor(width, thread_name_prefix="propositions")
    futures = {}
    for position, item in enumerate(items):
        futures[executor.submit(copy_context().run, work, item)] = position
    awaited = False
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    except FactoidError:
        awaited = True
        raise
    finally:
        stop.set()
        executor.shutdown(wait=awaited, cancel_futures=True)


async def in_tasks(
    work: Callable[[T], Awaitable[R]], items: Sequence[T], *, width: int
) -> AsyncGenerator[tuple[int, R]]:
    """Do the same as `in_threads` in the event loop. An early end cancels running items."""
    slots = asyncio.Semaphore(width)

    async def run(position: int, item: T) -> tuple[int, R]:
        async with slots:
            return position, await work(item)

    tasks = [asyncio.ensure_future(run(position, item)) for position, item in enumerate(items)]
    try:
        for task in asyncio.as_completed(tasks):
            yield await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_background(
    results: Generator[R], stop: threading.Event | None = None
) -> AsyncGenerator[R]:
    """Yield from a blocking generator, running it in a thread; an early end sets `stop`."""
    try:
        while (result := await asyncio.to_thread(next, results, None)) is not None:
            yield result
    finally:
        if stop is not None:
            stop.set()
        with suppress(ValueError):  # if it is still running: then it ends on its own
            results.close()
