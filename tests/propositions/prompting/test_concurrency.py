"""Work in threads and in tasks, and a consumer who takes their results slowly."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import aclosing, closing

import pytest

from factoid.propositions.prompting.concurrency import in_tasks, in_threads


async def test_no_slot_idles_while_results_are_handed_out_and_they_do_not_pile_up():
    begun = []

    async def work(item):
        begun.append(item)
        await asyncio.sleep(0)
        return -item

    async with aclosing(in_tasks(work, range(100), width=4)) as results:
        await anext(results)
        await asyncio.sleep(0.01)
        assert len(begun) == 8
    with closing(in_threads(begun.append, range(100), width=4, stop=threading.Event())) as results:
        next(results)
        time.sleep(0.05)
        assert len(begun) == 16


@pytest.mark.parametrize("position", [0, 3])
async def test_results_come_before_an_error_that_ends_the_work(position):
    begun = []

    async def work(item):
        begun.append(item)
        await asyncio.sleep(0)
        if item == position:
            raise KeyError
        return item

    results = []

    async def consume():
        async for result in in_tasks(work, range(100), width=4):
            await asyncio.sleep(0)
            results.append(result)

    with pytest.raises(KeyError):
        await consume()
    assert sorted(item for _, item in results) == [item for item in range(4) if item != position]
    assert len(begun) == 4
