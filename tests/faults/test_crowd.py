"""Threads that read while another process writes: every answer is that of one generation; and
stores closed meanwhile.

Generation g is one transaction that replaces every unit by one that is tagged with g; an answer
that mixes two generations shows it.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from factoid import Granularity, Unit
from factoid.errors import StoreError
from tests.faults.content import opened, vector_of
from tests.faults.model import State, check_hits, require, searched
from tests.faults.worker import PATIENCE, apart

pytest.importorskip("faiss")

GENERATIONS = 200
PASSAGES = 12


def content(generation):
    """Return the state of a generation: its units, more or fewer, all tagged with it."""
    units = []
    for number in range(PASSAGES):
        metadata = {"group": number % 3, "generation": generation}
        for end in ("", ".p0", ".p1")[
            : 2 + generation % 2
        ]:  # a passage that is replaced takes its units with it
            own = f"d.{number}{end}"
            kind = Granularity.PROPOSITION if end else Granularity.PASSAGE
            text = f"{own} of generation {generation}."
            parent = f"d.{number}" if end else "d"
            units.append(Unit(own, text, kind, "d", parent, 0, len(text), "", "", metadata))
    return State().with_units(units, [vector_of(each.text) for each in units])


def write(store, generation):
    units, vectors = zip(*content(generation).units.values(), strict=True)
    store.add(list(units), vectors=list(vectors))


def write_all(path):
    """Commit one generation after the other while readers are at work."""
    for first in range(1, GENERATIONS, 40):
        with opened(path) as store:
            for generation in range(first, first + 40):
                write(store, generation)
                time.sleep(0.002)


def check_answer(store, number, least):
    """Search once; raise unless the answer is that of one generation, no older than an earlier
    answer's, which is returned.
    """
    query = vector_of(f"query {number}")
    options = {
        "k": 1 + number % 20,
        "kind": ("proposition", "passage")[number % 2],
        "group": (None, 0, 1)[number // 3 % 3],
        "parents": "passage" if number % 3 else "unit",
    }
    hits = searched(store, query, **options)
    shown = {each.unit.metadata["generation"] for hit in hits for each in (hit, *hit.matches)}
    require(len(shown) == 1, "an answer of several generations:", shown)
    (generation,) = shown
    require(generation >= least, f"an answer of generation {generation} after one of {least}")
    check_hits(hits, content(generation), query, **options)
    return generation


@pytest.mark.slow
def test_threads_read_while_another_process_writes(tmp_path):
    with opened(tmp_path / "store") as store:
        write(store, 0)

        def search(number):
            latest, seen = 0, set()
            while latest < GENERATIONS:
                assert not writer.ready() or writer.successful()
                latest = check_answer(store, number, latest)
                seen.add(latest)
                number += 1
            return len(seen)

        writer = apart(write_all, tmp_path / "store")
        with ThreadPoolExecutor(8) as threads:
            assert min(threads.map(search, range(0, 8000, 1000), timeout=PATIENCE)) > 5


def search_until_closed(store, closed, failures):
    try:
        while not closed.wait(0.0005):
            store.search_by_vector(vector_of("query"), 5)
            store.get(store.ids())
        store.search_by_vector(vector_of("query"), 5)
    except BaseException as error:  # noqa: BLE001 - looked at by the test
        failures.append(error)


def test_closed_while_others_search(tmp_path, few):
    for trial in few(range(15)):
        store = opened(tmp_path / "store")
        write(store, 1)
        failures, closed = [], threading.Event()
        searchers = [
            threading.Thread(target=search_until_closed, args=(store, closed, failures))
            for _ in range(6)
        ]
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
