"""Ten thousand passages, a score of kills: nothing is lost, nothing is there twice, little is redone."""

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

WORKER = """
import sys
from factoid.propositions import CachedPropositionizer
from tests.propositions.passages import Logging, LoggingStream, passages
_, cache, log, kind, count, batch_size = sys.argv
kind, seconds = {"batch": (Logging, 0.12), "stream": (LoggingStream, 0.002)}[kind]
units = passages(int(count))
print("ready", flush=True)
CachedPropositionizer(kind(log, seconds=seconds), cache, batch_size=int(batch_size)).propositionize(units)
"""


def start(folder, kind):
    arguments = [folder / "cache", folder / "log", kind, str(COUNT), str(BATCH)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["shared", "."])}
    process = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE, env=environment)
    process.stdout.readline()
    return process


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["batch", "stream"])
def test_a_process_killed_at_random_moments(tmp_path, kind):
    chance = random.Random(20)
    process = start(tmp_path, kind)
    cache = PropositionCache(tmp_path / "cache")
    kills = 0
    while kills < KILLS:
        time.sleep(chance.uniform(0, 0.2))
        if process.poll() == 0:  # on a busy machine starting a process takes longer than its work
            break
        process.kill()
        process.communicate()
        kills += 1
        process = start(tmp_path, kind)
    assert kills >= 4, "the work was done before it could be killed"
    process.communicate()
    assert process.returncode == 0

    units = passages(COUNT)
    found = cache.get("towns@1", units)
    assert cache.count() == COUNT
    assert cache.count(failures=True) == 1
    assert found[7].reason == "too short"
    assert found[:7] + found[8:] == [facts(unit) for unit in units[:7] + units[8:]]
    with closing(sqlite3.connect(tmp_path / "cache")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    asked = Counter((tmp_path / "log").read_text().split())
    assert set(asked) == {str(number) for number in range(COUNT)}
    assert sum(asked.values()) - COUNT <= KILLS * (BATCH if kind == "batch" else 1)
