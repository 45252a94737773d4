"""Files that are on the disk, and not only on their way to it."""

from __future__ import annotations

import os
from pathlib import Path


def sync_file(file: Path) -> None:
    """Wait until the disk holds a file's content."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the disk holds the names in a folder, where the system can tell (Windows cannot)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
