"""Processes of their own, forked from a server."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": f"{ROOT / 'shared'}{os.pathsep}{ROOT}",
}
PATIENCE = 120  # seconds without a word after which a process hangs


def apart(function, *arguments):
    """Start a function in a process of its own; `get(PATIENCE)` of what this returns gives its
    result.
    """
    pool = multiprocessing.get_context("forkserver").Pool(1)
    result = pool.apply_async(function, arguments)
    pool.close()
    return result
