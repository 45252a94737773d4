"""Threads and processes that read while one process writes: every answer is that of one generation, and of a fresh one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from factoid.errors import StoreError
from tests.faults.content import opened, vector_of
from tests.faults.crowd import PATIENCE, READING, Counter, check_answer, content, read
from tests.faults.worker import ENVIRONMENT, ROOT

pytest.importorskip("faiss")

SECONDS = float(os.environ.get("FACTOID_FAULT_SECONDS", "10"))
THREADS, PROCESSES = 8, 4


def start(role, folder, number=0, seconds=SECONDS):
    command = [sys.executable, "-m", "tests.faults.crowd", role, str(folder), str(seconds), str(number)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=ENVIRONMENT, cwd=ROOT, **pipes)


def until_committed(folder, generation=1):
    for _ in range(3000):
        if Counter(folder / "committed").get() >= generation:
            return
        time.sleep(0.01)
    pytest.fail("the writer does not write")


def finished(process):
    output, errors = process.communicate(timeout=SECONDS + PATIENCE)
    assert process.returncode == 0, errors[-3000:]
    return [int(number) for number in output.split()]


@pytest.mark.slow
def test_threads_and_processes_read_while_one_process_writes(tmp_path):
    (tmp_path / READING).touch()
    writer = start("write", tmp_path)
    until_committed(tmp_path)
    readers = [start("read", tmp_path, number) for number in range(PROCESSES)]
    failures, seen = [], []
    with opened(tmp_path / "store") as store:
        threads = [
            threading.Thread(target=lambda at=at: seen.append(read(store, tmp_path, SECONDS, at * 7919, failures)))
            for at in range(THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + PATIENCE)
            assert not thread.is_alive(), "a thread hangs"
        seen += [finished(process) for process in readers]
        (tmp_path / READING).unlink()
        if failures:
            raise failures[0]
        (last,) = finished(writer)
        assert check_answer(store, tmp_path, 1) == last  # what was committed is seen by the next search
    assert last > 10
    for generations, searches in seen:
        assert searches > 1
        assert generations > 1, "a reader saw one generation only"
    with opened(tmp_path / "store") as store:
        assert check_answer(store, tmp_path, 2) == last


def search_until_closed(store, closed, failures):
    try:
        while not closed.wait(0.0005):
            store.search_by_vector(vector_of("query"), 5)
            store.get(store.ids())
        store.search_by_vector(vector_of("query"), 5)
    except BaseException as error:  # noqa: BLE001 - looked at by the test
        failures.append(error)


def test_closed_while_others_search(tmp_path, few):
    state = content(1)
    units, vectors = zip(*state.units.values(), strict=True)
    for trial in few(range(15)):
        store = opened(tmp_path / "store")
        store.add(list(units), vectors=list(vectors))
        failures, closed = [], threading.Event()

        threads = [threading.Thread(target=search_until_closed, args=(store, closed, failures)) for _ in range(6)]
        for thread in threads:
            thread.start()
        time.sleep(0.01 * (trial % 4))
        closers = [threading.Thread(target=store.close) for _ in range(2)]
        for thread in closers:
            thread.start()
        for thread in closers:
            thread.join(30)
        closed.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive(), "a thread hangs"
        assert len(failures) == 6
        for error in failures:
            assert type(error) is StoreError, repr(error)
            assert "the store is closed" in str(error)
