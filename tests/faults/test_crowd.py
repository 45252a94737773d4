"""Threads and processes that read while one process writes: every answer is that of one generation, and of a fresh one.

Generation g is one transaction that replaces every unit by one that is tagged with g; an answer that mixes two
generations shows it. The writer counts g as begun before the write, and as committed after it.
"""

from __future__ import annotations

import os
import threading
import time

import pytest

from factoid import Granularity, Unit
from factoid.errors import StoreError
from tests.faults.content import opened, vector_of
from tests.faults.model import State, check_hits, require, searched
from tests.faults.worker import PATIENCE, apart, processes

pytest.importorskip("faiss")

SECONDS = float(os.environ.get("FACTOID_FAULT_SECONDS", "10"))
THREADS, PROCESSES = 8, 4
PASSAGES = 12


def content(generation):
    """Return the state of a generation: its units, more or fewer, all tagged with it."""
    units = []
    for number in range(PASSAGES):
        metadata = {"group": number % 3, "generation": generation}
        for end in ("", ".p0", ".p1")[: 2 + generation % 2]:  # a passage that is replaced takes its units with it
            own = f"d.{number}{end}"
            kind = Granularity.PROPOSITION if end else Granularity.PASSAGE
            text = f"{own} of generation {generation}."
            parent = f"d.{number}" if end else "d"
            units.append(Unit(own, text, kind, "d", parent, 0, len(text), "", "", metadata))
    return State().with_units(units, [vector_of(each.text) for each in units])


def write(folder, clock):
    """Commit one generation after the other while readers are at work."""
    store = opened(folder / "store")
    while clock.reading:
        clock.begun = generation = clock.begun + 1
        units, vectors = zip(*content(generation).units.values(), strict=True)
        store.add(list(units), vectors=list(vectors))
        clock.committed = generation
        if generation % 40 == 0:
            store.close()
            store = opened(folder / "store")
        time.sleep(0.002)
    store.close()


def check_answer(store, clock, number):
    """Search once; raise unless the answer is that of one generation between the start and the end of the search."""
    first = clock.committed
    query = vector_of(f"query {number}")
    options = {
        "k": 1 + number % 20,
        "kind": ("proposition", "passage")[number % 2],
        "group": (None, 0, 1)[number // 3 % 3],
    }
    options["parents"] = "passage" if number % 3 else "unit"
    hits = searched(store, query, **options)
    last = clock.begun
    shown = {each.unit.metadata["generation"] for hit in hits for each in (hit, *hit.matches)}
    require(len(shown) == 1, "an answer of several generations:", shown)
    (generation,) = shown
    require(first <= generation <= last, f"an answer of generation {generation}, not of {first} to {last}")
    check_hits(hits, content(generation), query, **options)
    return generation


def read(folder, clock, start, threads=1):
    """Search for some seconds in some threads; return how many generations each saw. A wrong answer raises."""
    end, failures, seen = time.monotonic() + SECONDS, [], []

    def search(number):
        generations = set()
        try:
            while time.monotonic() < end and not failures:
                generations.add(check_answer(store, clock, number))
                number += 1
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)
        seen.append(len(generations))

    with opened(folder / "store") as store:
        crowd = [threading.Thread(target=search, args=[start + 7919 * at]) for at in range(threads)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join(SECONDS + PATIENCE)
            assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]
    return seen


@pytest.mark.slow
def test_threads_and_processes_read_while_one_process_writes(tmp_path):
    with processes.Manager() as manager:
        clock = manager.Namespace(begun=0, committed=0, reading=True)
        writer = apart(write, tmp_path, clock)
        while not clock.committed:
            time.sleep(0.01)
            assert not writer.ready(), writer.get()
        readers = [apart(read, tmp_path, clock, 1000 * number) for number in range(PROCESSES)]
        seen = read(tmp_path, clock, 7, THREADS)
        seen += [generations for reader in readers for generations in reader.get(SECONDS + PATIENCE)]
        clock.reading = False
        writer.get(PATIENCE)
        assert clock.committed > 10
        assert min(seen) > 1, "a reader saw one generation only"
        with opened(tmp_path / "store") as store:
            assert check_answer(store, clock, 2) == clock.committed


def search_until_closed(store, closed, failures):
    try:
        while not closed.wait(0.0005):
            store.search_by_vector(vector_of("query"), 5)
            store.get(store.ids())
        store.search_by_vector(vector_of("query"), 5)
    except BaseException as error:  # noqa: BLE001 - looked at by the test
        failures.append(error)


def test_closed_while_others_search(tmp_path, few):
    units, vectors = zip(*content(1).units.values(), strict=True)
    for trial in few(range(15)):
        store = opened(tmp_path / "store")
        store.add(list(units), vectors=list(vectors))
        failures, closed = [], threading.Event()
        searchers = [threading.Thread(target=search_until_closed, args=(store, closed, failures)) for _ in range(6)]
        closers = [threading.Thread(target=store.close) for _ in range(2)]
        for thread in searchers:
            thread.start()
        time.sleep(0.01 * (trial % 4))
        for thread in closers:
            thread.start()
        for thread in closers:
            thread.join(30)
        closed.set()
        for thread in searchers:
            thread.join(30)
            assert not thread.is_alive(), "a thread hangs"
        assert [type(error) for error in failures] == [StoreError] * 6
        assert all("the store is closed" in str(error) for error in failures)
