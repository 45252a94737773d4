"""The index of one granularity as it is held in memory, at one generation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.filters import Filter, cache_key
from factoid.index import RowIds, VectorIndex, prepare
from factoid.search import Columns, View
from factoid.store.snapshot import Snapshot, to_tree
from factoid.units import Granularity

_KEPT = 16  # selections kept for filters that come again

Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Held:
    """An index and what is known of its units. Changed only by whoever holds its lock alone.

    Attributes:
        granularity: What the units are.
        generation: Of which all else is; None while nothing is held.
        index: None while there are no vectors.
        columns: The units.
        built_for: How many vectors there were when the index was built.
        saved: Whether the files on disk say the same.
        selections: Which units pass a filter, for those that came last.
    """

    granularity: Granularity
    generation: int | None = None
    index: VectorIndex | None = None
    columns: Columns = field(default_factory=Columns.empty)
    built_for: int = 0
    saved: bool = True
    selections: OrderedDict[str, Mask] = field(default_factory=OrderedDict)

    def view(self, snapshot: Snapshot) -> View | None:
        """Return what is searched, or None where there are no vectors."""
        if self.index is None:
            return None
        return View(self.granularity, self.index, self.columns, self._exact(snapshot, self.index))

    def selection(
        self,
        snapshot: Snapshot,
        condition: Filter | None,
        document_ids: Sequence[str] | None,
        unit_ids: Sequence[str] | None,
    ) -> Mask | None:
        """Return which units may be found, None for all. Shape: (n,), as the columns."""
        masks: list[Mask] = []
        if condition is not None:
            masks.append(self._passing(snapshot, condition))
        if document_ids is not None:
            masks.append(self.columns.mask_of_documents(snapshot.document_rows(document_ids)))
        if unit_ids is not None:
            masks.append(self.columns.mask_of_rows(snapshot.unit_rows(unit_ids)))
        return np.logical_and.reduce(masks) if masks else None

    def _passing(self, snapshot: Snapshot, condition: Filter) -> Mask:
        key = None if callable(condition) else cache_key(to_tree(condition))
        if key is not None and (kept := self.selections.get(key)) is not None:
            return kept
        mask = self.columns.mask_of_metadata(snapshot.passing(condition))
        if key is not None:
            self.selections[key] = mask  # one operation, so that threads may do the same at once
            while len(self.selections) > _KEPT:
                self.selections.popitem(last=False)
        return mask

    @staticmethod
    def _exact(snapshot: Snapshot, index: VectorIndex) -> Callable[[RowIds], Vectors]:
        def exact(ids: RowIds) -> Vectors:
            held = index.vectors(ids)
            return prepare(snapshot.vectors(ids), index.similarity) if held is None else held

        return exact
