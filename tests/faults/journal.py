"""What a worker was about to do and what returned: a file of JSON lines, each on disk before the next step.

Records: {"begin": operation}, {"end": true}, and {"settled": n, "copy": m} after a crash: of the states that were
possible, the nth is the one that was found; and of the copy's former and new content the mth.
"""

from __future__ import annotations

import json
import os

from tests.faults.model import State
from tests.faults.operations import steps


class Journal:
    """The journal of a store, written by one process at a time."""

    def __init__(self, path):
        self.path = path
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def write(self, record):
        os.write(self._file, json.dumps(record).encode() + b"\n")
        os.fsync(self._file)

    def close(self):
        os.close(self._file)


class History:
    """The states that a journal allows: of the store and of its copies, each a list of candidates."""

    def __init__(self, path):
        self.states = [State()]
        self.copies = {}
        self.running = None  # the operation in flight
        self.done = 0
        for line in path.read_text().splitlines() if path.exists() else []:
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
