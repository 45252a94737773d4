"""Folders that cannot be written where they are mounted, as volumes of containers are."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def read_only_mount(folder, at):
    """Show a folder at another place, where it cannot be written; skip the test where that is not
    allowed.
    """
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root may mount a folder read-only at another place")
    at.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["mount", "--bind", folder, at], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("root may not mount here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", at], check=True, capture_output=True)
        with pytest.raises(OSError, match="ead-only"):
            (at / "x").touch()
        yield at
    finally:
        subprocess.run(["umount", "-l", at], check=True)
