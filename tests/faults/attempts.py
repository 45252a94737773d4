"""Try many damages in a process of its own, which may crash or hang: neither ends the tests, and
both are told.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.faults.model import WrongAnswerError

LIMIT = 60  # seconds after which an attempt hangs; the machine may be busy
SLOW = 10  # seconds of computing that no damage may cost
_MEMORY = 4 << 30  # bytes of addresses that attempts may take beyond what they began with


def attempts(numbers, attempt):
    """Call a function with each number in a forked process; a crash costs the process, and a new
    one goes on.

    Returns:
        How often each outcome was returned, and the faults by number: wrong answers, raw errors,
        crashes, hangs.
    """
    remaining = list(numbers)
    outcomes, faults = Counter(), {}
    while remaining:
        done, status = _forked(remaining, attempt)
        for number, outcome, fault in done:
            outcomes[outcome] += 1
            if fault:
                faults[number] = fault
        remaining = remaining[len(done) :]
        if remaining:
            outcomes["crash"] += 1
            faults[remaining.pop(0)] = f"the process ended with {status}: a crash, or a hang"
    return outcomes, faults


def _forked(numbers, attempt):
    """Return what a forked process said of each number, until it ended, and how it ended."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(readable)
            _bound_memory()
            for number in numbers:
                signal.alarm(LIMIT)
                os.write(
                    writable, f"{json.dumps([number, *_attempted(number, attempt)])}\n".encode()
                )
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as source:
        said = [json.loads(line) for line in source if line.endswith("\n")]
    return said, os.waitpid(child, 0)[1]


def _bound_memory():
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, hard))


def _attempted(number, attempt):
    """Return an outcome and a fault, or ""."""
    began = time.process_time()
    try:
        outcome = attempt(number)
    except WrongAnswerError as error:
        return "wrong", str(error)[:600]
    except Exception:  # noqa: BLE001 - whatever it is, it is no error of this package, and is told
        return "raw error", traceback.format_exc()[-900:]
    seconds = time.process_time() - began
    return outcome, f"it took {seconds:.0f} seconds" if seconds > SLOW else ""
