"""Folders that are there whole or not at all, and what a process that was killed left of them."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows
    _LOCKS = False
else:
    _LOCKS = True

_ABANDONED_S = 3600  # where nothing can be locked, what nobody wrote to for so long has lost its process


@contextmanager
def unfinished(folder: Path) -> Iterator[Path]:
    """Make a folder NAME.<hex>.part, and move it into the place of `folder` when the block ends; remove it if it raises.

    First, what killed processes left of earlier ones for the same folder is removed. `folder` must not be there, or be empty.

    Raises:
        OSError: A folder cannot be made or moved.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    part, handle = _claimed(folder)
    try:
        yield part
        part.rename(folder)  # replaces an empty folder, and no other
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if handle is not None:  # last: another process would sweep what nobody claims
            os.close(handle)


def _sweep(folder: Path) -> None:
    name = re.compile(re.escape(folder.name) + r"\.[0-9a-f]{32}\.part")
    for part in folder.parent.iterdir():
        if name.fullmatch(part.name) and not part.is_symlink():
            with suppress(OSError):
                _remove_abandoned(part)


def _remove_abandoned(part: Path) -> None:
    handle = os.open(part, os.O_RDONLY) if _LOCKS else None
    try:
        locked = _lock(handle)
        if locked or (locked is None and _age(part) > _ABANDONED_S):
            shutil.rmtree(part)
    finally:
        if handle is not None:
            os.close(handle)


def _age(part: Path) -> float:
    """Return the seconds since anything was written in a folder."""
    return time.time() - max(path.stat().st_mtime for path in [part, *part.iterdir()])


def _claimed(folder: Path) -> tuple[Path, int | None]:
    """Make a folder that is claimed from the start: one that was swept between the two is made again."""
    while True:
        part = folder.with_name(f"{folder.name}.{uuid4().hex}.part")
        part.mkdir()
        if not _LOCKS:
            return part, None
        with suppress(FileNotFoundError):
            handle = os.open(part, os.O_RDONLY)
            if _lock(handle) is not False and part.is_dir():
                return part, handle
            os.close(handle)


def _lock(handle: int | None) -> bool | None:
    """Lock a folder for as long as it is open; False if another process has it, None where there are no locks."""
    if handle is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True
