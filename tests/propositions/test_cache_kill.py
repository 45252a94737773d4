"""Ten thousand passages, a score of kills: nothing is lost, nothing is there twice, little is redone."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from factoid.propositions import PropositionCache
from tests.propositions.passages import facts, passages

COUNT = 10_000
KILLS, LEAST = 24, 4
BATCH = 64

WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from factoid.propositions import CachedPropositionizer
from tests.propositions.passages import Logging, LoggingStream, passages
kind, seconds = {"batch": (Logging, 0.12), "stream": (LoggingStream, 0.002)}[sys.argv[4]]
units = passages(int(sys.argv[5]))
print("ready", flush=True)
cached = CachedPropositionizer(kind(sys.argv[3], seconds=seconds), sys.argv[2], batch_size=int(sys.argv[6]))
cached.propositionize(units)
"""


def start(folder, kind):
    root = str(Path(__file__).parents[2])
    arguments = [root, str(folder / "cache"), str(folder / "log"), kind, str(COUNT), str(BATCH)]
    process = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["batch", "stream"])
def test_a_process_killed_at_random_moments(tmp_path, kind, record_property):
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
        assert process.returncode == -signal.SIGKILL
        kills += 1
        process = start(tmp_path, kind)
    assert kills >= LEAST, "the work was done before it could be killed"
    process.communicate()
    assert process.returncode == 0

    units = passages(COUNT)
    found = cache.get("towns@1", units)
    assert cache.count() == COUNT
    assert cache.count(failures=True) == 1
    assert found[7].reason == "too short"
    assert found[:7] + found[8:] == [facts(unit) for unit in units[:7] + units[8:]]
    connection = sqlite3.connect(tmp_path / "cache")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    asked = Counter((tmp_path / "log").read_text().split())
    assert set(asked) == {str(number) for number in range(COUNT)}
    redone = sum(asked.values()) - COUNT
    record_property("redone", redone)
    assert redone <= KILLS * (BATCH if kind == "batch" else 1)
