"""Work in a forked process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

LIMIT = 60  # seconds after which a child hangs


def in_child(work: Callable[[], object]) -> object:
    """Return what some work returns in a forked process, as JSON holds it, or the error that it raises as a string."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
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
    assert os.waitpid(child, 0)[1] == 0, "the child hung or crashed"
    return json.loads(content)
