"""A store that was open before a fork works in the child, or says what to do; the parent never notices."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from factoid import Document, UnitStore, forks
from factoid.errors import StoreError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder
from tests.store.forking import in_child
from tests.towns import add, hits, make, opened

pytest.importorskip("faiss")
_OF_PARENT = 2000  # its first document, above those of the children
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

QUERY = "Which town lies on hill 3?"


def answers(store, **options):
    """Return all that a search says, without rounding."""
    return [[hit.unit.id, hit.score, dict(hit.parts)] for hit in hits(store, QUERY, **options)]


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "store")


@pytest.mark.parametrize("index", ["Flat", "HNSW16", "SQ8"])
@pytest.mark.parametrize("times", [6, pytest.param(48, marks=pytest.mark.slow)])
def test_children_search_add_and_close_while_the_parent_does(path, index, times):
    done = threading.Event()
    batch = [QUERY, "hill 5"] * 20
    with opened(path, index=index) as store, ThreadPoolExecutor(3) as threads:
        store.search_batch(batch)  # FAISS has threads from now on

        def searching():
            while not done.is_set():
                hits(store)
                hits(store, lexical=1)

        def adding():
            number = _OF_PARENT
            while not done.is_set():
                add(store, number)
                number += 1
                # In bursts: in between, a child on a busy machine can compare two stores of one state.
                time.sleep(0.5 if number % 10 == 0 else 0.01)

        jobs = [threads.submit(searching), threads.submit(searching), threads.submit(adding)]
        try:
            for number in range(times):

                def work(number=number):
                    store.search_batch(batch)
                    assert add(store, 1000 + number).documents == 1
                    added = hits(store, document_ids=[f"doc{1000 + number}"])[0]
                    with UnitStore(
                        path, encoder=HashEncoder(), index=index, granularities=GRANULARITIES
                    ) as fresh:
                        while True:  # the parent goes on adding
                            before = fresh.opened.connections
                            with before.reading() as snapshot:
                                generation = snapshot.generation
                            one, other = answers(store), answers(fresh)
                            with before.reading() as snapshot:
                                if snapshot.generation == generation:
                                    break
                    store.close()
                    return [added.unit.document_id, one == other or [one, other]]

                assert in_child(work) == [f"doc{1000 + number}", True]
        finally:
            done.set()
        for job in jobs:
            job.result()
    with opened(path) as store:
        assert store.verify() == []
        added = [f"doc{1000 + number}" for number in range(times)]
        assert [document.id for document in store.documents(added)] == added


def test_children_of_children_and_many_timesof_one_parent(path):
    with opened(path) as store:
        before = answers(store)
        for _ in range(5):
            assert in_child(lambda: in_child(lambda: answers(store)) == answers(store)) is True
        assert answers(store) == before
        add(store, 50)
        assert in_child(lambda: hits(store, "Town 50 hill 50")[0].unit.document_id) == "doc50"


def test_scores_by_words_do_not_drift_from_worker_to_worker(path):
    with opened(path) as store:
        hits(store)
        for number in range(4):
            add(store, 60 + number)

            def scores():
                return answers(store, lexical=1)

            with opened(path) as fresh:
                expected = answers(fresh, lexical=1)
            assert [in_child(scores) for _ in range(3)] == [expected] * 3


@pytest.mark.parametrize("kind", ["memory", "read-only"])
def test_stores_in_memory_and_read_only_ones(path, kind):
    options = {"path": None} if kind == "memory" else {"path": path, "read_only": True}
    with UnitStore(encoder=HashEncoder(), **options) as store:
        if kind == "memory":
            add(store, *range(8))
        before = answers(store)
        assert in_child(lambda: [answers(store), store.close()]) == [before, None]
        assert answers(store) == before


def test_a_closed_store_stays_closed(path):
    store = opened(path)
    store.close()
    assert (
        in_child(lambda: hits(store))
        == "StoreError: the store is closed: open it again by its folder"
    )


@pytest.mark.parametrize("told", [True, False])
def test_a_child_says_what_to_do_if_other_threads_were_at_work_or_python_was_not_told(
    path, monkeypatch, told
):
    release = threading.Event()
    begun = threading.Event()

    def slow(_):
        begun.set()
        release.wait(30)
        return True

    with opened(path) as store, ThreadPoolExecutor(1) as threads:
        before = answers(store)
        if told:
            monkeypatch.setattr(forks, "_PATIENCE", 0.2)
            job = threads.submit(hits, store, QUERY, filter=slow)
            begun.wait(30)
        else:
            monkeypatch.setattr(
                forks._Threads, "take_all", lambda _: None
            )  # as when a server forks in C
        for work in (lambda: hits(store), lambda: add(store, 9), store.close):
            result = in_child(work)
            if work == store.close:
                assert result is None
            else:
                assert "open it in this process, after the fork" in result
                assert str(path) in result
        release.set()
        if told:
            job.result()
        assert answers(store) == before
        assert add(store, 70).documents == 1


def test_a_fork_waits_for_no_store_that_is_idle(path):
    with opened(path) as store:
        hits(store)
        began = time.monotonic()
        assert in_child(lambda: 1) == 1
        assert time.monotonic() - began < 5
        path.rename(path.with_name("elsewhere"))
        in_child(lambda: 1)
        with pytest.raises(StoreError, match="moved, deleted or replaced"):
            store.add_documents([Document("x")])
    assert not path.exists()  # no new store was made where this one was
