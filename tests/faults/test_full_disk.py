"""A full disk: one clear error, nothing that was committed is lost, and adding goes on when there
is space again.
"""

from __future__ import annotations

import signal

import pytest

from factoid.errors import StoreError
from tests.faults.content import family, opened, vector_of
from tests.faults.damage import check_again, no_leftovers
from tests.faults.model import State, check
from tests.faults.worker import PATIENCE, apart

pytest.importorskip("faiss")
resource = pytest.importorskip("resource")

SIZE = 3 << 20  # bytes of the largest file


class Quota:
    """No file may grow beyond SIZE.

    SQLite is told "file too large" as others are told "no space".
    """

    def __init__(self):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self._hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        self._limit(SIZE)

    def _limit(self, size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, self._hard))

    def fill(self):
        """Let nothing be written any more."""
        self._limit(1)

    def free(self):
        self._limit(self._hard)


def filled(folder):
    """Fill a disk and free it, checking the content and all answers before and after each failure;
    return what happened.
    """
    disk, path = Quota(), folder / "store"
    state, messages, number = State(), [], 0

    def more(count):
        units = [each for own in range(number, number + count) for each in family(own, 0, own)]
        return units, [vector_of(each.text) for each in units]

    with opened(path) as store:
        for count in (60, 60, 12, 4, 1):  # ever smaller, so that little space is left
            while True:
                units, vectors = more(count)
                try:
                    store.add(units, vectors=vectors)
                except StoreError as error:
                    messages.append(str(error))
                    check(store, state)  # all that was committed, and nothing of the rest
                    break
                state = state.with_units(units, vectors)
                number += count
        disk.fill()
        try:
            store.delete(["d0"])  # needs space as well
            state = state.without(["d0"])
        except StoreError as error:
            messages.append(str(error))
        check(store, state)
    # Closed on a full disk: what could be written of a cache is to be removed, for the disk is
    # full.
    parts = sorted(file.name for file in path.iterdir() if file.suffix == ".part")
    try:
        with opened(path) as store:
            check(store, state)
    except StoreError as error:  # to open may need a few bytes, for the shared memory of the log
        messages.append(str(error))
    disk.free()
    with opened(path) as store:
        check(store, state)
        units, vectors = more(80)
        store.add(units, vectors=vectors)
        state = state.with_units(units, vectors)
    no_leftovers(path)
    check_again(path, state)
    return messages, parts, len(state.units), len(list(path.iterdir()))


def test_adds_until_the_disk_is_full_and_on_when_there_is_space(tmp_path):
    messages, parts, units, files = apart(filled, tmp_path).get(PATIENCE)
    assert len(messages) >= 5
    assert all("Free" in message for message in messages)
    assert parts == []  # nothing is left of a cache that could not be written
    assert units > 400
    assert files == 7  # the database, the vectors and all caches
