"""Work on several items at a time, in threads or in an event loop; results come as they are done."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import asynccontextmanager
from contextvars import copy_context
from typing import TypeVar

from factoid.errors import FactoidError

T = TypeVar("T")
R = TypeVar("R")


def in_threads(
    work: Callable[[T], R], items: Sequence[T], *, width: int, stop: threading.Event
) -> Generator[tuple[int, R]]:
    """Yield (position, result) for every item, in any order.

    What ends this early, an error, an interrupt or a consumer who leaves, sets `stop` and begins no further items. Those
    under way end in the background, but before an error of ours is raised: what they use may be closed next.

    Args:
        work: Called in threads, each time in a copy of the caller's context.
        items: What to work on.
        width: Most items at a time.
        stop: Is set when the rest is no longer wanted.
    """
    executor = ThreadPoolExecutor(width, thread_name_prefix="propositions")
    try:
        futures = {executor.submit(copy_context().run, work, item): at for at, item in enumerate(items)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except FactoidError:
        stop.set()
        executor.shutdown(cancel_futures=True)
        raise
    finally:
        stop.set()
        executor.shutdown(wait=False, cancel_futures=True)


async def in_tasks(
    work: Callable[[T], Awaitable[R]], items: Sequence[T], *, width: int
) -> AsyncGenerator[tuple[int, R]]:
    """Do as `in_threads` in the event loop. What ends this early cancels what is under way."""
    pending = iter(enumerate(items))
    arrived: asyncio.Queue[tuple[int, R] | asyncio.Task[None]] = asyncio.Queue()

    async def run() -> None:
        for at, item in pending:
            arrived.put_nowait((at, await work(item)))

    workers = [asyncio.create_task(run()) for _ in range(min(width, len(items)))]
    for worker in workers:
        worker.add_done_callback(arrived.put_nowait)
    try:
        working = len(workers)
        while working:
            done = await arrived.get()
            if isinstance(done, asyncio.Task):
                done.result()  # raises what went wrong
                working -= 1
            else:
                yield done
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


@asynccontextmanager
async def threaded(
    work: Callable[[T], R], *, width: int, stop: threading.Event
) -> AsyncGenerator[Callable[[T], Awaitable[R]]]:
    """Give a function that does `work` in threads, for `in_tasks`; it ends them as `in_threads` does."""
    # Threads of its own: the loop's default executor may have fewer.
    executor = ThreadPoolExecutor(width, thread_name_prefix="propositions")

    def start(item: T) -> Awaitable[R]:
        return asyncio.wrap_future(executor.submit(copy_context().run, work, item))

    try:
        yield start
    except FactoidError:
        stop.set()
        await asyncio.to_thread(executor.shutdown, cancel_futures=True)
        raise
    finally:
        stop.set()
        executor.shutdown(wait=False, cancel_futures=True)
