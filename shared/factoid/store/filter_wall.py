"""Keep what a filter excludes out of every answer.

That holds for hits, parents, neighbours and parts of a score. A unit passes a filter by its own
metadata. A passage is open if it and all units under it pass; a document, if it and all of its
units do. All others are closed. Only what is open may be returned as a whole, compared or read: the
text of a passage holds that of its units. A unit that only its kind excludes leaves its passage
open.

For example, a passage of everybody has a sentence of tenant A and one of tenant B:

    {"tenant": {"$ne": "B"}}     closed: its text holds the sentence of B; that of A is returned
    {"granularity": "passage"}   open: the sentences fail for what they are, not for what they say

Mostly all units of a document have the same metadata, so only passages over units with other
metadata need a look. They are held in memory, as an index of their own, and follow the database as
the others do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from factoid.filters import Condition, excluded_by_kind, judges_kinds, matches, passing_rows
from factoid.metadata import WINDOW
from factoid.ranking.columns import Columns, Ids, Mask
from factoid.store.database.snapshot import Snapshot
from factoid.units import Unit
from factoid.vectors.vector_index import membership

# The name of the index of passages over units with other metadata than their own.
VARIED_PASSAGES = "varied passages"


@dataclass(frozen=True, eq=False)
class Wall:
    """The wall of a filter at one generation of a store: what may pass."""

    condition: Condition
    key: str | None  # of a filter that may be remembered
    passing: Ids  # the rows of metadata that pass, ascending
    # The rows of closed passages, ascending: all that pass themselves or have a unit that passes.
    # Others may be missing, since nothing that passes leads a search to them.
    closed: Ids

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        condition: Condition,
        key: str | None,
        varied: Columns,
        all_passages: Callable[[Snapshot], tuple[Ids, Ids]],
    ) -> Wall:
        """Return what a filter lets through.

        Args:
            snapshot: That of the generation.
            condition: The filter.
            key: As the attribute.
            varied: The passages over units with other metadata, and these units.
            all_passages: Returns the rows of all passages and of their metadata. It is called only
                for filters that name a granularity.
        """
        passing = passing_rows(snapshot.connection, condition)
        closed = _closed(snapshot, condition, passing, varied)
        if judges_kinds(snapshot.connection, condition) and snapshot.has_units_of_passages:
            # A passage may fail although its units pass, as with {"granularity": "sentence"}.
            passages, metadata = all_passages(snapshot)
            fails = ~membership(metadata, passing)
            closed = np.union1d(closed, passages[fails])
        return cls(condition, key, passing, closed)

    def allowed(self, rows: Ids, metadata: Ids) -> Mask:
        """Return which units may be shown, from their rows and the rows of their metadata.

        Shape: (n,).
        """
        passing = membership(metadata, self.passing)
        if not len(self.closed):
            return passing
        return passing & ~membership(rows, self.closed)

    def is_closed(self, passage: int) -> bool:
        """Return whether a passage that a search found is closed."""
        place = int(np.searchsorted(self.closed, passage))
        return place < len(self.closed) and int(self.closed[place]) == passage

    def open_by_units(self, snapshot: Snapshot, documents: Iterable[int]) -> set[int]:
        """Return those of some documents, by row, whose units all pass or fail by kind alone."""
        rows = set(documents)
        owners, metadata = snapshot.document_metadata(sorted(rows))
        fails = ~membership(metadata, self.passing)
        by_kind = excluded_by_kind(snapshot.connection, self.condition, metadata[fails])
        fails_by_content = fails & ~membership(metadata, by_kind)
        return rows - set(owners[fails_by_content].tolist())

    def open_documents(self, snapshot: Snapshot, documents: Mapping[int, Unit]) -> set[int]:
        """Return which of some documents, by row, are open."""
        passing = [row for row, document in documents.items() if self._passes(document)]
        return self.open_by_units(snapshot, passing)

    def shown(self, snapshot: Snapshot, units: Sequence[Unit]) -> list[Unit]:
        """Return allowed units as they may be shown.

        Without the text around them, unless all units of their document pass.
        """
        around, alone = WINDOW
        surrounded = [unit for unit in units if around in unit.metadata and alone in unit.metadata]
        if not surrounded:
            return list(units)
        documents = snapshot.document_ids([unit.document_id for unit in surrounded])
        open_rows = self.open_by_units(snapshot, documents)
        open_ids = {documents[row] for row in open_rows}
        cut = {unit.id for unit in surrounded if unit.document_id not in open_ids}
        shown = []
        for unit in units:
            if unit.id in cut:
                metadata = {**unit.metadata, around: unit.metadata[alone]}
                shown.append(replace(unit, metadata=metadata))
            else:
                shown.append(unit)
        return shown

    def _passes(self, unit: Unit) -> bool:
        if callable(self.condition):
            return bool(self.condition(dict(unit.metadata)))
        return matches(self.condition, unit.metadata)


def _closed(snapshot: Snapshot, condition: Condition, passing: Ids, varied: Columns) -> Ids:
    """Return the rows of closed passages among those over units with other metadata.

    A passage is closed if it fails the filter, or one of its units does so by its content.
    """
    fails = ~membership(varied.metadata, passing)
    if not fails.any():
        return varied.rows[:0]
    is_passage = varied.rows == varied.passages  # the others are the units under one
    failing_units = varied.metadata[fails & ~is_passage]
    by_kind = excluded_by_kind(snapshot.connection, condition, failing_units)
    fails_by_content = fails & ~membership(varied.metadata, by_kind)
    closes = np.where(is_passage, fails, fails_by_content)
    groups = varied.by("passage")
    is_closed = np.logical_or.reduceat(closes[groups.positions], groups.bounds[:-1])
    return groups.keys[is_closed]
