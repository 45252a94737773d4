"""Work in a forked process."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
from collections.abc import Callable

LIMIT = 180  # seconds after which a child hangs: others may keep the machine busy


def in_child(work: Callable[[], object]) -> object:
    """Return what some work returns in a forked process, as JSON holds it, or the error that it raises as a string."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        # What hangs shows where: the stacks of all threads go to the log before the signal ends the child.
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(LIMIT)
        try:
            result = json.dumps(work())
        except BaseException as error:  # noqa: BLE001 - the parent says it
            result = json.dumps(f"{type(error).__name__}: {error}")
        os.write(writable, result.encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, "rb") as source:
        content = source.read()
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"the child hung or crashed: wait status {status}"
    return json.loads(content)
