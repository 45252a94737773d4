"""SIGKILL at random moments of every write: what returned is there, what was in flight is there whole or not at all."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from tests.faults.operations import KINDS
from tests.faults.verify import History, verify
from tests.faults.worker import killed_in

pytest.importorskip("faiss")

KILLS = int(os.environ.get("FACTOID_FAULT_KILLS", "240"))
A_STORE = 20  # kills before another store is begun
LONGEST = 0.03  # seconds that an operation takes at most, roughly

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")]


@pytest.mark.parametrize("seed", range(max(1, KILLS // A_STORE)))
def test_killed_at_any_moment(tmp_path, seed):
    chance = random.Random(seed)
    targets = ["verify", "open", *(kind for kind in KINDS if kind != "clear")]
    caught = Counter()
    done = 0
    for number in range(A_STORE):
        kind = targets[(seed * A_STORE + number) % len(targets)]
        count = 1 if kind in ("verify", "open") else chance.randint(1, 2)
        killed_in(tmp_path, seed * 1000 + number, kind, count, LONGEST * chance.random() ** 3)
        caught[(History(tmp_path).running or {"op": "none"})["op"]] += 1
        if chance.random() < 0.6:  # else the next worker does it, and may be killed meanwhile
            done = verify(tmp_path, number)
    verify(tmp_path, seed)
    assert done > A_STORE
    assert len(caught) > 3, f"the kills hit {caught} only"
