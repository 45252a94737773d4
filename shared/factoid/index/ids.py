"""Which vector has which id: FAISS counts positions, a store counts rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from factoid.errors import InvalidInputError

RowIds = NDArray[np.int64]

_HIDDEN = -1
_SMALLEST = 64

# Looking up m of n ids by bisection costs about as much as marking all n where m is this fraction of n.
_BISECTION = 16
# A mark for every number up to the highest id is worth its memory while ids are at most this sparse.
_SPARSE = 16


def unique_ids(ids: RowIds) -> RowIds:
    """Check ids that are to be added, and return them as int64.

    Raises:
        InvalidInputError: They are not whole numbers from 0 up in one row, or one stands there twice.
    """
    given = np.asarray(ids)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        message = f"ids must be whole numbers in one row, got shape {given.shape} of {given.dtype}"
        raise InvalidInputError(message)
    own = np.ascontiguousarray(given, dtype=np.int64)
    if own.size and own.min() < 0:
        message = f"ids must be 0 or more, got {own.min()}"
        raise InvalidInputError(message)
    if not increasing(own) and len(np.unique(own)) < len(own):
        message = "an id stands twice in what is to be added"
        raise InvalidInputError(message)
    return own


def increasing(ids: RowIds) -> bool:
    """Whether each id is higher than the one before it."""
    return bool((ids[1:] > ids[:-1]).all())


class IdTable:
    """Ids by position, and positions by id. A hidden position has no id."""

    def __init__(self, ids: RowIds | Iterable[int] = ()) -> None:
        self._buffer = np.array(ids, dtype=np.int64)
        self._size = len(self._buffer)
        self.hidden = int((self._buffer < 0).sum())
        self._highest = int(self._buffer.max(initial=-1))
        self._sorted: tuple[RowIds, RowIds | None] | None = None

    def __len__(self) -> int:
        return self._size - self.hidden

    @property
    def by_position(self) -> RowIds:
        """The id of each position, -1 where it is hidden."""
        return self._buffer[: self._size]

    @property
    def live(self) -> RowIds:
        """All ids, ascending."""
        return self._lookup()[0]

    @property
    def highest(self) -> int:
        """A number that no id is above, -1 if there never was one."""
        return self._highest

    def append(self, ids: RowIds) -> None:
        """Give the next positions these ids."""
        size = self._size + len(ids)
        if size > len(self._buffer):
            grown = np.empty(max(_SMALLEST, size, len(self._buffer) * 3 // 2), dtype=np.int64)
            grown[: self._size] = self.by_position
            self._buffer = grown
        self._buffer[self._size : size] = ids
        self._size = size
        self._highest = max(self._highest, int(ids.max(initial=-1)))
        self._sorted = None

    def drop(self, positions: RowIds) -> None:
        """Take positions out: those after them move up."""
        self._buffer = np.delete(self.by_position, positions)
        self._size = len(self._buffer)
        self._sorted = None

    def hide(self, positions: RowIds) -> None:
        """Leave positions without an id."""
        self._buffer[positions] = _HIDDEN
        self.hidden += len(positions)
        self._sorted = None

    def positions(self, ids: RowIds) -> RowIds:
        """Return the position of each id, in their order, or -1 where it is not there."""
        live, order = self._lookup()
        if not len(live):
            return np.full(len(ids), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(live, ids), len(live) - 1)
        there = live[found] == ids
        return np.where(there, found if order is None else order[found], -1)

    def known(self, ids: RowIds) -> NDArray[np.bool_]:
        """Return which ids are there. Rows that grow, as a database gives them, need no look-up."""
        if len(ids) and ids.min() > self._highest:
            return np.zeros(len(ids), dtype=bool)
        return self.positions(ids) >= 0

    def select(self, ids: RowIds) -> RowIds:
        """Return the positions of those of the ids that are there, ascending.

        Args:
            ids: Ascending, each once.
        """
        size, highest = self._size, self.highest
        if len(ids) * _BISECTION < size or highest > _SPARSE * size:
            positions = self.positions(ids)
            return np.sort(positions[positions >= 0])
        marks = np.zeros(highest + 2, dtype=bool)  # the last one is what a hidden position, -1, looks up
        marks[ids[(ids >= 0) & (ids <= highest)]] = True
        return np.flatnonzero(marks[self.by_position])

    def live_positions(self) -> RowIds:
        """Return the positions that are not hidden, ascending."""
        return np.flatnonzero(self.by_position >= 0)

    def _lookup(self) -> tuple[RowIds, RowIds | None]:
        """Return the ids ascending, and the position of each; None where that is its rank. Threads may both make it."""
        if self._sorted is None:
            positions = self.live_positions() if self.hidden else None
            live = self.by_position if positions is None else self.by_position[positions]
            if not increasing(live):
                order = np.argsort(live, kind="stable")
                live, positions = live[order], order if positions is None else positions[order]
            self._sorted = live, positions
        return self._sorted
