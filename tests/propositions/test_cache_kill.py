"""Ten thousand passages in batches, a score of kills: nothing is lost, nothing is there twice, little is redone."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import pytest

from factoid.propositions import PropositionCache
from tests.propositions.passages import facts, passages

COUNT = 10_000
KILLS = 24
BATCH = 64

WORKER = f"""
import sys
from factoid.propositions import CachedPropositionizer
from tests.propositions.passages import Logging, passages
units = passages({COUNT})
print("ready", flush=True)
CachedPropositionizer(Logging(sys.argv[2], seconds=0.12), sys.argv[1], batch_size={BATCH}).propositionize(units)
"""


@pytest.mark.slow
def test_a_process_killed_at_random_moments(tmp_path):
    chance = random.Random(20)
    command = [sys.executable, "-c", WORKER, tmp_path / "cache", tmp_path / "log"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["shared", "."])}
    for kills in range(KILLS + 1):
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            process.stdout.readline()
            time.sleep(chance.uniform(0, 0.2))
            if kills < KILLS and process.poll() is None:
                process.kill()
        if process.returncode == 0:  # on a busy machine starting a process takes longer than its work
            break
    assert kills >= 4, "the work was done before it could be killed"
    assert process.returncode == 0

    units = passages(COUNT)
    cache = PropositionCache(tmp_path / "cache")
    outputs = cache.get("towns@1", units)
    assert (cache.count(), cache.count(failures=True)) == (COUNT, 1)
    assert outputs.pop(7).reason == "too short"
    assert outputs == [facts(unit) for unit in units[:7] + units[8:]]
    with closing(sqlite3.connect(tmp_path / "cache")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    asked = Counter((tmp_path / "log").read_text().split())
    assert set(asked) == {str(number) for number in range(COUNT)}
    assert sum(asked.values()) - COUNT <= KILLS * BATCH
