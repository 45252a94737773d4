"""Files that are there whole or not at all, and what a process that was killed left of them."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

_ABANDONED_S = 3600  # a file that was not moved into place, and that nobody wrote to for so long, has lost its process


class Hashing(io.RawIOBase):
    """A file that is hashed as it is written."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._hash, self.size = out, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        """Write, and return how many bytes."""
        self._out.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    @property
    def digest(self) -> str:
        """The SHA-256 of what was written."""
        return self._hash.hexdigest()


def write_file(file: Path, write: Callable[[Hashing], object]) -> dict[str, Any]:
    """Write a file under another name, make sure of it and move it into place. Returns its size and checksum."""
    part = file.with_name(f"{file.name}.{uuid4().hex}.part")
    try:
        with part.open("wb") as raw:
            _claim(raw)
            out = Hashing(raw)
            write(out)
            raw.flush()
            os.fsync(raw.fileno())
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(file.parent)
    return {"size": out.size, "sha256": out.digest}


def _sync_folder(folder: Path) -> None:
    """Make the move itself durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(path: Path) -> None:
    """Remove what processes that were killed left behind of the files that begin with this name."""
    for part in path.parent.glob(f"{path.name}.*.part"):
        with suppress(OSError), part.open("ab") as raw:
            if time.time() - part.stat().st_mtime > _ABANDONED_S or _claim(raw):
                part.unlink()


def _claim(file: BinaryIO) -> bool:
    """Lock a file for as long as this process has it open; tell whether that is certain, which it is not on Windows."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
