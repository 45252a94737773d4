"""Regular files: opening one, and telling pipes and devices from them.

Opening a pipe waits for its other end, and reading a device may never end.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file, or a link to one, for reading.

    Raises:
        OSError: It cannot be opened, or is not a regular file.
    """
    # pathlib takes no opener.
    file = open(path, "rb", opener=_open_without_waiting)  # noqa: SIM115
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    except BaseException:
        file.close()
        raise
    return file


def is_special(path: Path) -> bool:
    """Return whether a path, or what it links to, exists and is neither a file nor a folder."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
