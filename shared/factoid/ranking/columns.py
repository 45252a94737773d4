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
from factoid.vectors.matrix import gathered_products
from factoid.vectors.vector_index import membership

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

_SCATTERED = 6  # times as long takes a product with some vectors as one with as many in a row

# So many units, or fewer, are all scored although their index is not exact: if it holds the vectors, or the database does.
_FEW_HELD, _FEW_READ = 20_000, 2048
_WIDER = 4  # times as many vectors, where an index found too few


class Groups(NamedTuple):
    """Positions in a column, grouped by value."""

    positions: Ids  # sorted by value, equal ones ascending. Shape: (n,)
    bounds: Ids  # where each value begins in `positions`, and the end. Shape: (values + 1,)
    keys: Ids  # the distinct values, ascending. Shape: (values,)

    @classmethod
    def of(cls, column: Ids, positions: Ids | None = None) -> Self:
        """Group a column, or some positions in it."""
        values = column if positions is None else column[positions]
        # Units mostly come in the order of their parents: a stable sort is fast on nearly sorted input.
        order = np.argsort(values, kind="stable")
        starts = starts_of_runs(values[order])
        return cls(
            order if positions is None else positions[order], np.append(starts, len(values)), values[order[starts]]
        )

    def find(self, keys: Ids) -> tuple[Ids, Ids]:
        """Return where in `positions` the groups of these keys are, and which key each has. Unknown keys have none."""
        if not len(self.keys):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        starts = self.bounds[at]
        return ranges(starts, np.where(self.keys[at] == keys, self.bounds[at + 1] - starts, 0))

    def within(self, keys: Ids) -> Groups:
        """Return the groups that have these keys, ascending."""
        if np.array_equal(keys, self.keys):
            return self
        places, which = self.find(keys)
        starts = starts_of_runs(which)
        return Groups(self.positions[places], np.append(starts, len(places)), keys[which[starts]])


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

    @classmethod
    def checked(cls, stacked: Ids) -> Columns:
        """Return columns from what `stacked` returned; raise ValueError for an array that it cannot have returned."""
        expected = stacked.dtype == np.int64 and stacked.ndim == 2 and len(stacked) == len(fields(cls))
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
        """Return the ids of the vectors of all units, or of those in the mask: ascending, each once."""
        vectors = self.vectors if mask is None else self.vectors[mask]
        return vectors[starts_of_runs(vectors)]

    def positions_of_vectors(self, ids: Ids) -> tuple[Ids, Ids]:
        """Return the positions of all units that have these vectors, and which of `ids` each has."""
        starts = np.searchsorted(self.vectors, ids, "left")
        return ranges(starts, np.searchsorted(self.vectors, ids, "right") - starts)

    def values(self, level: str) -> Ids:
        """Return the parent of each unit at a level: the row of itself, its passage or its document."""
        return {"unit": self.rows, "passage": self.parents, "document": self.documents}[level]

    def by(self, level: str) -> Groups:
        """Return the units grouped by their parents at a level."""
        if level not in self._groups:
            self._groups[level] = Groups.of(self.values(level))
        return self._groups[level]

    @cached_property
    def _groups(self) -> dict[str, Groups]:
        return {}

    def replaced(self, removed_rows: Ids, added: Columns) -> Columns:
        """Return columns without the removed units and with the added; one in both is replaced. Unknown rows are ignored."""
        rest = ~membership(self.rows, removed_rows)
        return Columns.of(np.hstack([self.stacked()[:, rest], added.stacked()]))


