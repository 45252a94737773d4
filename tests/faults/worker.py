"""Starts workers by fork from a process that has imported everything: a worker begins within a millisecond.

Run as a program it reads one JSON command a line, forks a worker for it, and prints the worker's process id, what it
begins (`+ kind`), and its exit status (`= status`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import random
import selectors
import signal
import subprocess
import sys
import threading
import traceback
from pathlib import Path

from tqdm.auto import tqdm

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{ROOT / 'shared'}{os.pathsep}{ROOT}"}
PATIENCE = 60  # seconds without a line after which a worker hangs
OPERATIONS = 400  # of one worker, which is killed before


def work(folder, seed):
    """Settle the crash before, then do random operations and check random searches, until killed."""
    from tests.faults.content import opened
    from tests.faults.model import check_searches
    from tests.faults.operations import do, generate, steps
    from tests.faults.verify import History, Journal, verify

    chance = random.Random(seed)
    journal = Journal(folder / "journal")
    say("+ verify")
    verify(folder, seed, journal=journal)
    (state,) = History(folder / "journal").states
    say("+ open")
    store = opened(folder / "store")
    for _ in range(OPERATIONS):
        record = generate(chance)
        states = steps(state, record)
        journal.write({"begin": record})
        say(f"+ {record['op']}")
        store = do(store, record, folder)
        journal.write({"end": True})
        state = states[-1]
        if chance.random() < 0.4:
            check_searches(store, state, chance.randrange(1 << 30))
    store.close()


def say(line):
    os.write(1, line.encode() + b"\n")


def serve():
    import tests.faults.verify  # noqa: F401
    from tests.faults.operations import prepare

    # tqdm's own lock is shared by forked processes: one that is killed while it holds it would stop all others.
    tqdm.set_lock(threading.RLock())
    tqdm.monitor_interval = 0
    faulthandler.enable()
    prepare()
    importlib.import_module("faiss")  # so that no worker has to

    for line in sys.stdin:
        command = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                say(f"pid {os.getpid()}")
                work(Path(command["folder"]), command["seed"])
            except BaseException:  # noqa: BLE001 - the parent shows it
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        say(f"= {os.waitpid(pid, 0)[1]}")


class Zygote:
    """The process that forks workers; a context manager."""

    def __init__(self, errors):
        self._errors = errors
        command = [sys.executable, "-m", "tests.faults.worker"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        with errors.open("ab") as file:
            self._process = subprocess.Popen(command, **pipes, stderr=file, env=ENVIRONMENT, cwd=ROOT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)

    def start(self, folder, seed):
        """Start a worker; return its process id."""
        self._pid = None
        self._process.stdin.write(json.dumps({"folder": str(folder), "seed": seed}).encode() + b"\n")
        self._pid = int(self.line().removeprefix("pid "))
        return self._pid

    def line(self):
        """Return what the worker says next."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE):
                if self._pid:
                    os.kill(self._pid, signal.SIGABRT)  # it writes where each of its threads is
                    self._process.stdout.readline()
                raise AssertionError(f"the worker hangs: {self.errors()}")
        return self._process.stdout.readline().decode().strip()

    def errors(self):
        """Return what workers wrote to their standard error."""
        return self._errors.read_text()

    def kill(self, pid):
        """Kill a worker; raise if it had ended by itself."""
        with contextlib.suppress(ProcessLookupError):  # it ended by itself, which is told next
            os.kill(pid, signal.SIGKILL)
        self.ended()

    def ended(self):
        """Wait for the end of the worker; raise unless it was killed."""
        while not (line := self.line()).startswith("="):
            assert line, f"the process that forks workers ended: {self.errors()}"
        status = int(line.removeprefix("= "))
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, self.errors()  # noqa: PT018


if __name__ == "__main__":
    serve()
