"""A store shared by processes, handles and threads, or left by a process that was killed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from factoid.errors import StoreError
from factoid.files import disk_errors, sqlite
from tests.towns import add, document, hits, make, opened

pytest.importorskip("faiss")


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "store")


@pytest.fixture
def expected(path):
    with opened(path) as store:
        return hits(store)


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from factoid.store import ingest
from tests.towns import add, opened
ingest._BATCH = 4
with opened(sys.argv[1]) as store:
    for number in range(0, 10_000, 3):
        add(store, number, number + 1, number + 2)
        print(number + 2, flush=True)
"""


@pytest.mark.parametrize("moment", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_process_killed_at_any_moment_leaves_whole_documents(tmp_path, moment):
    path = tmp_path / "store"
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parents[2])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(moment)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.read().split()
    committed = int(lines[-1]) + 1
    with opened(path) as store:
        stored = [number for number in range(10_000) if store.documents([f"doc{number}"])]
        assert committed <= len(stored) <= committed + 3
        assert stored == list(range(len(stored)))
        assert sorted(store.counts().values()) == [
            len(stored) * 2,
            len(stored) * 2,
            len(stored) * 3,
        ]
        for number in (0, stored[-1]):
            assert (
                hits(store, f"Which town lies on hill {number}?")[0].unit.document_id
                == f"doc{number}"
            )
        assert add(store, *range(len(stored) + 2)).unchanged == len(stored)


def test_a_reader_sees_what_a_writer_commits(path):
    with opened(path) as reader, opened(path) as writer:
        assert documents(reader)[0] == "doc3"
        add(writer, 33)
        assert documents(reader, "Town 33 hill 33")[0] == "doc33"
        writer.delete(["doc3"])
        assert "doc3" not in documents(reader)
        reader.delete(["doc33"])  # either may write
        assert "doc33" not in documents(writer, "Town 33 hill 33")
        assert documents(writer) == documents(reader)


def documents(store, *query):
    return [hit.unit.document_id for hit in hits(store, *query)]


def test_a_search_reads_one_generation_while_another_handle_deletes(path, expected):
    with opened(path) as reader, opened(path) as writer:

        def deleting(_):
            writer.delete([f"doc{number}" for number in range(8)])
            return True

        assert hits(reader, filter=deleting) == expected
        assert hits(reader) == []


def test_a_writer_that_waits_too_long_says_why(path, monkeypatch):
    for module in (sqlite, disk_errors):
        monkeypatch.setattr(module, "WAIT", 0.05)
    with opened(path) as other:
        with closing(sqlite3.connect(path / "units.sqlite", isolation_level=None)) as blocker:
            blocker.execute("BEGIN IMMEDIATE")
            with opened(path) as store:  # opening and reading do not wait
                assert hits(store) == hits(other)
                with pytest.raises(
                    StoreError, match=r"Another process has been writing for 0\.05 seconds"
                ):
                    add(store, 50)
        assert add(other, 50).documents == 1


@pytest.mark.parametrize("folder", [None, "store"])
def test_eight_threads_search_while_one_adds(tmp_path, folder):
    done = threading.Event()
    with opened(folder and tmp_path / folder) as store:
        add(store, 3)

        def search(_):
            while not done.is_set():
                found = hits(store)
                assert found[0].unit.document_id == "doc3"
                assert len({hit.unit.id for hit in found}) == len(found)
                assert all(
                    match.unit.parent_id == hit.unit.id for hit in found for match in hit.matches
                )
                assert hits(store, lexical=1)[0].unit.document_id == "doc3"

        with ThreadPoolExecutor(8) as threads:
            searches = threads.map(search, range(8))
            try:
                for number in range(100, 130):
                    add(store, number)
                    if number % 3 == 0:
                        store.delete([f"doc{number - 1}"])
            finally:
                done.set()
            list(searches)  # raises what they raised
        assert len(store.search("Town", k=100)) == 2 * 21


def test_many_may_open_a_new_store_at_once(tmp_path):
    start = threading.Barrier(8)

    def work(number):
        start.wait()
        with opened(tmp_path / "store") as store:
            add(store, number)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    with opened(tmp_path / "store") as store:
        assert store.documents([f"doc{number}" for number in range(8)]) == [
            document(number) for number in range(8)
        ]
