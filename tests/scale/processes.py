"""Processes that build, their children, and how they are killed. Needs no pytest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def started(**options):
    """Start `tests.scale.program` in a session of its own."""
    environment = {**os.environ, "PYTHONPATH": f"{_ROOT / 'shared'}:{_ROOT}"}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.scale.program", json.dumps(options)],
        env=environment,
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(process, seconds=300):
    """Wait for a process, and return what it printed; raise its errors if it failed."""
    out, err = process.communicate(timeout=seconds)
    if process.returncode:
        raise AssertionError(f"it ended with {process.returncode}: {err[-2000:]}")
    return json.loads(out.splitlines()[-1])


def end(process):
    """Kill a process with its session: Ray's processes are of it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def wait_for_shards(process, folder, count, seconds=120):
    """Wait until a folder holds some shards, or the process has ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        if len(list(Path(folder).glob("*.parquet"))) >= count:
            return
        time.sleep(0.02)
