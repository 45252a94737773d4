"""Atomic writes: files and folders appear complete or not at all.

A file is written beside its target under the hidden name `.NAME.part`, with a lock beside it. What
a process that was killed leaves there is removed by the next one that writes the same target. A
temporary folder has a lock beside it, too.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from filelock import FileLock, Timeout


class HashingWriter:
    """A file that is hashed as it is written."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> None:
        """Write and hash."""
        self._out.write(data)
        self.hash.update(data)
        self.size += len(data)


@contextmanager
def part_beside(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a new path beside a target, to be moved into its place.

    Whatever remains there after the block is removed.
    Another writer of this target waits.
    """
    target = target.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    part, lock = _beside(target)
    with FileLock(lock):
        try:
            _remove(part)
            if folder:
                part.mkdir()
            yield part
        finally:
            with suppress(OSError):
                _remove(part)
                lock.unlink()  # a writer that waits for it notices


def remove_leftovers(target: Path) -> None:
    """Remove what a killed process left of a file.

    A file that a process is writing now stays.
    """
    part, lock = _beside(target.absolute())
    if part.exists() or lock.exists():
        with suppress(Timeout), FileLock(lock, timeout=0):
            _remove(part)
            lock.unlink(missing_ok=True)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Yield a new folder for temporary files, which is removed after the block.

    Children that are forked meanwhile do not remove it. Those of processes that were killed are
    removed first.

    Raises:
        OSError: No folder can be made.
    """
    place = Path(tempfile.gettempdir())
    for abandoned in place.glob(f"{prefix}*.lock"):
        _remove_abandoned(abandoned)
    folder = place / f"{prefix}{uuid4().hex}"
    owner = os.getpid()
    # released by whichever thread ends the block
    lock = FileLock(f"{folder}.lock", mode=0o600, thread_local=False)
    lock.acquire()
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        if os.getpid() == owner:
            with suppress(OSError):
                _remove(folder)
                Path(lock.lock_file).unlink()
            lock.release()


def _remove_abandoned(lock: Path) -> None:
    """Remove a temporary folder of this user and its lock, unless a process holds it."""
    with suppress(OSError, Timeout):
        if not hasattr(os, "getuid") or lock.lstat().st_uid == os.getuid():
            with FileLock(lock, timeout=0):
                _remove(lock.with_suffix(""))
                lock.unlink(missing_ok=True)


def write_file(file: Path, write: Callable[[HashingWriter], object]) -> dict[str, Any]:
    """Write a file and move it into place. Return its size and SHA-256."""
    with part_beside(file) as part:
        with part.open("wb") as raw:
            out = HashingWriter(raw)
            write(out)
        move_into_place(part, file)
    return {"size": out.size, "sha256": out.hash.hexdigest()}


def move_into_place(part: Path, target: Path) -> None:
    """Move a finished file over its target, durably even if the machine loses power.

    Files in a folder must be synced before.
    """
    if part.is_file():
        sync_file(part)
    part.replace(target)
    sync_folder(target.absolute().parent)


def sync_file(file: Path) -> None:
    """Wait until the disk holds a file's content."""
    with file.open("rb+") as content:
        os.fsync(content.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder.

    Windows does not support it.
    """
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _beside(target: Path) -> tuple[Path, Path]:
    """Return the path of the unfinished file, and that of its lock."""
    return target.with_name(f".{target.name}.part"), target.with_name(f".{target.name}.part.lock")


def _remove(part: Path) -> None:
    if part.is_dir():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)
