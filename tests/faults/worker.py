"""Processes of their own, forked from a server that has imported everything, and the worker that writes until it is killed."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'shared'}{os.pathsep}{ROOT}"}
PATIENCE = 120  # seconds without a word after which a process hangs
OPERATIONS = 400  # of one worker, which is killed before

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.faults.preload"])


def apart(function, *arguments):
    """Start a function in a process of its own; `get(PATIENCE)` of what this returns gives its result."""
    pool = processes.Pool(1)
    result = pool.apply_async(function, arguments)
    pool.close()
    return result


def work(folder, seed, say):
    """Settle the crash before, then do random operations and check random searches, until killed."""
    from tests.faults.content import opened
    from tests.faults.model import check_searches
    from tests.faults.operations import do, generate, steps
    from tests.faults.verify import History, note, verify

    faulthandler.enable()
    chance = random.Random(seed)
    say.send("verify")
    verify(folder, seed)
    (state,) = History(folder).states
    say.send("open")
    store = opened(folder / "store")
    for _ in range(OPERATIONS):
        record = generate(chance)
        states = steps(state, record)
        note(folder, {"begin": record})
        say.send(record["op"])
        store = do(store, record, folder)
        note(folder, {"end": True})
        state = states[-1]
        if chance.random() < 0.4:
            check_searches(store, state, chance.randrange(1 << 30))
    store.close()


def killed_in(folder, seed, kind, count, seconds):
    """Start a worker, and kill it some time after it has begun the nth operation of a kind; raise if it ended by itself."""
    pipe, theirs = processes.Pipe(duplex=False)
    worker = processes.Process(target=work, args=(folder, seed, theirs))
    worker.start()
    theirs.close()
    while count:
        if not pipe.poll(PATIENCE):
            os.kill(worker.pid, signal.SIGABRT)  # it writes where each of its threads is
            raise AssertionError("the worker hangs")
        count -= pipe.recv() == kind  # EOFError: it ended by itself, and wrote why
    time.sleep(seconds)
    worker.kill()
    worker.join()
    assert worker.exitcode == -signal.SIGKILL