@dataclass(frozen=True)
class View:
    """The units of one granularity at one generation, ready to be searched."""

    granularity: Granularity
    index: VectorIndex  # finds vectors by id; each distinct vector once
    columns: Columns  # which units have those vectors
    exact: Callable[[Ids], Vectors]  # returns the exact vectors of ids. Shapes: (n,) to (n, dim)
    allowed: Mask | None = None  # units that the filter allows; None for all
    parameters: Mapping[str, Any] | None = None  # how wide an approximate index searches (`nprobe`, `efSearch`)

    @cached_property
    def units(self) -> Groups:
        """The allowed units by passage."""
        if self.allowed is None:
            return self.columns.by("passage")
        return Groups.of(self.columns.parents, np.flatnonzero(self.allowed))

    def within(self, keys: Ids) -> Groups:
        """Return the allowed units of some passages, ascending."""
        groups = self.columns.by("passage").within(keys)
        if self.allowed is None:
            return groups
        return Groups.of(self.columns.parents, groups.positions[self.allowed[groups.positions]])

    def is_small(self) -> bool:
        """Return whether all allowed units are scored, although the index may not be exact."""
        if self.index.exact:
            return True
        count = len(self.columns) if self.allowed is None else np.count_nonzero(self.allowed)
        return bool(count <= (_FEW_HELD if self.index.ability.holds_vectors else _FEW_READ))

    def scores(self, queries: Vectors, positions: Ids) -> Vectors:
        """Return the exact scores of units. Shapes: (queries, dim) and (units,) to (queries, units)."""
        if not self.index.exact or len(positions) * _SCATTERED < self.columns.rows.size:
            return gathered_products(queries, self.columns.vectors[positions], self.exact)
        scores = self.index.scores(queries, self.columns.vectors)
        whole = len(positions) == scores.shape[1] and (positions[1:] > positions[:-1]).all()
        return scores if whole else scores.take(positions, axis=1)

    def nearest(self, queries: Vectors, k: int, *, best: int | None = None) -> Iterator[tuple[Ids, Vectors]]:
        """Yield the allowed units that have the k best vectors for each query, best first, and their scores.

        The best candidates that an index of codes finds are scored again with their exact vectors: as many as it takes to find
        the `best` of the k, by default all.
        """
        allowed = None if self.allowed is None else self.index.marks(self.columns.vectors, self.allowed)
        count = k
        if self.index.lossy:
            count = max(k, candidates(k if best is None else best))
        nearest = self.index.search(queries, min(count, len(self.index)), allowed=allowed, parameters=self.parameters)
        for query, scores, ids in zip(queries, *nearest, strict=True):
            if self.index.lossy:
                scores, ids = self._best_exact(query, ids, k)
            positions, which = self.columns.positions_of_vectors(ids)
            if self.allowed is not None:
                passing = self.allowed[positions]
                positions, which = positions[passing], which[passing]
            yield positions, scores[which]

    def _best_exact(self, query: Vectors, ids: Ids, k: int) -> tuple[Vectors, Ids]:
        """Return the exact scores and the ids of the k best among the vectors found, best first. Shapes: (at most k,)."""
        found = ids[ids >= 0]
        scores = gathered_products(query[None], found, self.exact)[0]
        best = np.lexsort((found, -scores))[:k]
        return scores[best], found[best]

    def passages(self, queries: Vectors, k: int, level: str, *, alone: bool) -> list[Ids]:
        """Return the passages of the vectors that the index finds for each query: enough for k parents, if there are k.

        If the units are ranked `alone`, only the k best passages are returned.
        """
        parents, keys = self.columns.values(level), self.columns.by(level).keys
        count = k
        if len(keys) < len(self.columns):  # twice the units of k average parents: units of a good parent come together
            count = max(count, int(k * min(max(2 * len(self.columns) / len(keys), 4), 32)))
        total = len(self.index) if self.allowed is None else np.count_nonzero(self.allowed)
        passages: list[Ids] = [keys[:0]] * len(queries)
        pending = np.arange(len(queries))
        best_of = k  # of the many vectors that `count` passages have, the nearest ones matter
        while len(pending):
            short = []
            for number, (positions, _) in zip(
                pending.tolist(), self.nearest(queries[pending], count, best=best_of), strict=True
            ):
                best = list(dict.fromkeys(parents[positions].tolist()))
                if len(best) < min(k, len(keys)) and count < total:
                    short.append(number)
                elif alone and level == "passage":
                    passages[number] = np.array(best[:k], np.int64)
                else:
                    passages[number] = self.columns.parents[positions]
            pending = np.array(short, np.int64)
            count *= _WIDER
            best_of *= _WIDER
        return passages


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
