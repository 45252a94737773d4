"""Real servers with several workers over one store: every worker answers as a fresh process does, also after additions."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from tests.faults.worker import ENVIRONMENT, ROOT
from tests.store.served import SERVED, answers
from tests.towns import make, opened

pytest.importorskip("faiss")

LIMIT = 60  # seconds for a server to start, and for all workers to answer
ADDRESS = re.compile(r"http://127\.0\.0\.1:[1-9]\d*")
SERVERS = {
    "gunicorn": ["gunicorn", "--preload", "--workers=2", "--bind=127.0.0.1:0", "tests.store.served:wsgi"],
    "gunicorn, threads": [
        *("gunicorn", "--preload", "--workers=2", "--threads=4", "--bind=127.0.0.1:0", "tests.store.served:wsgi")
    ],
    "uvicorn": ["uvicorn", "--workers=2", "--host=127.0.0.1", "--port=0", "tests.store.served:asgi"],
}


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Running:
    """A server that is running."""

    def __init__(self, address):
        self._address = address

    def get(self, path):
        try:
            with OPENER.open(f"{self._address}{path}", timeout=LIMIT) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from error

    def is_ready(self):
        """Return whether a worker answers: uvicorn says its address before it listens."""
        try:
            self.get("/search")
        except urllib.error.URLError:
            return False
        return True

    def answers_of_all(self, workers):
        """Return the answers of each worker; there must be so many."""
        end = time.monotonic() + LIMIT
        seen = {}
        with ThreadPoolExecutor(8) as threads:
            while len(seen) < workers:
                assert time.monotonic() < end, f"only these workers answer: {sorted(seen)}"
                for process, content in threads.map(self.get, ["/search"] * 16):
                    assert seen.setdefault(process, content) == content, "a worker's answers change"
        return seen


@contextmanager
def served(name, path, folder):
    """Run a server over a store on a port that the system chooses; stop it and all its workers at the end."""
    log = folder / "log"
    command = [sys.executable, "-m", *SERVERS[name]]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env=ENVIRONMENT | {SERVED: str(path), "OPENBLAS_NUM_THREADS": "1"},
            cwd=ROOT,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        end = time.monotonic() + LIMIT
        running = None
        while running is None or not running.is_ready():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
            if address := ADDRESS.search(log.read_text()):
                running = Running(address[0])
        yield running
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) in (0, -signal.SIGTERM), log.read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # all that it started, if any of that is left
        process.wait()
    assert "Traceback" not in log.read_text()


def fresh_answers(path):
    with opened(path, read_only=True) as store:
        return answers(store)


@pytest.mark.parametrize("name", SERVERS)
def test_workers_search_and_add(tmp_path, name):
    pytest.importorskip(SERVERS[name][0])
    path = make(tmp_path / "store")
    with (
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
        served(name, path, tmp_path) as server,
    ):
        for number in range(3):
            expected = pool.apply(fresh_answers, (path,))
            assert list(server.answers_of_all(2).values()) == [expected] * 2
            assert server.get(f"/add?{20 + number}") == 1
        with ThreadPoolExecutor(8) as threads:  # at once
            added = threads.map(server.get, [f"/add?{30 + number}" for number in range(12)])
            searched = threads.map(server.get, ["/search"] * 24)
            assert list(added) == [1] * 12
            assert len(list(searched)) == 24
        expected = pool.apply(fresh_answers, (path,))
        assert list(server.answers_of_all(2).values()) == [expected] * 2
    with opened(path) as store:
        assert store.verify() == []
        names = [f"doc{number}" for number in (*range(8), 20, 21, 22, *range(30, 42))]
        assert [document.id for document in store.documents(names)] == names
        store.refresh()
    assert [file.name for file in path.iterdir() if file.suffix not in (".sqlite", ".safetensors", ".faiss")] == []
