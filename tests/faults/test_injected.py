"""Calls of the system that fail or are the last: nothing committed is lost, errors say what to do,
and nothing is left behind.
"""

from __future__ import annotations

import errno
import random
import re
import shutil
from collections import Counter
from functools import cache
from itertools import product

import pytest

from tests.faults.injected import CAMPAIGN, KILL, CAMPAIGN_SECONDS, Fault, Server, build
from tests.faults.workloads import WORKLOADS

pytest.importorskip("faiss")
pytest.importorskip("fsspec")
pytestmark = pytest.mark.timeout(CAMPAIGN_SECONDS)

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS)
ADVICE = re.compile(
    r"\b(Free some|Make its|Check that|try again|name another|open it|send it again|Build it)\b"
)
FEW = 3
VARIANTS = (
    "compacting HNSW",
    "merging",
    "copying over",
    "propositions in a store",
    "articles changed",
    "exporting Parquet",
)
CASES = [pytest.param(name, FEW, id=f"{name}-few") for name in WORKLOADS if name not in VARIANTS]
CASES += [
    pytest.param(name, CAMPAIGN, id=f"{name}-all", marks=pytest.mark.slow) for name in WORKLOADS
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    library = build(tmp_path_factory.mktemp("library"))
    if library is None:
        pytest.skip("needs Linux and a C compiler (cc), to let calls of the system fail")
    server = Server(library, "tests.faults.workloads")
    yield server
    server.close()


@pytest.fixture(scope="module")
def trials_of(server, tmp_path_factory):
    """Return a function that returns the trials of a workload."""
    return cache(lambda name: Trials(server, name, tmp_path_factory.mktemp("trials")))


class Wrong(Exception):
    """What must not be."""


def require(holds, *otherwise):
    if not holds:
        raise Wrong(" ".join(map(str, otherwise)))


class Trials:
    """Trials of one workload, each with what it needs as new."""

    def __init__(self, server, name, folder):
        self._server = server
        self.name = name
        self._folder = folder
        self._inside = folder / "inside"
        self._temporary = folder / "temporary"
        self._pristine = folder / "pristine"
        self._make_anew(None)
        self._run("prepare")
        self._inside.rename(self._pristine)
        self._make_anew(self._pristine)
        self.states = self._run("states").value
        self._make_anew(self._pristine)
        self.calls = self._run("work").calls
        self._run("work")
        require(
            self._run("digest").value == self.states[-1],
            "what is there depends on how often the work was done",
        )
        self._listing = self._list()

    def try_once(self, fault, *, retry=False):
        """Try one fault, and check what is there afterwards; return what happened."""
        self._make_anew(self._pristine)
        outcome = self._server.run(
            f"work {self.name}", self._inside, self._temporary, fault, retry=retry
        )
        self._check_end(outcome)
        digest = self._run("digest").value
        done = len(outcome.said)
        allowed = self.states[done : done + 2]
        if (outcome.ended == "returned" and self.name != "tokens") or (
            outcome.ended == "raised" and retry
        ):
            allowed = self.states[-1:]  # a cache of tokens goes without what it cannot write
        require(digest in allowed, f"something else is there than after {len(outcome.said)} steps")
        self._run("work")
        require(self._run("digest").value == self.states[-1], "another try did not do it")
        left = self._list()
        require(
            left == self._listing, "something was left behind:", left, "in place of", self._listing
        )
        return outcome

    def _check_end(self, outcome):
        require(outcome.ended in ("returned", "raised", "killed"), f"it {outcome.ended}")
        if outcome.ended == "raised":
            require("FactoidError" in outcome.types, "a raw error:", outcome.trace)
            require(
                ADVICE.search(outcome.error),
                "an error that does not say what to do:",
                outcome.error,
            )
        require(not outcome.again, "the next call failed, too:", outcome.again)

    def _run(self, step):
        outcome = self._server.run(f"{step} {self.name}", self._inside, self._temporary)
        require(outcome.ended == "returned", step, outcome.ended, outcome.trace)
        return outcome

    def _make_anew(self, pristine):
        for place in (self._inside, self._temporary):
            shutil.rmtree(place, ignore_errors=True)
        self._temporary.mkdir()
        if pristine is None:
            self._inside.mkdir()
        else:
            shutil.copytree(pristine, self._inside)

    def _list(self):
        """Return the names of all files and folders, with any number as a generation."""
        files = [file.relative_to(self._folder) for file in self._folder.rglob("*")]
        outside = [str(file) for file in files if file.parts[0] != "pristine"]
        return sorted(re.sub(r"-(\d+-)?(\d+|[0-9a-f]{16})\.", "-#.", name) for name in outside)


def tried(trials, faults):
    """Try some faults; return how often each end was seen. All that is wrong is said at once."""
    ends = Counter()
    wrong = []
    for fault in faults:
        can_go_on = fault.error != KILL and not fault.lasting and not fault.seconds
        retry = can_go_on and fault.call % 2 == 0
        try:
            ends[trials.try_once(fault, retry=retry).ended] += 1
        except Wrong as error:
            wrong.append(f"{fault}{', tried again' * retry}: {str(error)[:3000]}")
    assert not wrong, f"{len(wrong)} of {sum(ends.values()) + len(wrong)}:\n" + "\n".join(
        wrong[:20]
    )
    return ends


@pytest.mark.parametrize(("name", "cases"), CASES)
def test_killed_at_any_call_and_at_any_moment(trials_of, name, cases):
    trials = trials_of(name)
    chance = random.Random(name)
    calls = evenly(trials.calls, cases, name)
    at_calls = [Fault(call, KILL, torn=bool(number % 2)) for number, call in enumerate(calls)]
    at_moments = [Fault(error=KILL, seconds=chance.uniform(0.001, 0.1)) for _ in range(cases // 4)]
    ends = tried(trials, at_calls + at_moments)
    assert ends["killed"] >= cases


@pytest.mark.parametrize(("name", "cases"), CASES)
def test_errors_of_any_call(trials_of, name, cases):
    trials = trials_of(name)
    kinds = list(product(ERRORS, (False, True)))
    random.Random(name).shuffle(kinds)
    faults = []
    for number, call in enumerate(evenly(trials.calls, cases, name)):
        error, lasting = kinds[number % len(kinds)]
        faults.append(Fault(call, error, lasting, torn=error == errno.ENOSPC))
    ends = tried(trials, faults)
    assert ends["raised"] + ends["returned"] == cases


def evenly(calls, count, seed):
    """Return numbers of calls: all of them, again and again, or some that are spread over them."""
    if calls < count:
        return [1 + number % calls for number in range(count)]
    step = calls / count
    offset = random.Random(seed).random()
    return [1 + int((number + offset) * step) for number in range(count)]
