"""What a search has to know of the units of one granularity: arrays, and no texts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from factoid.errors import InvalidInputError
from factoid.search.ranges import Ids, Mask, expanded, insertion_points, membership
from factoid.search.records import Level


class Members:
    """The positions of a column, gathered by value.

    Attributes:
        keys: The distinct values, ascending.
        counts: How often each occurs.
    """

    def __init__(self, values: Ids) -> None:
        # Units come in the order of their parents, mostly: a stable sort is fast on what is sorted already.
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        self._starts = starts_of_runs(ordered)
        self.keys: Ids = ordered[self._starts]
        self.counts: Ids = np.diff(self._starts, append=len(ordered))

    def positions(self, keys: Ids) -> tuple[Ids, Ids]:
        """Return the positions of all entries with these values, and which of `keys` each has. Unknown keys have none."""
        if len(self.keys) == 0:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        counts = np.where(self.keys[at] == keys, self.counts[at], 0)
        entries, which = expanded(self._starts[at], counts)
        return self._order[entries], which


@dataclass(frozen=True, eq=False)
class Columns:
    """The units of one granularity, sorted by (vector, row); each array has shape (n,) and is not to be written to.

    Several units may share a vector. A position is an index into these arrays; a mask holds one boolean for each.

    Attributes:
        vectors: Ids of vectors, those of the index.
        rows: Rows of the units.
        parents: Rows of their passages; a unit's own row where it has none.
        documents: Rows of their documents.
        metadata: Rows of their metadata.
    """

    vectors: Ids
    rows: Ids
    parents: Ids
    documents: Ids
    metadata: Ids

    @classmethod
    def empty(cls) -> Columns:
        """Return the columns of no units."""
        return cls(*(_frozen(np.empty(0, np.int64)) for _ in range(5)))

    @classmethod
    def from_arrays(cls, *, vectors: Ids, rows: Ids, parents: Ids, documents: Ids, metadata: Ids) -> Columns:
        """Return columns of units in any order; the arrays are copied.

        Raises:
            InvalidInputError: The arrays are not of one length.
        """
        given = [np.asarray(each, np.int64) for each in (vectors, rows, parents, documents, metadata)]
        if len({each.shape for each in given}) > 1 or given[0].ndim != 1:
            message = f"expected five arrays of one length, got shapes {[each.shape for each in given]}"
            raise InvalidInputError(message)
        order = np.lexsort((given[1], given[0]))
        return cls(*(_frozen(each[order]) for each in given))

    def __len__(self) -> int:
        return len(self.rows)

    def distinct_vectors(self, mask: Mask | None = None) -> Ids:
        """Return the ids of the vectors of all units, or of those in the mask: ascending, each once."""
        vectors = self.vectors if mask is None else self.vectors[mask]
        return vectors[starts_of_runs(vectors)]

    def positions_of_vectors(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the positions of all units that have these vectors, and which of `ids` each has."""
        starts = np.searchsorted(self.vectors, ids, "left")
        return expanded(starts, np.searchsorted(self.vectors, ids, "right") - starts)

    def positions_of_rows(self, rows: Ids) -> tuple[Ids, Ids]:
        """Return the positions of the units of these rows, and which of `rows` each is; unknown rows have none."""
        return self.members("unit").positions(rows)

    def children_of(self, parents: Ids, level: Level = "passage") -> tuple[Ids, Ids]:
        """Return the positions of the units under these parents, and which of `parents` each has."""
        return self.members(level).positions(parents)

    def keys(self, level: Level) -> Ids:
        """Return what each unit is grouped by: its own row, its passage's or its document's."""
        return {"unit": self.rows, "passage": self.parents, "document": self.documents}[level]

    def members(self, level: Level) -> Members:
        """Return the units gathered by parent; made once, on the first call."""
        if level == "unit":
            return self._by_row
        return self._by_parent if level == "passage" else self._by_document

    def mask_of_metadata(self, metadata: Ids) -> Mask:
        """Return which units have one of these rows of metadata."""
        return membership(self.metadata, metadata)

    def mask_of_documents(self, documents: Ids) -> Mask:
        """Return which units belong to one of these documents."""
        return membership(self.documents, documents)

    def mask_of_parents(self, parents: Ids) -> Mask:
        """Return which units have one of these parents."""
        return membership(self.parents, parents)

    def mask_of_rows(self, rows: Ids) -> Mask:
        """Return which units are in these rows."""
        return membership(self.rows, rows)

    def replaced(self, removed_rows: Ids, added: Columns) -> Columns:
        """Return columns without some units and with others; one that is in both is replaced. Unknown rows are ignored."""
        old = [getattr(self, each.name) for each in fields(self)]
        gone = self.mask_of_rows(removed_rows) if len(removed_rows) else None
        if gone is not None and gone.any():
            left = ~gone
            old = [each[left] for each in old]
        if len(added):
            new = [getattr(added, each.name) for each in fields(added)]
            points = insertion_points(old[0], old[1], added.vectors, added.rows)
            if points[0] == len(old[0]):  # after everything: the common case, since ids ascend
                old = [np.concatenate(pair) for pair in zip(old, new, strict=True)]
            else:
                at = points + np.arange(len(points))
                kept = np.ones(len(old[0]) + len(at), np.bool_)
                kept[at] = False
                old = [_woven(kept, at, *pair) for pair in zip(old, new, strict=True)]
        return Columns(*(_frozen(each) for each in old))

    @cached_property
    def _by_row(self) -> Members:
        return Members(self.rows)

    @cached_property
    def _by_parent(self) -> Members:
        return Members(self.parents)

    @cached_property
    def _by_document(self) -> Members:
        return Members(self.documents)


def starts_of_runs(values: Ids) -> Ids:
    """Return where the runs of equal values begin. Shape: (runs,)."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.flatnonzero(new)


def _woven(kept: Mask, at: Ids, old: Ids, new: Ids) -> Ids:
    woven = np.empty(len(kept), np.int64)
    woven[kept] = old
    woven[at] = new
    return woven


def _frozen(values: Ids) -> Ids:
    values.flags.writeable = False
    return values
