"""KeyboardInterrupt at chosen lines of the store's code: what Ctrl-C may do at any moment, the same on every run."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

import factoid
from factoid.errors import StoreError
from tests.faults.content import DIM, add_documents, document, opened
from tests.faults.damage import fresh, make
from tests.faults.model import WrongAnswerError, check
from tests.faults.operations import steps
from tests.faults.verify import settle

pytest.importorskip("faiss")

# A file that was opened when Ctrl-C came is closed by Python, which warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

SOURCE = str(Path(factoid.__file__).parent)
LINES = 40  # at most, of each operation
RECORDS = {
    "add": {"op": "add", "passages": [[1, 0], [50, 0]], "version": 3, "keep": False},
    "documents": {"op": "documents", "numbers": [1, 20], "version": 7},
    "delete": {"op": "delete", "ids": ["d1", "t2"]},
    "search": {"op": "search"},
    "copy": {"op": "copy", "to": "copy"},
    "clear": {"op": "clear"},
}


def do(store, record, folder):
    from tests.faults import operations

    if record["op"] == "search":
        store.search_by_vector(np.ones(DIM, np.float32), filter={"group": 1})
    elif record["op"] == "documents":
        add_documents(store, [document(number, record["version"]) for number in record["numbers"]])
    else:
        operations.do(store, record, folder)


def interrupted(call, line):
    """Call with a KeyboardInterrupt at the nth line that the package executes; return how many lines it executed."""
    count = 0

    def each(frame, event, _argument):
        nonlocal count
        if event == "line":
            count += 1
            if count == line:
                sys.settrace(None)
                raise KeyboardInterrupt
        return each

    def trace(frame, _event, _argument):
        return each if frame.f_code.co_filename.startswith(SOURCE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return count


def fault(source, folder, state, record, line):
    """Return what is wrong with a store after an interrupt at a line, or None."""
    states = steps(state, record)
    with opened(fresh(source, folder / "store")) as store:
        store.search_by_vector(np.ones(DIM, np.float32))  # so that an index is held, and is to follow the write
        interrupted(lambda: do(store, record, folder), line)
        try:
            found = states[settle(store, states)]
            check(store, found)
            record = {"op": "add", "passages": [[70, 0]], "version": 1, "keep": False}
            do(store, record, folder)
            check(store, steps(found, record)[-1])
        except (WrongAnswerError, StoreError) as error:
            return str(error)[-150:]
    return None


@pytest.mark.parametrize("name", RECORDS)
def test_at_any_line(tmp_path, name):
    source = tmp_path / "source"
    state = make(source, count=4)
    record = RECORDS[name]
    with opened(fresh(source, tmp_path / "store")) as store:
        lines = interrupted(lambda: do(store, record, tmp_path), -1)
    chosen = range(1, lines + 1)
    if lines > LINES:
        chosen = sorted(random.Random(name).sample(chosen, LINES))
    faults = {line: fault(source, tmp_path, state, record, line) for line in chosen}
    assert {line: text for line, text in faults.items() if text} == {}
