"""The data that a search needs about the units of one granularity: arrays, without texts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from factoid.index.part import membership

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Members:
    """A column, and its positions grouped by value when first asked for."""

    def __init__(self, values: Ids) -> None:
        self.values = values

    @cached_property
    def keys(self) -> Ids:
        """The distinct values, ascending."""
        return self.values[self._order[self._starts]]

    @cached_property
    def _order(self) -> Ids:
        # Units mostly come in the order of their parents: a stable sort is fast on nearly sorted input.
        return np.argsort(self.values, kind="stable")

    @cached_property
    def _starts(self) -> Ids:
        return starts_of_runs(self.values[self._order])

    @cached_property
    def _counts(self) -> Ids:
        return np.diff(self._starts, append=len(self.values))

    def positions(self, keys: Ids) -> tuple[Ids, Ids]:
        """Return the positions of all entries with these values, and which of `keys` each has. Unknown keys have none."""
        if len(self.keys) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        entries, which = ranges(self._starts[at], np.where(self.keys[at] == keys, self._counts[at], 0))
        return self._order[entries], which


@dataclass(frozen=True, eq=False)
class Columns:
    """The units of one granularity, sorted by (vector, row); each array has shape (n,) and is read-only.

    Several units may share a vector. A position is an index into these arrays; a mask holds one boolean for each.
    """

    vectors: Ids  # ids of vectors, as in the index
    rows: Ids  # of the units
    parents: Ids  # rows of their passages; the own row of a passage, and of a unit without one
    documents: Ids  # rows of their documents
    metadata: Ids  # rows of their metadata

    def __post_init__(self) -> None:
        for column in fields(self):
            getattr(self, column.name).flags.writeable = False

    @classmethod
    def empty(cls) -> Columns:
        """Return the columns of no units."""
        return cls(*(np.empty(0, np.int64) for _ in fields(cls)))

    @classmethod
    def of(cls, table: Ids) -> Columns:
        """Return columns of units in any order from the rows of an array, which is copied. Shape: (5, n)."""
        return cls(*table.take(np.lexsort((table[1], table[0])), axis=1))

    def stacked(self) -> Ids:
        """Return columns as one array, the form in which they are written. Shape: (5, n)."""
        return np.stack([getattr(self, column.name) for column in fields(self)])

    def __len__(self) -> int:
        return len(self.rows)

    def distinct_vectors(self, mask: Mask | None = None) -> Ids:
        """Return the ids of the vectors of all units, or of those in the mask: ascending, each once."""
        vectors = self.vectors if mask is None else self.vectors[mask]
        return vectors[starts_of_runs(vectors)]

    def positions_of_vectors(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the positions of all units that have these vectors, and which of `ids` each has."""
        starts = np.searchsorted(self.vectors, ids, "left")
        return ranges(starts, np.searchsorted(self.vectors, ids, "right") - starts)

    @cached_property
    def members(self) -> dict[str, Members]:
        """The units grouped by level: by their own rows, their passages or their documents."""
        return {"unit": Members(self.rows), "passage": Members(self.parents), "document": Members(self.documents)}

    def replaced(self, removed_rows: Ids, added: Columns) -> Columns:
        """Return columns without the removed units and with the added; one in both is replaced. Unknown rows are ignored."""
        rest = ~membership(self.rows, removed_rows)
        return Columns.of(np.hstack([self.stacked()[:, rest], added.stacked()]))


def ranges(starts: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """Return the ranges `[start, start + count)` one after the other, and the number of the range of each entry."""
    which = np.repeat(np.arange(len(starts)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(len(which)) + (starts - before)[which], which


def starts_of_runs(values: Ids) -> Ids:
    """Return where the runs of equal values begin. Shape: (runs,)."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.flatnonzero(new)
