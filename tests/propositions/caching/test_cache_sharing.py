"""A cache that threads, tasks and event loops share: the work is divided, and the loop goes on."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import pytest

from factoid.propositions import CachedPropositionizer, NoPropositions, PropositionCache
from factoid.propositions.caching import cache
from factoid.propositions.caching.file import passage_key
from tests.propositions.passages import AwaitingStream, Batching, Streaming, facts, passages

EXPECTED = [facts(unit) for unit in passages(10)]


@pytest.fixture
def kept(tmp_path):
    with PropositionCache(tmp_path / "cache") as kept:
        yield kept


def test_threads_divide_the_work(kept):
    start = threading.Barrier(8)
    inners = [kind() for kind in (Batching, Streaming) for _ in range(4)]
    units = passages(400)

    def work(inner):
        start.wait()
        return CachedPropositionizer(inner, kept, batch_size=10).propositionize(units)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(work, inners))
    assert found == [[facts(unit) for unit in units]] * 8
    asked = [text for inner in inners for text in inner.asked]
    assert sorted(asked) == sorted(unit.text for unit in units)


def test_what_a_process_that_ended_had_claimed_is_done_last(kept, monkeypatch):
    monkeypatch.setattr(cache, "_PATIENCE", 0.3)
    kept.claim(Batching.name, passages(4), seen={}, patience=1)
    inner = Batching()
    assert CachedPropositionizer(inner, kept, batch_size=2).propositionize(passages(10)) == EXPECTED
    assert sorted(inner.asked) == sorted(unit.text for unit in passages(10))
    assert set(inner.asked[-4:]) == {unit.text for unit in passages(4)}


def test_claims_in_a_cache(kept):
    seen = {}
    assert kept.claim("m", passages(2), seen={}, patience=9) == ({}, [0, 1])
    assert kept.claim("m", passages(3), seen=seen, patience=9) == ({}, [2])
    assert {key for key, _ in seen} == {passage_key("m", unit) for unit in passages(2)}
    kept.put("m", passages(2), [["a"], NoPropositions("timed out", transient=True)])
    assert kept.claim("m", passages(3), seen=seen, patience=9) == ({0: ["a"]}, [1])
    assert kept.claim("m", passages(3), seen=seen, patience=0) == ({0: ["a"]}, [1, 2])
    assert kept.forget() == 1
    assert kept.claim("m", passages(3), seen={}, patience=9) == ({}, [0, 1, 2])


async def test_the_event_loop_goes_on(kept):
    going = threading.Event()

    class Blocking(Batching):
        def propositionize(self, units):
            assert threading.current_thread() is not threading.main_thread()
            assert going.wait(30), "the event loop stands still"
            return super().propositionize(units)

    task = asyncio.create_task(CachedPropositionizer(Blocking(), kept).apropositionize(passages(3)))
    await asyncio.sleep(0)
    going.set()
    assert await task == EXPECTED[:3]


async def test_a_propositionizer_that_awaits_is_awaited_on_the_loop_and_the_cache_in_threads(kept, monkeypatch):
    main = threading.main_thread()
    threads = set()
    for name in ("get", "put", "claim"):
        method = getattr(PropositionCache, name)

        def noted(*args, method=method, **options):
            threads.add(threading.current_thread())
            return method(*args, **options)

        monkeypatch.setattr(PropositionCache, name, noted)

    class Native(AwaitingStream):
        async def astream(self, units):
            assert threading.current_thread() is main
            for position, unit in enumerate(units):
                await asyncio.sleep(0)
                yield position, facts(unit)

    assert await CachedPropositionizer(Native(), kept, batch_size=4).apropositionize(passages(10)) == EXPECTED
    assert threads
    assert main not in threads


@pytest.mark.parametrize("kind", [AwaitingStream, Streaming])
async def test_a_task_that_is_cancelled_has_kept_what_arrived(kept, kind):
    cached = CachedPropositionizer(kind(), kept, batch_size=5)
    async with aclosing(cached.astream(passages(10))) as results:
        position, texts = await anext(results)
        assert texts == EXPECTED[position]
    assert 1 <= kept.count() <= 5


async def test_tasks_divide_the_work(kept):
    inners = [AwaitingStream() for _ in range(3)]
    found = await asyncio.gather(
        *(CachedPropositionizer(inner, kept, batch_size=5).apropositionize(passages(60)) for inner in inners)
    )
    assert found == [[facts(unit) for unit in passages(60)]] * 3
    assert sorted(text for inner in inners for text in inner.asked) == sorted(unit.text for unit in passages(60))
