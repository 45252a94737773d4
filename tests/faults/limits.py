"""A disk that gets full: run as a program, in a process of its own whose disk or whose files are limited.

Arguments: the way (`quota`, a limit on the size of each file; `mount`, a small file system made here), and a folder.
Prints one JSON object: what happened.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

SIZE = 3 << 20  # bytes of the file system, or of the largest file


class Quota:
    """No file may grow beyond SIZE. SQLite is told "file too large" as others are told "no space"."""

    def __init__(self, folder):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self._hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        self.folder = folder

    def fill(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE, self._hard))

    def full(self):
        """Let nothing be written any more."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, self._hard))

    def free(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._hard, self._hard))


class Mount:
    """A tmpfs in a mount namespace of this process, which ends with it."""

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        clone_newns, private = 0x20000, 1 << 18 | 1 << 14  # MS_PRIVATE | MS_REC: nothing of it is seen outside
        if libc.unshare(clone_newns) or libc.mount(b"none", b"/", None, private, None):
            raise PermissionError(ctypes.get_errno(), "no mount namespace")
        self.folder = folder
        self._mount(f"size={SIZE}")

    def _mount(self, options):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)], check=True)

    def fill(self):
        pass

    def full(self):
        with contextlib.suppress(OSError), (self.folder / "ballast").open("wb", buffering=0) as file:
            for size in (4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def free(self):
        (self.folder / "ballast").unlink(missing_ok=True)
        self._mount(f"remount,size={8 * SIZE}")


def main(way, folder):
    from factoid.errors import StoreError
    from tests.faults.content import family, opened, vector_of
    from tests.faults.model import State, check
    from tests.faults.verify import check_again, no_leftovers

    disk = {"quota": Quota, "mount": Mount}[way](folder)
    path = folder / "store"
    disk.fill()
    state, messages, number = State(), [], 0

    def more(count):
        units = [each for own in range(number, number + count) for each in family(own, 0, own)]
        return units, [vector_of(each.text) for each in units]

    with opened(path) as store:
        for count in (60, 60, 12, 4, 1):  # ever smaller, so that little space is left
            with contextlib.suppress(StopIteration):
                while True:
                    units, vectors = more(count)
                    try:
                        store.add(units, vectors=vectors)
                    except StoreError as error:
                        messages.append(str(error))
                        check(store, state)  # all that was committed, and nothing of the rest
                        raise StopIteration from error
                    state = state.with_units(units, vectors)
                    number += count
        disk.full()
        try:
            store.delete(["d0"])  # needs space as well
            state = state.without(["d0"])
        except StoreError as error:
            messages.append(str(error))
        check(store, state)
    # Closed on a full disk: what could be written of a cache is to be removed, for the disk is full.
    parts = sorted(file.name for file in path.iterdir() if file.suffix == ".part")
    refused = None
    try:
        with opened(path) as store:
            check(store, state)
    except StoreError as error:  # to open may need a few bytes, for the shared memory of the log
        refused = str(error)
    disk.free()
    with opened(path) as store:
        check(store, state)
        units, vectors = more(80)
        store.add(units, vectors=vectors)
        state = state.with_units(units, vectors)
    no_leftovers(path)
    check_again(path, state)
    files = len(list(path.iterdir()))
    outcome = {"messages": messages, "parts": parts, "refused": refused, "units": len(state.units), "files": files}
    sys.stdout.write(json.dumps(outcome))


if __name__ == "__main__":
    sys.path.insert(0, os.fspath(Path(__file__).resolve().parents[2]))
    main(sys.argv[1], Path(sys.argv[2]))
