"""Work on a stream in several processes: the order is kept, and only a few items are on their way at a time."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from factoid.errors import FactoidError

Item = TypeVar("Item")
Result = TypeVar("Result")

_WAITING = 3  # items of each process that are worked on or wait


def map_in_processes(function: Callable[[Item], Result], items: Iterable[Item], *, workers: int) -> Iterator[Result]:
    """Yield `function(item)` of each item in order. With one worker, the work is done here, and no process is started.

    New processes import the main module, so a script that does this must guard what it runs with
    `if __name__ == "__main__":`.

    Raises:
        FactoidError: A process died.
        Exception: What `function` raised, or what `items` raised; of the latter, after all results of the items before.
    """
    if workers == 1:
        yield from map(function, items)
        return
    # Forked processes could inherit locks that other threads hold.
    executor = ProcessPoolExecutor(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interrupts_to_parent
    )
    waiting: deque[Future[Result]] = deque()
    fault: BaseException | None = None
    try:
        source = iter(items)
        while True:
            try:
                item = next(source)
            except StopIteration:
                break
            except FactoidError as error:
                fault = error
                break
            waiting.append(executor.submit(function, item))
            if len(waiting) >= _WAITING * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool as error:
        message = (
            "a process that cleaned pages died: out of memory, killed, or the script lacks "
            'if __name__ == "__main__": around what it runs. Use workers=1 to work in this process'
        )
        raise FactoidError(message) from error
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
    if fault is not None:
        raise fault


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
