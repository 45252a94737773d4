"""Ctrl-C in the middle of a call: KeyboardInterrupt, and the store goes on in the same process with nothing lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tests.faults.content import DIM, add_documents, document, opened
from tests.faults.damage import make
from tests.faults.model import State, WrongAnswerError, check, check_search
from tests.faults.operations import steps
from tests.faults.verify import check_again, settle
from tests.faults.worker import ENVIRONMENT, ROOT

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


FIRST_SAVE = """
import os, sys
from factoid import UnitStore

store = UnitStore(None, encoder=None)

def interrupted(line):
    count = 0

    def local(frame, event, argument):
        nonlocal count
        count += event == "line"
        if count == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return local

    sys.settrace(lambda frame, event, argument: local if "fsspec" in frame.f_code.co_filename else None)
    try:
        store.save_to("memory://facts")
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(None)
    return count

failed = []
for line in range(1, 1500, 50):
    child = os.fork()
    if not child:
        interrupted(line)
        try:
            store.save_to("memory://facts")
        except BaseException as error:
            print(line, repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(line)
sys.exit(str(failed) if failed else 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each interrupt needs a process of its own")
def test_the_first_save_to_may_be_interrupted_while_fsspec_is_imported():
    pytest.importorskip("fsspec")
    command = [sys.executable, "-c", FIRST_SAVE]
    ended = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=ROOT, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
