"""The units of one granularity: arrays of ids without texts, and their scores by an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.units import Granularity
from factoid.vectors import VectorIndex
from factoid.vectors.kinds import candidates
from factoid.vectors.matrix import best_first, gathered_products
from factoid.vectors.vector_index import membership, places_in

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

_SCATTERED = 6  # times as long takes a product with some vectors as one with as many in a row

# So many units, or fewer, are all scored although their index is not exact: if it holds the
# vectors, or the database does.
_FEW_HELD = 20_000
_FEW_READ = 10_000
# A number for every id of a vector up to the highest is worth its memory if they are as sparse.
_SPARSE = 4
_WIDER = 4  # times as many vectors, where an index found too few


class Grouping(NamedTuple):
    """Positions in a column, grouped by value."""

    positions: Ids  # sorted by value, equal ones ascending. Shape: (n,)
    bounds: Ids  # where each value begins in `positions`, and the end. Shape: (values + 1,)
    keys: Ids  # the distinct values, ascending. Shape: (values,)

    @classmethod
    def of(cls, column: Ids, positions: Ids | None = None) -> Self:
        """Group a column, or some positions in it."""
        if positions is None:
            values = column
        else:
            values = column[positions]
        # Units mostly come in the order of their parents: a stable sort is fast on nearly sorted
        # input.
        order = np.argsort(values, kind="stable")
        starts = starts_of_runs(values[order])
        keys = values[order[starts]]
        if positions is not None:
            order = positions[order]
        return cls(order, np.append(starts, len(values)), keys)

    def find(self, keys: Ids) -> tuple[Ids, Ids]:
        """Return where in `positions` the groups of these keys are, and which key each has.

        Unknown keys have none.
        """
        places = places_in(self.keys, keys)
        starts = self.bounds[places]
        counts = np.where(places >= 0, self.bounds[places + 1] - starts, 0)
        return ranges(starts, counts)

    def within(self, keys: Ids) -> Grouping:
        """Return the groups that have these keys, ascending."""
        if np.array_equal(keys, self.keys):
            return self
        places, which = self.find(keys)
        starts = starts_of_runs(which)
        return Grouping(self.positions[places], np.append(starts, len(places)), keys[which[starts]])


@dataclass(frozen=True, eq=False)
class Columns:
    """The units of one granularity, sorted by (vector, row).

    Each array has shape (n,) and is read-only. Several units may share a vector. A position is an
    index into these arrays; a mask holds one boolean for each.
    """

    vector_ids: Ids  # as in the index
    rows: Ids  # of the units
    passages: Ids  # rows of their passages; the own row of a passage, and of a unit without one
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
        """Return columns of units in any order from the rows of an array, which is copied.

        Shape: (5, n).
        """
        return cls(*table.take(np.lexsort((table[1], table[0])), axis=1))

    @classmethod
    def checked(cls, stacked: Ids) -> Columns:
        """Return columns from what `stacked` returned.

        Raise ValueError for an array that it cannot have returned.
        """
        expected = (
            stacked.dtype == np.int64 and stacked.ndim == 2 and len(stacked) == len(fields(cls))
        )
        if not expected or stacked.min(initial=0) < 0:
            raise ValueError("its columns are of another type")
        vectors, rows = stacked[:2]
        later = vectors[1:] > vectors[:-1]
        if not later.all():
            later |= (vectors[1:] == vectors[:-1]) & (rows[1:] > rows[:-1])
        if not later.all():
            raise ValueError("its columns are not in order")
        return cls(*stacked)

    def stacked(self) -> Ids:
        """Return columns as one array, the form in which they are written. Shape: (5, n)."""
        return np.stack([getattr(self, column.name) for column in fields(self)])

    def __len__(self) -> int:
        return len(self.rows)

    def distinct_vectors(self, mask: Mask | None = None) -> Ids:
        """Return the ids of the vectors of all units, or of those in the mask.

        Ascending, each once.
        """
        vectors = self.vector_ids
        if mask is not None:
            vectors = vectors[mask]
        return vectors[starts_of_runs(vectors)]

    def positions_of_vectors(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the positions of all units with these vectors, and which each has.

        The second array holds positions in `ids`. Unknown ids, and negative ones, have no units.
        """
        bounds = self._bounds_of_vectors
        if bounds is None:
            starts = np.searchsorted(self.vector_ids, ids, "left")
            ends = np.searchsorted(self.vector_ids, ids, "right")
            return ranges(starts, ends - starts)
        last = len(bounds) - 2  # has no units
        known = np.minimum(ids, last)
        known[ids < 0] = last  # what an index returns in place of a vector that it did not find
        starts = bounds[known]
        return ranges(starts, bounds[known + 1] - starts)

    @cached_property
    def _bounds_of_vectors(self) -> Ids | None:
        """Where the units of each vector begin, by its id, and the end; None if ids are sparse.

        To look a number of ids up is several times as fast as to search for them.
        """
        last = int(self.vector_ids[-1]) if len(self) else -1
        if last >= _SPARSE * len(self):
            return None
        counts = np.bincount(self.vector_ids, minlength=last + 2)
        return np.concatenate([[0], np.cumsum(counts)])

    def values(self, parents: str) -> Ids:
        """Return the parent of each unit.

        The row of itself, its passage or its document.
        """
        return {"unit": self.rows, "passage": self.passages, "document": self.documents}[parents]

    def by(self, parents: str) -> Grouping:
        """Return the units grouped by their parents."""
        if parents not in self._groups:
            self._groups[parents] = Grouping.of(self.values(parents))
        return self._groups[parents]

    @cached_property
    def _groups(self) -> dict[str, Grouping]:
        return {}

    def replaced(self, removed_rows: Ids, added: Columns) -> Columns:
        """Return columns without the removed units and with the added; one in both is replaced.

        Unknown rows are ignored.
        """
        rest = ~membership(self.rows, removed_rows)
        return Columns.of(np.hstack([self.stacked()[:, rest], added.stacked()]))


