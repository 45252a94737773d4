"""A lock that many may share to read and one holds alone to change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

_LOOK = 0.1  # seconds after which a waiting thread looks whether somebody has left without a word


class _Holder:
    """Stands for one block that holds or waits for the lock."""


class SharedLock:
    """Readers share it; who holds it alone waits for them to end, and lets no new ones in meanwhile. Not reentrant.

    Ctrl-C may come between any two steps, those of leaving included. So holders are known by objects that live in the
    blocks themselves, and by weak references: what has ended no longer counts, however it ended.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._readers: WeakSet[_Holder] = WeakSet()
        self._alone: WeakSet[_Holder] = WeakSet()
        self._waiting: WeakSet[_Holder] = WeakSet()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with other readers."""
        own = _Holder()
        try:
            with self._condition:
                while self._alone or self._waiting:
                    self._condition.wait(_LOOK)
                self._readers.add(own)
            yield
        finally:
            self._left(own)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock with nobody else."""
        own = _Holder()
        try:
            with self._condition:
                self._waiting.add(own)
                while self._alone or self._readers:
                    self._condition.wait(_LOOK)
                self._alone.add(own)
                self._waiting.discard(own)
            yield
        finally:
            self._left(own)

    def _left(self, own: _Holder) -> None:
        with self._condition:
            for holders in (self._readers, self._alone, self._waiting):
                holders.discard(own)
            self._condition.notify_all()
