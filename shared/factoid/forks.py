"""Let processes fork while stores are open.

Servers that load an application before they fork, multiprocessing. SQLite's connections, locks that
other threads hold and OpenMP's threads do not survive a fork: a child that uses what it inherited
waits forever, or damages files. So before a fork, Python waits until no thread is at work here, and
open connections are closed; parent and children open new ones when they need them. What is in
memory is shared by the children.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from typing import Protocol

from factoid.errors import StoreError

_PATIENCE = 10  # seconds for which a fork waits for the work of other threads


def refused_after_fork(what: str) -> StoreError:
    """Return the error of an object that its process inherited while other threads used it."""
    return StoreError(
        f"{what} was in use while this process was forked, or a server forked without telling "
        "Python: open it in this process, after the fork (gunicorn: post_fork; uWSGI: lazy-apps)"
    )


class Forkable(Protocol):
    """An object with connections or locks that a child process must not inherit."""

    def before_fork(self) -> None:
        """Close all connections, to be opened again when they are needed. Nobody is at work."""

    def after_fork(self, *, prepared: bool) -> None:
        """Make new locks, in the child.

        If it is not prepared, other threads were at work: refuse to be used.
        """


class _Threads:
    """A lock for each thread that works here, which a fork takes from all of them."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._registry = threading.Lock()
        self._locks: weakref.WeakSet[threading.RLock] = weakref.WeakSet()
        self._taken: list[threading.RLock] = []
        self.prepared = False  # for the fork that is going on

    def lock(self) -> threading.RLock:
        """Return the lock of this thread."""
        try:
            lock: threading.RLock = self._local.lock
        except AttributeError:
            lock = threading.RLock()
            with self._registry:  # waits while a process is being forked
                self._locks.add(lock)
                self._local.lock = lock
        return lock

    def take_all(self) -> None:
        """Wait until no other thread is at work, and keep them from beginning."""
        end = time.monotonic() + _PATIENCE
        self.prepared = False
        if not self._registry.acquire(timeout=_PATIENCE):
            return
        for lock in list(self._locks):
            if not lock.acquire(timeout=max(0.0, end - time.monotonic())):
                self.release_all()
                return
            self._taken.append(lock)
        self.prepared = True

    def release_all(self) -> None:
        """Let the threads go on."""
        while self._taken:
            self._taken.pop().release()
        self._registry.release()


_threads: _Threads | None = None
_installing = threading.Lock()  # so that two threads do not register the functions twice
_members: weakref.WeakSet[Forkable] = weakref.WeakSet()


def at_work() -> threading.RLock:
    """Return this thread's lock, to be held during work that a fork must not interrupt.

    It can be held twice. Take it before any other lock: a fork would wait for a thread that waits
    for a lock of one that the fork has stopped.
    """
    return _installed().lock()


def follow(member: Forkable) -> None:
    """Tell an object about forks, as long as it lives."""
    _installed()
    _members.add(member)


class Exclusion:
    """A lock that children do not inherit: its holder would never release it there.

    Take it after `at_work()`.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        # Python is asked by `at_work`: nothing happens when a module with a lock is imported
        _members.add(self)

    def before_fork(self) -> None:
        """Do nothing: there is nothing to close."""

    def after_fork(self, *, prepared: bool) -> None:  # noqa: ARG002 - of the protocol
        """Make a new lock, in the child."""
        self.lock = threading.RLock()


def _installed() -> _Threads:
    """Ask Python to call the functions below, once, when something first needs it."""
    global _threads
    if _threads is not None:  # nearly always: nobody waits
        return _threads
    with _installing:
        if _threads is None:
            threads = _Threads()
            if hasattr(os, "register_at_fork"):  # Windows cannot fork
                os.register_at_fork(
                    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
                )
            _threads = threads
        return _threads


def _before() -> None:
    threads = _installed()
    threads.take_all()
    if threads.prepared:
        for member in list(_members):
            member.before_fork()


def _after_in_parent() -> None:
    threads = _installed()
    if threads.prepared:
        threads.prepared = False
        threads.release_all()


def _after_in_child() -> None:
    global _threads
    # False, too, if a server in C forked without telling Python before
    prepared = _installed().prepared
    _threads = _Threads()
    # OpenMP waits for its threads, which the fork left behind, unless it is told to do without.
    if faiss := sys.modules.get("faiss"):
        faiss.omp_set_num_threads(1)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    for member in list(_members):
        member.after_fork(prepared=prepared)
