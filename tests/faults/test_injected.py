"""An operating system that fails at any call that changes a file: nothing committed is lost, errors say what to do, nothing is left."""

from __future__ import annotations

import errno
import random
import re
import shutil
from collections import Counter
from itertools import product

import pytest

from tests.faults.injected import CAMPAIGN, KILL, Fault, Server, build
from tests.faults.workloads import WORKLOADS

pytest.importorskip("faiss")
pytest.importorskip("fsspec")

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS)
ADVICE = re.compile(r"\b(free some space|make .* writable|check the disk|build|run again|try again|name|restore)\b", re.IGNORECASE)
CASES = pytest.mark.parametrize("cases", [10, pytest.param(CAMPAIGN, marks=pytest.mark.slow)], ids=["few", "all"])


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    library = build(tmp_path_factory.mktemp("library"))
    if library is None:
        pytest.skip("needs Linux and a C compiler (cc), to let calls of the system fail")
    server = Server(library, "tests.faults.workloads")
    yield server
    server.close()


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
        assert self._run("digest").value == self.states[-1]
        self._run("work")
        assert self._run("digest").value == self.states[-1]
        self._listing = self._list()

    def try_once(self, fault, *, retry=False):
        """Try one fault, and check what is there afterwards; return what happened."""
        self._make_anew(self._pristine)
        outcome = self._server.run(f"work {self.name}", self._inside, self._temporary, fault, retry=retry)
        self._check_end(outcome)
        digest = self._run("digest").value
        if outcome.ended == "returned" and not self._swallows_errors() or (outcome.ended == "raised" and retry):
            allowed = self.states[-1:]
        else:
            done = len(outcome.said)
            allowed = self.states[done : done + 2]
        assert digest in allowed, f"something else is there than after {len(outcome.said)} steps"
        self._run("work")
        assert self._run("digest").value == self.states[-1], "another try did not do it"
        assert self._list() == self._listing, "something was left behind"
        return outcome

    def _check_end(self, outcome):
        assert outcome.ended in ("returned", "raised", "killed"), f"it {outcome.ended}"
        if outcome.ended == "raised":
            assert "FactoidError" in outcome.types, f"a raw error\n{outcome.trace}"
            assert ADVICE.search(outcome.error), f"an error that does not say what to do: {outcome.error}"
        assert not outcome.again, f"the next call failed, too\n{outcome.again}"

    def _swallows_errors(self):
        return self.name == "tokens"  # which are kept if there is space

    def _run(self, step):
        outcome = self._server.run(f"{step} {self.name}", self._inside, self._temporary)
        assert outcome.ended == "returned", f"{step}: {outcome.trace or outcome.ended}"
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
        return sorted(re.sub(r"-\d+\.", "-#.", name) for name in outside)


def tried(trials, faults):
    """Try some faults; return how often each end was seen. All that is wrong is said at once."""
    ends = Counter()
    wrong = []
    for fault in faults:
        can_go_on = fault.error != KILL and not fault.lasting and not fault.seconds
        retry = can_go_on and fault.call % 2 == 0
        try:
            ends[trials.try_once(fault, retry=retry).ended] += 1
        except AssertionError as error:
            wrong.append(f"{fault}{', tried again' * retry}: {str(error)[:3000]}")
    assert not wrong, f"{len(wrong)} of {sum(ends.values()) + len(wrong)}:\n" + "\n".join(wrong[:20])
    return ends


@CASES
@pytest.mark.parametrize("name", WORKLOADS)
def test_killed_at_any_call_and_at_any_moment(server, tmp_path, name, cases):
    trials = Trials(server, name, tmp_path)
    chance = random.Random(name)
    moments = [Fault(error=KILL, seconds=chance.uniform(0.001, 0.1)) for _ in range(cases // 5)]
    calls = evenly(trials.calls, cases - len(moments), name)
    faults = [Fault(call, KILL, torn=bool(number % 2)) for number, call in enumerate(calls)]
    ends = tried(trials, faults + moments)
    assert ends["killed"] >= len(faults)


@CASES
@pytest.mark.parametrize("name", WORKLOADS)
def test_errors_of_any_call(server, tmp_path, name, cases):
    trials = Trials(server, name, tmp_path)
    kinds = list(product(ERRORS, (False, True)))
    calls = evenly(trials.calls, cases, name)
    faults = []
    for number, call in enumerate(calls):
        error, lasting = kinds[number % len(kinds)]
        faults.append(Fault(call, error, lasting, torn=error == errno.ENOSPC))
    ends = tried(trials, faults)
    assert ends["raised"] + ends["returned"] == len(faults)


def evenly(calls, count, seed):
    """Return numbers of calls: all of them, again and again, or some that are spread over them."""
    if calls < count:
        return [1 + number % calls for number in range(count)]
    step = calls / count
    offset = random.Random(seed).random()
    return [1 + int((number + offset) * step) for number in range(count)]