@dataclass(frozen=True)
class View:
    """The units of one granularity at one generation, ready to be searched."""

    granularity: Granularity
    index: VectorIndex  # finds vectors by id; each distinct vector once
    columns: Columns  # which units have those vectors
    vectors_of: Callable[[Ids], Vectors]  # exact vectors of ids. Shapes: (n,) to (n, dim)
    allowed: Mask | None = None  # units that the filter allows; None for all
    # how wide an approximate index searches (`nprobe`, `efSearch`)
    parameters: Mapping[str, Any] | None = None

    @cached_property
    def units(self) -> Grouping:
        """The allowed units by passage."""
        if self.allowed is None:
            return self.columns.by("passage")
        return Grouping.of(self.columns.passages, np.flatnonzero(self.allowed))

    def within(self, keys: Ids) -> Grouping:
        """Return the allowed units of some passages, ascending."""
        groups = self.columns.by("passage").within(keys)
        if self.allowed is None:
            return groups
        return Grouping.of(self.columns.passages, groups.positions[self.allowed[groups.positions]])

    def is_small(self) -> bool:
        """Return whether all allowed units are scored, although the index may not be exact."""
        if self.index.is_exact:
            return True
        few = _FEW_READ
        if self.index.ability.holds_vectors:
            few = _FEW_HELD
        if self.allowed is None:
            return len(self.columns) <= few
        return bool(np.count_nonzero(self.allowed) <= few)

    def scores(self, queries: Vectors, positions: Ids) -> Vectors:
        """Return the exact scores of units.

        Shapes: (queries, dim) and (units,) to (queries, units).
        """
        if not self.index.is_exact or len(positions) * _SCATTERED < self.columns.rows.size:
            return gathered_products(queries, self.columns.vector_ids[positions], self.vectors_of)
        scores = self.index.scores(queries, self.columns.vector_ids)
        if len(positions) == scores.shape[1] and (positions[1:] > positions[:-1]).all():
            return scores  # of all units, in order
        return scores.take(positions, axis=1)

    def nearest(
        self, queries: Vectors, k: int, *, best: int | None = None
    ) -> Iterator[tuple[Ids, Vectors]]:
        """Yield the allowed units that have the k best vectors for each query, best first.

        The best candidates that an index of codes finds are scored again with their exact vectors:
        as many as it takes to find the `best` of the k, by default all.
        """
        marks = None
        if self.allowed is not None:
            marks = self.index.marks(self.columns.vector_ids, self.allowed)
        count = k
        if self.index.lossy:
            count = candidates(k)
            if best is not None:
                count = max(k, candidates(best))
        nearest = self.index.search(
            queries, min(count, len(self.index)), allowed=marks, parameters=self.parameters
        )
        for query, scores, ids in zip(queries, *nearest, strict=True):
            if self.index.lossy:
                scores, ids = self._best_exact(query, ids, k)
            positions, which = self.columns.positions_of_vectors(ids)
            if self.allowed is not None:
                is_allowed = self.allowed[positions]
                positions = positions[is_allowed]
                which = which[is_allowed]
            yield positions, scores[which]

    def _best_exact(self, query: Vectors, ids: Ids, k: int) -> tuple[Vectors, Ids]:
        """Return the exact scores and ids of the k best of some vectors, best first.

        The id -1 is none. Shapes: (at most k,).
        """
        candidate_ids = ids[ids >= 0]
        [scores] = gathered_products(query[None], candidate_ids, self.vectors_of)
        best = best_first(scores, candidate_ids)[:k]
        return scores[best], candidate_ids[best]

    def passages(
        self, queries: Vectors, k: int, parents: str, *, is_only_channel: bool
    ) -> list[Ids]:
        """Return the passages of the vectors that the index finds for each query.

        They are enough for k parents, if there are k. All that are found are returned, since other
        channels may move any of them up; but only the k best where passages are ranked and there is
        no other channel.
        """
        parent_rows = self.columns.values(parents)
        parent_count = len(self.columns.by(parents).keys)
        wanted = min(k, parent_count)
        vector_count = self._vectors_for(k, parent_count)
        total = len(self.index)
        if self.allowed is not None:
            total = int(np.count_nonzero(self.allowed))
        # All of them decide the ranking if there is no other channel; else the nearest matter.
        exact_count = k
        if is_only_channel:
            exact_count = vector_count
        passages: list[Ids] = [np.empty(0, np.int64)] * len(queries)
        pending = np.arange(len(queries))  # queries with too few parents so far
        while len(pending):
            still_pending = []
            nearest = self.nearest(queries[pending], vector_count, best=exact_count)
            for number, (positions, _) in zip(pending.tolist(), nearest, strict=True):
                best = list(dict.fromkeys(parent_rows[positions].tolist()))
                if len(best) < wanted and vector_count < total:
                    still_pending.append(number)
                elif is_only_channel and parents == "passage":
                    passages[number] = np.array(best[:k], np.int64)
                else:
                    passages[number] = self.columns.passages[positions]
            pending = np.array(still_pending, np.int64)
            vector_count *= _WIDER
            exact_count *= _WIDER
        return passages

    def _vectors_for(self, k: int, parent_count: int) -> int:
        """Return how many vectors the index is asked for first, to find k of so many parents."""
        units = len(self.columns)
        if parent_count == units:
            return k
        # Twice the units of k average parents: units of a good parent come together.
        units_each = min(max(2 * units / parent_count, 4), 32)
        return max(k, int(k * units_each))


def ranges(starts: Ids, counts: Ids) -> tuple[Ids, Ids]:
    """Return the ranges `[start, start + count)` one after the other.

    The second array is the number of the range of each entry.
    """
    which = np.repeat(np.arange(len(starts)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(len(which)) + (starts - before)[which], which


def starts_of_runs(values: Ids) -> Ids:
    """Return where the runs of equal values begin. Shape: (runs,)."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.flatnonzero(new)
