"""Servers that run while a test sends them requests."""

from __future__ import annotations

import json
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
from pathlib import Path

from tests.faults.worker import ENVIRONMENT, ROOT

LIMIT = 60  # seconds for a server to start, and for all workers to answer
ADDRESS = re.compile(r"http://127\.0\.0\.1:[1-9]\d*")

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Running:
    """A server that is running."""

    def __init__(self, address, process):
        self.address = address
        self._process = process

    def get(self, path, **request):
        """Send a request, and return the content of the response; other keywords are those of
        `urllib.request.Request`.
        """
        try:
            made = urllib.request.Request(f"{self.address}{path}", **request)
            with OPENER.open(made, timeout=LIMIT) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.code} {error.read().decode()}") from error

    def is_ready(self, path):
        """Return whether a worker answers: uvicorn says its address before it listens."""
        try:
            self.get(path)
        except urllib.error.URLError:
            return False
        return True

    def wait_for(self, path, is_so, workers=1):
        """Wait until so many workers have given the expected content, and return their processes.

        Which worker gets a request is left to the system: of many requests at once, one worker may
        get all, so each is known by the `process` in what it gives.
        """
        end = time.monotonic() + LIMIT
        ready = set()
        with ThreadPoolExecutor(8) as threads:
            while len(ready) < workers:
                assert time.monotonic() < end, (path, ready)
                contents = threads.map(self.get, [path] * 16)
                ready |= {content["process"] for content in contents if is_so(content)}
        return ready

    def processes(self):
        """Return the server's process and its children."""
        children = Path(f"/proc/{self._process}/task/{self._process}/children").read_text().split()
        return [self._process, *map(int, children)]


@contextmanager
def running(command, log, *, ready, environment=None, python=True, **options):
    """Run a server on a port that the system chooses; stop it and all its workers at the end.

    The command is one of Python, without the interpreter, or of the system; the server says its
    address in its log, and answers `ready` when it is. Options are those of `Popen`.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *command] if python else command,
            env=ENVIRONMENT | {"OPENBLAS_NUM_THREADS": "1"} | (environment or {}),
            stdout=out,
            stderr=out,
            start_new_session=True,
            **({"cwd": ROOT} | options),
        )
    try:
        end = time.monotonic() + LIMIT
        server = None
        while server is None or not server.is_ready(ready):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
            if address := ADDRESS.search(log.read_text()):
                server = Running(address[0], process.pid)
        yield server
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) in (0, -signal.SIGTERM), log.read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # all that it started, if any of that is left
        process.wait()
    assert "Traceback" not in log.read_text()
