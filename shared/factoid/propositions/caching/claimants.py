"""Which process has claimed passages, and whether it is known to have ended."""

from __future__ import annotations

import json
import os
import socket
from functools import cache
from pathlib import Path

_PROC = Path("/proc")


def claimant() -> str:
    """Return what tells this process from all others: its machine, its number, and when it began."""
    return _described(os.getpid())  # another one after a fork


def has_ended(owner: str) -> bool:
    """Tell whether a process is known to have ended. Of one on another machine, nothing is known.

    Args:
        owner: What `claimant` returned there.
    """
    machine, pid, began = json.loads(owner)
    if machine != _machine() or os.name != "posix":
        return False
    if began:
        return bool(_beginning(pid) != began)
    try:
        os.kill(pid, 0)  # only asks
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's
        return False
    return False


@cache
def _described(pid: int) -> str:
    return json.dumps([_machine(), pid, _beginning(pid)])


@cache
def _machine() -> str:
    """Return what processes share for which a process number means the same."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        numbers = (_PROC / "self/ns/pid").stat().st_ino  # containers count on their own
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()} {boot} {numbers}"


def _beginning(pid: int) -> str:
    """Return when a process began; empty if it has ended (or waits for its parent to notice), or where none can tell."""
    try:
        state, *fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state in "ZX" else fields[18]
