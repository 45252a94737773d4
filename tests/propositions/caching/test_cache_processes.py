"""Processes that share a cache: a slow one is not taken for a dead one, and a dead one holds nobody up."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from factoid.errors import StoreError
from factoid.propositions import CachedPropositionizer, PropositionCache
from factoid.propositions.caching import cache
from factoid.propositions.caching.claimants import claimant, has_ended
from factoid.propositions.caching.heartbeat import Heartbeat
from tests.propositions.passages import Batching, Streaming, facts, passages

ROOT = str(Path(__file__).parents[3])
WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from factoid.propositions import CachedPropositionizer, PropositionCache
from factoid.propositions.caching import cache
from tests.propositions.passages import LoggingThreads, facts, passages
cache._PATIENCE = float(sys.argv[5])
units = passages(int(sys.argv[4]))
print("ready", flush=True)
sys.stdin.readline()
found = CachedPropositionizer(LoggingThreads(sys.argv[3], seconds=0.05), sys.argv[2]).propositionize(units)
assert found[:7] == [facts(unit) for unit in units[:7]]
"""
CLAIM = """
import sys
sys.path.insert(0, sys.argv[1])
from factoid.propositions import PropositionCache
from factoid.propositions.caching.claimants import claimant
from tests.propositions.passages import passages
PropositionCache(sys.argv[2]).claim("towns@1", passages(4), seen={}, patience=9)
print(claimant(), flush=True)
sys.stdin.readline()
"""


def start(code, *arguments):
    command = [sys.executable, "-c", code, ROOT, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("patience", [60.0, 0.6], ids=["short work", "work that lasts longer than patience"])
@pytest.mark.parametrize("count", [40, 100])
def test_two_processes_divide_slow_work_and_ask_each_passage_once(tmp_path, count, patience):
    logs = [tmp_path / f"log{number}" for number in range(2)]
    processes = [start(WORKER, tmp_path / "cache", log, count, patience) for log in logs]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    asked = [log.read_text().split() for log in logs]
    assert sorted(asked[0] + asked[1]) == sorted(map(str, range(count)))
    assert min(map(len, asked)) >= count / 4


def test_what_a_process_claimed_is_free_as_soon_as_it_is_dead(tmp_path):
    process = start(CLAIM, tmp_path / "cache")
    owner = process.stdout.readline().strip()
    with PropositionCache(tmp_path / "cache") as kept:
        assert not has_ended(owner)
        assert kept.claim("towns@1", passages(4), seen={}, patience=99) == ({}, [])
        process.kill()
        process.communicate()
        assert has_ended(owner)
        assert kept.claim("towns@1", passages(4), seen={}, patience=99) == ({}, [0, 1, 2, 3])


def test_of_which_processes_it_is_known_that_they_have_ended():
    machine, pid, began = json.loads(claimant())
    assert not has_ended(claimant())
    assert not has_ended(json.dumps([f"{machine}?", 2**22 + 1, "1"]))
    assert has_ended(json.dumps([machine, 2**22 + 1, ""]))
    assert not has_ended(json.dumps([machine, pid, ""]))  # where no beginnings are known
    if began:
        assert has_ended(json.dumps([machine, pid, f"{began}0"]))  # the number was given out again


def test_only_what_this_process_claimed_is_renewed_and_released(tmp_path, monkeypatch):
    with PropositionCache(tmp_path / "cache") as kept:
        kept.claim("m", passages(1), seen={}, patience=9)
        seen = {}
        kept.claim("m", passages(1), seen=seen, patience=9)
        kept.renew("m", passages(1))
        assert kept.claim("m", passages(1), seen=seen, patience=9) == ({}, [])
        assert len(seen) == 2, "a renewed claim is met as a new one"
        monkeypatch.setattr("factoid.propositions.caching.file.claimant", lambda: json.dumps(["elsewhere", 1, ""]))
        kept.renew("m", passages(1))
        kept.release("m", passages(1))
        assert kept.claim("m", passages(1), seen=seen, patience=9) == ({}, [])
        assert len(seen) == 2


def test_who_does_not_fetch_results_holds_nobody_up_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_PATIENCE", 0.3)
    with PropositionCache(tmp_path / "cache") as kept:
        idle = CachedPropositionizer(Streaming(), kept).stream(passages(4))
        next(idle)
        other = Batching()
        found = CachedPropositionizer(other, kept).propositionize(passages(4))
        assert found == [facts(unit) for unit in passages(4)]
        assert len(other.asked) == 3
        idle.close()


def test_no_more_is_claimed_at_once_than_leaves_something_for_others():
    inner = Batching()
    share = CachedPropositionizer(inner, "unused").share
    assert [share(left) for left in (1, 40, 100, 400, 10_000)] == [16, 16, 25, 100, 256]
    inner.max_concurrency = 32
    assert [share(left) for left in (40, 400, 10_000)] == [64, 100, 256]
    inner.max_concurrency, inner.batch_size = "many", 20
    assert share(40) == 20
    assert CachedPropositionizer(inner, "unused", batch_size=3).share(40) == 3


def test_a_heartbeat_that_fails_says_so_and_goes_on(caplog):
    again, calls = threading.Event(), []

    def beat():
        calls.append(1)
        if len(calls) == 2:
            again.set()
        raise StoreError("the disk is full")

    heartbeat = Heartbeat(beat, every=0.01)
    assert again.wait(30)
    heartbeat.stop()
    assert "could not be renewed: the disk is full" in caplog.text
