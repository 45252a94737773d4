"""Atomic writes: files and folders appear complete or not at all.

A file is written beside its target under a hidden name that ends in `.part`, with a lock beside it. The system releases the
lock of a process that was killed, so the next writer can tell its leftovers from work in progress.
"""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

from filelock import FileLock, Timeout


class HashingWriter:
    """A file that is hashed as it is written."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self.hash, self.size = out, hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        """Write and hash."""
        self._out.write(data)
        self.hash.update(data)
        self.size += len(data)


@contextmanager
def part_beside(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a new path beside a target, to be moved into its place; whatever remains there after the block is removed.

    Leftovers of killed processes for the same target are removed first.
    """
    target = target.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with FileLock(f"{part}.lock"):  # before the part exists, so that nobody sweeps it
            if folder:
                part.mkdir()
            yield part
    finally:
        with suppress(OSError):
            _remove(part)


def write_file(file: Path, write: Callable[[HashingWriter], object]) -> dict[str, Any]:
    """Write a file and move it into place. Return its size and SHA-256."""
    with part_beside(file) as part:
        with part.open("wb") as raw:
            out = HashingWriter(raw)
            write(out)
        move_into_place(part, file)
    return {"size": out.size, "sha256": out.hash.hexdigest()}


def sweep(path: Path) -> None:
    """Remove leftovers of killed processes for targets whose names begin with this one."""
    for lock in path.parent.glob(f".{glob.escape(path.name)}*.part.lock"):
        with suppress(Timeout, OSError), FileLock(lock, blocking=False):
            _remove(lock.with_suffix(""))


def move_into_place(part: Path, target: Path) -> None:
    """Move a finished file over its target, durably even if the machine loses power. Files in a folder must be synced before."""
    if part.is_file():
        sync_file(part)
    part.replace(target)
    sync_folder(target.absolute().parent)


def sync_file(file: Path) -> None:
    """Wait until the disk holds a file's content."""
    with file.open("rb+") as content:
        os.fsync(content.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder, if the system supports it (Windows does not)."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _remove(part: Path) -> None:
    """Remove a part and its lock, the lock last."""
    if part.is_dir():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)
    part.with_name(f"{part.name}.lock").unlink(missing_ok=True)
