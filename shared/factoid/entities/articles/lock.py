"""One builder at a time: a lock file beside the store, which its process's end frees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from factoid.errors import StoreError

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be replaced: SQLite's own lock has to do
    _LOCKS = False
else:
    _LOCKS = True


@contextmanager
def only_builder(path: Path) -> Iterator[None]:
    """Hold the lock of a file that is to be built.

    Raises:
        StoreError: Another process or thread builds it, or the folder cannot be written.
    """
    lock = path.with_name(f"{path.name}.lock")
    try:
        file = _locked(lock)
    except BlockingIOError as error:
        message = f"{path} is being built by another process: wait for it, or build another file"
        raise StoreError(message) from error
    except OSError as error:
        message = f"{path} cannot be built there: {error.strerror or error}"
        raise StoreError(message) from error
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no file that is open; what is left there stops nobody
            lock.unlink()
        os.close(file)


def _locked(lock: Path) -> int:
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _LOCKS:
                return file
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), lock.stat()):
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # its last holder has just removed it: the lock is another file by now
