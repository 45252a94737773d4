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


@pytest.fixture(params=["quota", pytest.param("mount", marks=pytest.mark.slow)], scope="module")
def outcome(request, tmp_path_factory):
    """What `limits` prints after its own checks of the content and of all answers before and after each failure."""
    command = [sys.executable, "-m", "tests.faults.limits", request.param, str(tmp_path_factory.mktemp("disk"))]
    ended = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=ROOT, timeout=120)
    if "PermissionError" in ended.stderr and request.param == "mount":
        pytest.skip("this user may not mount a small file system")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_adds_until_the_disk_is_full_and_on_when_there_is_space(outcome):
    assert len(outcome["messages"]) >= 5
    assert outcome["units"] > 400
    assert outcome["files"] == 10 + 3 * (find_spec("tantivy") is not None)  # the database and all caches


def test_the_error_says_what_to_do(outcome):
    for message in [*outcome["messages"], *filter(None, [outcome["refused"]])]:
        assert "Free" in message, message


def test_nothing_is_left_of_a_cache_that_could_not_be_written(outcome):
    assert outcome["parts"] == []
