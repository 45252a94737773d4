"""Seconds of the processor, of this process and of the servers that it started.

Other work on the machine makes these seconds hardly longer, where those of the clock may double. On
an idle machine both are the same, but for waiting for disks, and for a server's threads that work
at the same time: their seconds are added up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil


class Clock:
    """Reads the processor's seconds.

    Args:
        servers: Returns the processes of servers, to which their children are added.
    """

    def __init__(self, servers: Callable[[], Sequence[int]] = lambda: ()) -> None:
        self._servers = servers
        self._files: dict[int, Path] = {}
        self._last: dict[int, int] = {}  # nanoseconds, also of processes that have ended

    def refresh(self) -> None:
        """Look for new processes."""
        for server in self._servers():
            process = psutil.Process(server)
            for each in (process, *process.children(recursive=True)):
                for thread in Path(f"/proc/{each.pid}/task").iterdir():
                    self._files[int(thread.name)] = thread / "schedstat"

    def now(self) -> float:
        """Return the seconds so far."""
        for thread, file in self._files.items():
            try:
                self._last[thread] = int(file.read_text(encoding="ascii").split()[0])
            except (OSError, IndexError):  # it has ended
                continue
        return time.process_time() + sum(self._last.values()) / 1e9
