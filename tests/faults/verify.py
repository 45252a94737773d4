"""Is a store, after a crash, in one of the states that its journal allows?

The journal tells what a worker was about to do and what returned: JSON lines, each on disk before the next step. Records:
{"begin": operation}, {"end": true}, and {"settled": n, "copies": {name: m}} after a crash: the nth of the states that were
possible was found, and of each copy's former and new content the mth.
"""

from __future__ import annotations

import gc
import json
import os

from tests.faults.content import KINDS, opened
from tests.faults.model import State, WrongAnswerError, check, check_content, check_searches, require
from tests.faults.operations import steps

NAMES = {"units.sqlite", "lexical.files.npy", "lexical.json", "lexical.columns.npy"}
NAMES |= {f"{kind}.{end}" for kind in KINDS for end in ("faiss", "json", "columns.npy", "ids.npy")}


def note(folder, record):
    """Append a record to the journal of a store, and wait until the disk holds it."""
    with (folder / "journal").open("ab", buffering=0) as file:
        file.write(json.dumps(record).encode() + b"\n")
        os.fsync(file)


class History:
    """The states that a journal allows: of the store and of its copies, each a list of candidates."""

    def __init__(self, folder):
        self.states = [State()]
        self.copies = {}
        self.running = None  # the operation in flight
        self.done = 0
        journal = folder / "journal"
        for line in journal.read_text().splitlines() if journal.exists() else []:
            self._read(json.loads(line))

    def _read(self, record):
        if "begin" in record:
            assert len(self.states) == 1, "an operation began before the crash before it was settled"
            self.running = record["begin"]
            self.states = steps(self.states[0], self.running)
            if self.running["op"] == "copy":
                former = self.copies.get(self.running["to"], [None])
                self.copies[self.running["to"]] = [*former, self.states[0]]
        elif "end" in record:
            self.states = self.states[-1:]
            if self.running["op"] == "copy":
                del self.copies[self.running["to"]][:-1]
            self.running = None
            self.done += 1
        else:
            self.states = [self.states[record["settled"]]]
            self.copies = {name: [each[record["copies"][name]]] for name, each in self.copies.items()}
            self.running = None


def settle(store, candidates):
    """Return the position of the first state that the store is in."""
    failures = []
    for position, state in enumerate(candidates):
        try:
            check_content(store, state or State())
        except WrongAnswerError as error:
            failures.append(str(error))
        else:
            return position
    message = f"none of {len(candidates)} possible states: " + " || ".join(failures)
    raise WrongAnswerError(message)


def no_leftovers(path):
    """Raise if a closed store holds any file but its database and caches."""
    extra = {file.name for file in path.iterdir()} - NAMES
    require(not extra, "files that nothing needs were left behind:", sorted(extra))


def verify(folder, seed):
    """Check a store and its copies as the next process would, and settle what was in flight; return how much had ended."""
    history, found = History(folder), {}
    with opened(folder / "store") as store:
        position = settle(store, history.states)
        check_searches(store, history.states[position], seed)
    no_leftovers(folder / "store")
    for name, candidates in history.copies.items():
        if not (folder / name).exists():
            require(candidates[0] is None, "the copy", name, "is not there")
            found[name] = 0
            continue
        with opened(folder / name) as copy:
            found[name] = settle(copy, candidates)
            check_searches(copy, candidates[found[name]] or State(), seed)
        no_leftovers(folder / name)
    note(folder, {"settled": position, "copies": found})
    return history.done


def check_again(path, state, seed=0):
    """Open, check and close a store twice: as it is, and with the caches that the first one wrote."""
    gc.collect()  # an interrupt may leave connections in cycles of frames and tracebacks
    for _ in range(2):
        with opened(path) as store:
            check(store, state, seed)
    no_leftovers(path)
