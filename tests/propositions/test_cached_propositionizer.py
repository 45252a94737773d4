"""A propositionizer behind a cache: asked once, kept at once, divided among threads and tasks."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from factoid.errors import InvalidInputError, StoreError
from factoid.propositions import (
    CachedPropositionizer,
    NoPropositions,
    PropositionCache,
    Report,
    decompose,
)
from tests.propositions.passages import (
    Awaiting,
    AwaitingStream,
    Batching,
    Streaming,
    facts,
    passage,
    passages,
)

KINDS = [Batching, Streaming, Awaiting, AwaitingStream]
EXPECTED = [facts(unit) for unit in passages(10)]


@pytest.fixture
def kept(tmp_path):
    return PropositionCache(tmp_path / "cache")


@pytest.fixture(params=["sync", "async"])
def propositionize(request):
    """`propositionize`, or its async counterpart."""

    def propositionize(cached, units):
        return (
            cached.propositionize(units)
            if request.param == "sync"
            else asyncio.run(cached.apropositionize(units))
        )

    return propositionize


@pytest.mark.parametrize("kind", KINDS)
def test_each_passage_is_asked_once(kept, kind, propositionize):
    inner = kind()
    cached = CachedPropositionizer(inner, kept, batch_size=3)
    assert cached.name == inner.name
    assert not hasattr(cached, "costly")  # so that no store caches it again
    assert propositionize(cached, passages(7)) == EXPECTED[:7]
    assert propositionize(cached, passages(10)) == EXPECTED
    assert propositionize(cached, []) == []
    assert sorted(inner.asked) == sorted(unit.text for unit in passages(10))
    again = CachedPropositionizer(kind(lambda unit: pytest.fail("asked again")), kept)
    assert propositionize(again, passages(10)[::-1]) == EXPECTED[::-1]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_passages_are_asked_once(kept, kind, propositionize):
    inner = kind(lambda unit: NoPropositions("refusal") if "Town 2 " in unit.text else facts(unit))
    units = [passage(number) for number in (1, 2, 1, 1, 2)]
    results = propositionize(CachedPropositionizer(inner, kept, batch_size=1), units)
    assert results == [facts(units[0]), [], *[facts(units[0])] * 2, []]
    assert len(inner.asked) == 2
    assert results[0] is not results[2] is not results[3]
    assert [getattr(texts, "cached", False) for texts in results] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert results[4].reason == "refusal"


def test_reports_tell_what_was_cached_and_what_may_be_mended(kept):
    late = NoPropositions("timed out", transient=True)
    failing = Batching(lambda unit: late if "Town 3 " in unit.text else facts(unit))
    first = decompose(passages(5), CachedPropositionizer(failing, kept))
    assert first.report == Report(5, 10, {"timed out": 1}, transient=1)
    assert [unit.id for unit in first.transient_failures] == ["p3"]
    second = decompose([*passages(5), passage(1)], CachedPropositionizer(Batching(), kept))
    assert second.report == Report(6, 12, cached=5)
    assert second.transient_failures == []


@pytest.mark.parametrize("error", [RuntimeError("no memory"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("batch_size", [4, 100])
def test_what_arrived_before_an_error_is_kept(kept, error, batch_size):
    inner = Streaming(error=error, after=3)
    with pytest.raises(type(error)):
        CachedPropositionizer(inner, kept, batch_size=batch_size).propositionize(passages(10))
    assert kept.count() == 3
    inner = Streaming()
    assert CachedPropositionizer(inner, kept).propositionize(passages(10)) == EXPECTED
    assert len(inner.asked) == 7


def test_of_batches_the_whole_ones_are_kept(kept, propositionize):
    script = {unit.text: facts(unit) for unit in passages(8)}
    failing = Batching(lambda unit: script[unit.text])
    with pytest.raises(KeyError):
        propositionize(CachedPropositionizer(failing, kept, batch_size=3), passages(10))
    assert kept.count() == 6


def test_what_cannot_be_cached_is_refused(kept):
    nameless = SimpleNamespace(propositionize=lambda units: [])
    with pytest.raises(
        InvalidInputError, match="SimpleNamespace has no name: give it an attribute `name`"
    ):
        CachedPropositionizer(nameless, kept)
    with pytest.raises(InvalidInputError, match="batch_size must be at least 1, got 0"):
        CachedPropositionizer(Batching(), kept, batch_size=0)
    inner = Batching()
    inner.name = ""
    with pytest.raises(InvalidInputError, match="expected the name of a propositionizer"):
        CachedPropositionizer(inner, kept).propositionize(passages(1))


def test_a_read_only_cache_answers_what_it_holds(kept, monkeypatch, propositionize):
    kept.put(Batching.name, passages(5), EXPECTED[:5])
    monkeypatch.setattr("os.access", lambda *_: False)
    cached = CachedPropositionizer(Batching(), kept)
    assert propositionize(cached, passages(5)) == EXPECTED[:5]
    with pytest.raises(StoreError, match="readonly"):
        propositionize(cached, passages(6))


def test_a_bar_shows_progress_where_it_is_wanted(kept, capsys):
    CachedPropositionizer(Batching(), kept).propositionize(passages(4))
    assert capsys.readouterr().err == ""
    CachedPropositionizer(Batching(), kept, progress=True).propositionize(passages(10))
    assert "10/10" in capsys.readouterr().err


async def test_what_cannot_await_works_in_a_thread(kept):
    going = threading.Event()

    class Blocking(Batching):
        def propositionize(self, units):
            assert going.wait(30), "the event loop stands still"
            return super().propositionize(units)

    task = asyncio.create_task(CachedPropositionizer(Blocking(), kept).apropositionize(passages(3)))
    await asyncio.sleep(0)
    going.set()
    assert await task == EXPECTED[:3]


async def test_a_task_that_is_cancelled_has_kept_what_arrived(kept):
    class Endless(AwaitingStream):
        async def astream(self, units):
            yield 0, facts(units[0])
            yield 1, facts(units[1])
            await asyncio.sleep(60)

    task = asyncio.create_task(CachedPropositionizer(Endless(), kept).apropositionize(passages(10)))
    while kept.count() < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kept.get(Endless.name, passages(3)) == [*EXPECTED[:2], None]
