"""Files that are there whole or not at all, and what a process that was killed left of them."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows
    _LOCKS = False
else:
    _LOCKS = True

_ABANDONED_S = 3600  # a file that was not moved into place, and that nobody wrote to for so long, has lost its process


class _Claim(Enum):
    """Whose a file is: this process's, another's, or not to be told, as on Windows."""

    OWN = auto()
    HELD = auto()
    UNKNOWN = auto()


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
        with _claimed(part) as raw:
            out = Hashing(raw)
            write(out)
            raw.flush()
            os.fsync(raw.fileno())
            if _LOCKS:  # before the claim ends with the file: another process would sweep what nobody claims
                part.replace(file)
        if not _LOCKS:
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
            if time.time() - part.stat().st_mtime > _ABANDONED_S or _claim(raw) is _Claim.OWN:
                part.unlink()


def _claimed(part: Path) -> BinaryIO:
    """Make a file that is claimed from the start: one that was swept between the two is made again."""
    while True:
        raw = part.open("wb")
        # What cannot be claimed is claimed by who sweeps it now, or lies where there are no locks, and is not swept.
        if _claim(raw) is not _Claim.HELD and part.exists():
            return raw
        raw.close()


def _claim(file: BinaryIO) -> _Claim:
    """Lock a file for as long as this process has it open."""
    if not _LOCKS:
        return _Claim.UNKNOWN
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _Claim.HELD
    except OSError:  # a file system without locks
        return _Claim.UNKNOWN
    return _Claim.OWN
