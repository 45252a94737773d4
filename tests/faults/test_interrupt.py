"""KeyboardInterrupt at chosen lines of Python code: what Ctrl-C may do at any moment, the same on every run."""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import threading
from pathlib import Path

import filelock
import numpy as np
import pytest

import factoid
from factoid.errors import StoreError
from tests.faults import operations
from tests.faults.content import DIM, opened
from tests.faults.damage import fresh, make
from tests.faults.model import State, WrongAnswerError, check
from tests.faults.operations import steps
from tests.faults.verify import check_again, settle

pytest.importorskip("faiss")

# A file that was opened when Ctrl-C came is closed by Python, which warns of it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

SOURCE = str(Path(factoid.__file__).parent)
FILELOCK = str(Path(filelock.__file__).parent)
LINES = 40  # at most, of each operation
QUERY = np.ones(DIM, np.float32)
RECORDS = {
    "add": {"op": "add", "passages": [[1, 0], [50, 0]], "version": 3, "keep": False},
    "documents": {"op": "documents", "numbers": [1, 20], "version": 7},
    "delete": {"op": "delete", "ids": ["d1", "t2"]},
    "search": {"op": "search"},
    "copy": {"op": "copy", "to": "copy"},
    "compact": {"op": "compact"},
    "clear": {"op": "clear"},
}


def do(store, record, folder):
    if record["op"] == "search":
        store.search_by_vector(QUERY, filter={"group": 1}, expand=1)
    else:
        operations.do(store, record, folder)


def in_filelock(frame):
    """Tell whether filelock is at work, which keeps locks of the process where it is interrupted: other threads would wait."""
    while frame and not frame.f_code.co_filename.startswith(FILELOCK):
        frame = frame.f_back
    return frame is not None


def interrupted(call, line, within=SOURCE, events=("line",)):
    """Call with a KeyboardInterrupt at the nth line that is executed; return how many lines were.

    Args:
        call: What to call.
        line: Which line.
        within: How the names of the files begin whose lines count.
        events: What counts beside lines: "return" is the moment when a function has done its work.
    """
    count = 0

    def each(frame, event, _argument):
        nonlocal count
        if event in events:
            count += 1
            if count == line:
                sys.settrace(None)
                raise KeyboardInterrupt
        return each

    def trace(frame, _event, _argument):
        return each if frame.f_code.co_filename.startswith(within) and not in_filelock(frame) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return count


def some(lines, seed):
    return sorted(random.Random(seed).sample(range(1, lines + 1), min(lines, LINES)))


def fault(source, folder, state, record, line, within):
    """Return what is wrong with a store and its copy after an interrupt at a line, or None."""
    states = steps(state, record)
    with opened(fresh(source, folder / "store")) as store:
        store.search_by_vector(QUERY)  # so that an index is held, and is to follow the write
        interrupted(lambda: do(store, record, folder), line, within)
        try:
            found = states[settle(store, states)]
            check(store, found)
            record = {"op": "add", "passages": [[70, 0]], "version": 1, "keep": False}
            do(store, record, folder)
            check(store, steps(found, record)[-1])
            if (folder / "copy").exists():
                with opened(folder / "copy") as copy:
                    settle(copy, [state, State()])
        except (WrongAnswerError, StoreError) as error:
            return str(error)[-150:]
    return None


# Of all Python code, to catch what others' code leaves half done; and of the package's own, where most is at stake.
@pytest.mark.parametrize("within", [SOURCE, ""], ids=["package", "anywhere"])
@pytest.mark.parametrize("name", RECORDS)
def test_at_any_line(tmp_path, name, within, few):
    source = tmp_path / "source"
    state = make(source, count=4)
    record = RECORDS[name]
    with opened(fresh(source, tmp_path / "store")) as store:
        lines = interrupted(lambda: do(store, record, tmp_path), -1, within)
    faults = {line: fault(source, tmp_path, state, record, line, within) for line in few(some(lines, name))}
    assert {line: text for line, text in faults.items() if text} == {}


@contextlib.contextmanager
def seconds(count):
    """Raise TimeoutError in a block that takes longer."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(count)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


ANYWHERE = {"within": (SOURCE, threading.__file__, contextlib.__file__), "events": ("line", "return")}


def test_ctrl_c_while_a_search_takes_its_locks_leaves_none_of_them_taken(tmp_path, few):
    make(tmp_path / "store", count=2)
    with opened(tmp_path / "store") as store:
        hits = store.search_by_vector(QUERY)
        lines = interrupted(lambda: store.search_by_vector(QUERY), -1, **ANYWHERE)
        for line in few(range(1, lines + 1)):
            interrupted(lambda: store.search_by_vector(QUERY), line, **ANYWHERE)
            with seconds(20):
                assert store.search_by_vector(QUERY) == hits, line
        with seconds(20):
            store.delete(["d0"])
            store.search_by_vector(QUERY)  # waits for the searches that were interrupted, were they still counted


def test_ctrl_c_in_close_and_close_again(tmp_path, few):
    state = make(tmp_path / "store", count=1)

    def changed():
        store = opened(tmp_path / "store")
        store.search_by_vector(QUERY)
        store.retry_failures()  # a write, after which caches are to be written
        return store

    lines = interrupted(changed().close, -1, **ANYWHERE)
    for line in few(some(lines, 1)):
        store = changed()
        interrupted(store.close, line, **ANYWHERE)
        with seconds(20):
            store.close()
        with pytest.raises(StoreError, match="closed"):
            store.ids()
        check_again(tmp_path / "store", state, line)
