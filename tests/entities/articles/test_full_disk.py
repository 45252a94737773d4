"""A full disk while a store is built: one clear error, and the build goes on when there is space."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from factoid.entities.articles import build_articles
from tests.entities.articles.full_disk import RECORDS
from tests.entities.articles.records import Listed, contents
from tests.faults.worker import ENVIRONMENT, ROOT

pytest.importorskip("resource")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["quota", "mount"])
def test_goes_on_when_there_is_space(tmp_path, way):
    folder = tmp_path / "disk"
    folder.mkdir()
    command = [sys.executable, "-m", "tests.entities.articles.full_disk", way, str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=ROOT, timeout=120)
    if "PermissionError" in ended.stderr and way == "mount":
        pytest.skip("this user may not mount a small file system")
    assert ended.returncode == 0, ended.stderr
    outcome = json.loads(ended.stdout)
    assert "cannot be built" in outcome["message"]
    assert "Free some space and run again" in outcome["message"]
    assert (outcome["exists"], outcome["left"]) == (False, [])
    undisturbed = tmp_path / "undisturbed"
    report = build_articles(undisturbed, Listed(RECORDS))
    assert outcome["articles"] == report.articles
    assert outcome["rows"] == {table: len(rows) for table, rows in contents(undisturbed).items()}
