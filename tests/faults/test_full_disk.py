"""A full disk: one clear error, nothing that was committed is lost, and adding goes on when there is space again."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.faults.worker import ENVIRONMENT, ROOT

pytest.importorskip("faiss")
pytest.importorskip("resource")


@pytest.mark.parametrize("way", ["quota", pytest.param("mount", marks=pytest.mark.slow)])
def test_adds_until_the_disk_is_full_and_on_when_there_is_space(tmp_path, way):
    """`limits` checks the content and all answers before and after each failure."""
    command = [sys.executable, "-m", "tests.faults.limits", way, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=ROOT, timeout=120)
    if "PermissionError" in ended.stderr and way == "mount":
        pytest.skip("this user may not mount a small file system")
    assert ended.returncode == 0, ended.stderr
    outcome = json.loads(ended.stdout)
    assert len(outcome["messages"]) >= 5
    assert all("Free" in message for message in [*outcome["messages"], outcome["refused"] or "Free"])
    assert outcome["units"] > 400
    assert outcome["files"] == 10 + 3 * (find_spec("tantivy") is not None)  # the database and all caches
    assert outcome["parts"] == []  # nothing is left of a cache that could not be written
