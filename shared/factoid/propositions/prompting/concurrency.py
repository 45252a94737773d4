"""Work on several items at a time, in threads or in an event loop. Results come as they are ready.

After an early end no further items begin.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from itertools import islice
from typing import Any, TypeVar

from factoid.errors import FactoidError

T = TypeVar("T")
R = TypeVar("R")


def _has_failed(future: Future[Any] | asyncio.Future[Any]) -> bool:
    """Return whether a future failed; these come last, so that no result is lost to the error of another one."""
    return future.cancelled() or future.exception() is not None


def in_threads(
    work: Callable[[T], R], items: Iterable[T], *, width: int, stop: threading.Event
) -> Generator[tuple[int, R]]:
    """Yield (position, result) for every item, in any order.

    At most `width` items are worked on at a time, each in a copy of the caller's context, and at most twice as many are
    ahead of the consumer. An early end sets `stop`, and running threads finish in the background; but before one of our own
    errors is raised they are awaited, since the caller may close their client.
    """
    executor = ThreadPoolExecutor(width, thread_name_prefix="propositions")
    waiting = enumerate(items)
    futures: dict[Future[R], int] = {}
    awaited = False
    try:
        while True:
            for position, item in islice(waiting, 2 * width - len(futures)):
                futures[executor.submit(copy_context().run, work, item)] = position
            if not futures:
                return
            for future in sorted(wait(futures, return_when=FIRST_COMPLETED).done, key=_has_failed):
                yield futures.pop(future), future.result()
    except FactoidError:
        awaited = True
        raise
    finally:
        stop.set()
        executor.shutdown(wait=awaited, cancel_futures=True)


async def in_tasks(
    work: Callable[[T], Awaitable[R]], items: Iterable[T], *, width: int
) -> AsyncGenerator[tuple[int, R]]:
    """Do the same as `in_threads` in the event loop. An early end cancels running items."""
    waiting = enumerate(items)
    tasks: dict[asyncio.Future[R], int] = {}
    try:
        while True:
            for position, item in islice(waiting, width - len(tasks)):
                tasks[asyncio.ensure_future(work(item))] = position
            if not tasks:
                return
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=_has_failed):
                yield tasks.pop(task), task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def in_background(results: Generator[R], stop: threading.Event) -> AsyncGenerator[R]:
    """Yield from a blocking generator, running it in a thread; an early end sets `stop`."""
    try:
        while (result := await asyncio.to_thread(next, results, None)) is not None:
            yield result
    finally:
        stop.set()
        with suppress(ValueError):  # if it is still running: then it ends on its own
            results.close()
