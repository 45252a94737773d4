"""Kill work in a forked process: at a moment, or at one of the calls that change files."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

CALLS = ("unlink", "replace", "rename", "fsync", "mkdir", "rmdir", "open", "ftruncate", "write")
CAMPAIGN = int(os.environ.get("FACTOID_CAMPAIGN", "40"))  # cases of each campaign where slow tests are run
_LIMIT = 60  # seconds after which a process hangs


def killed(
    work: Callable[[Callable[[int], None]], object], *, step: int = 0, seconds: float = 0
) -> tuple[bool, list[int]]:
    """Run some work in a forked process, and kill it at its step-th change of a file, or after some time.

    Returns:
        Whether it was killed before its end, and the numbers that it said were committed.
    """
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(_LIMIT)
        if step:
            _kill_at(step)
        status = 1
        try:
            work(lambda number: os.write(writable, f"{number}\n".encode()))
            status = 0
        finally:
            os._exit(status)
    os.close(writable)
    if seconds:
        timer = threading.Timer(seconds, os.kill, (child, signal.SIGKILL))
        timer.start()
    with os.fdopen(readable, "rb") as source:
        said = [int(line) for line in source.read().split()]
    _, status = os.waitpid(child, 0)
    if seconds:
        timer.cancel()
    ended = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert ended or was_killed, f"the process ended with {status}: it hung, crashed or raised"
    return was_killed, said


def moments(count: int, *, seed: str, longest: float) -> list[dict[str, float]]:
    """Return arguments of `killed`: half of them at the first steps, half at random moments."""
    chance = random.Random(seed)
    steps = [{"step": step} for step in range(1, count // 2 + 1)]
    times = [{"seconds": chance.uniform(0.001, longest)} for _ in range(count - len(steps))]
    return steps + times


def listing(*folders: Path) -> dict[Path, list[str]]:
    """Return the names in some folders."""
    return {folder: sorted(file.name for file in folder.iterdir()) for folder in folders}


def _kill_at(step: int) -> None:
    calls = 0
    main = threading.get_ident()

    def counted(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            nonlocal calls
            if threading.get_ident() == main:
                calls += 1
                if calls == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                    time.sleep(_LIMIT)
            return function(*arguments, **options)

        return call

    for name in CALLS:
        if name != "write":  # by which the process says what it committed
            setattr(os, name, counted(getattr(os, name)))
