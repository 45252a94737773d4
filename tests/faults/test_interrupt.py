"""Ctrl-C in the middle of a call: KeyboardInterrupt, and the store goes on in the same process with nothing lost."""

from __future__ import annotations

import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from tests.faults.content import DIM, add_documents, document, opened
from tests.faults.damage import make
from tests.faults.model import State, WrongAnswerError, check, check_search
from tests.faults.operations import steps
from tests.faults.verify import check_again, settle

pytest.importorskip("faiss")

# A file that was opened when Ctrl-C came is closed by Python, which warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

INTERRUPTS = 25  # of each kind


class Interrupts:
    """Sends SIGINT once, in the middle of a call and nowhere else."""

    def __init__(self):
        self.armed = False

    def handler(self, *_):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def during(self, call, seconds):
        """Call again and again until an interrupt comes; return whether it came out as KeyboardInterrupt."""
        ended = threading.Event()

        def send():
            time.sleep(seconds)
            while not ended.wait(0.002):
                os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=send)
        thread.start()
        end = time.monotonic() + 20
        came_out = False
        try:
            self.armed = True
            while self.armed and time.monotonic() < end:
                call()
        except KeyboardInterrupt:
            came_out = True
        finally:
            self.armed = False
            ended.set()
            thread.join()
        return came_out


@pytest.fixture
def interrupts():
    interrupts = Interrupts()
    before = signal.signal(signal.SIGINT, interrupts.handler)
    yield interrupts
    signal.signal(signal.SIGINT, before)


def test_during_add_documents(tmp_path, interrupts, few):
    chance = random.Random(41)
    state = make(tmp_path / "store", count=5)
    with opened(tmp_path / "store") as store:
        for trial in few(range(INTERRUPTS)):
            last = [state]

            def call(last=last):
                record = {"op": "documents", "numbers": [1, 2, 3, 4, 5], "version": chance.randrange(12)}
                last[:] = steps(last[-1], record)
                add_documents(store, [document(number, record["version"]) for number in record["numbers"]])

            assert interrupts.during(call, 0.005 + 0.05 * chance.random())
            state = last[settle(store, last)]
            check(store, state, trial)
    check_again(tmp_path / "store", state)


def test_during_search(tmp_path, interrupts, few):
    chance = random.Random(42)
    state = make(tmp_path / "store", count=40)
    for trial in few(range(INTERRUPTS)):
        with opened(tmp_path / "store") as store:
            numbers = np.random.default_rng(trial)

            def call(store=store, numbers=numbers):
                query = numbers.integers(-40, 41, DIM).astype(np.float32)
                check_search(store, state, query, k=9, kind=chance.choice(["passage", "proposition"]), group=1)

            assert interrupts.during(call, 0.001 + 0.03 * chance.random())
            check(store, state, trial)
    check_again(tmp_path / "store", state)


def test_during_copy_to(tmp_path, interrupts, few):
    chance = random.Random(43)
    state = make(tmp_path / "store", count=40)
    with opened(tmp_path / "store") as store:
        for trial in few(range(INTERRUPTS)):
            assert interrupts.during(lambda: store.copy_to(tmp_path / "copy"), 0.001 + 0.03 * chance.random())
            check(store, state, trial)
            if (tmp_path / "copy").exists():
                with opened(tmp_path / "copy") as copy:
                    settle(copy, [state, State()])
    check_again(tmp_path / "store", state)


def test_during_close(tmp_path, interrupts, few):
    chance = random.Random(44)
    state = make(tmp_path / "store", count=40)
    path = tmp_path / "store"
    for trial in few(range(INTERRUPTS)):

        def call():
            store = opened(path)
            try:
                store.search_by_vector(np.ones(DIM, np.float32))
                store.retry_failures()  # a write, after which caches are to be written
            finally:
                store.close()

        assert interrupts.during(call, 0.001 + 0.03 * chance.random())
        try:
            check_again(path, state, trial)
        except WrongAnswerError as error:
            pytest.fail(f"trial {trial}: {error}")
