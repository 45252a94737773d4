"""Hold one index of a store in memory, with masks for its latest filters."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from factoid.filters import Condition
from factoid.ranking import Columns, Scale
from factoid.ranking.columns import Mask
from factoid.store.database.snapshot import Snapshot
from factoid.store.filter_wall import Wall
from factoid.store.options import SearchOptions
from factoid.vectors import RowIds
from factoid.vectors.vector_index import membership

T = TypeVar("T")

_SELECTIONS = 16  # kept for repeated filters


@dataclass(slots=True)
class IndexState:
    """One index in memory, and the columns of its units.

    It may change only under the exclusive lock.
    """

    # The granularity of an index of vectors; `LEXICAL` for the words of passages; or
    # `VARIED_PASSAGES`, which has columns only.
    name: str
    # That all else belongs to; None before anything was read or built.
    generation: int | None = None
    index: Any = None  # a `VectorIndex` or `LexicalIndex`; None while there is nothing to index
    columns: Columns = field(default_factory=Columns.empty)
    # Of vectors: whether units of this granularity are in it, and not only others in their place.
    has_vectors: bool = False
    scale: Scale | None = None  # of the scores of the vectors, as they are compared
    built_for: int = 0  # vectors or texts when the index was built
    written: int | None = None  # the generation of its files on disk, if it has any
    saved: bool = True  # whether the files on disk are equal
    doubted: bool = False  # whether files are to be checked whole before they are used
    # Units that the latest filters allow.
    selections: OrderedDict[str, Mask] = field(default_factory=OrderedDict)
    # What the latest filters let through, if this is the index of varied passages.
    walls: OrderedDict[str, Wall] = field(default_factory=OrderedDict)
    # Of that index: all passages and their metadata, once a filter needs them.
    passages: tuple[RowIds, RowIds] | None = None

    def stamp(self) -> dict[str, Any]:
        """Return the facts that are written with the index."""
        return {
            "name": self.name,
            "generation": self.generation,
            "built_for": self.built_for,
        }

    def wall(self, snapshot: Snapshot, condition: Condition) -> Wall:
        """Return what a filter lets through. This state must be that of `VARIED_PASSAGES`."""
        key = None
        wall = None
        if not callable(condition):
            key = repr(condition)
            wall = self.walls.get(key)
        if wall is None:
            wall = Wall.of(snapshot, condition, key, self.columns, self.passage_metadata)
            _remember(self.walls, key, wall)
        return wall

    def passage_metadata(self, snapshot: Snapshot) -> tuple[RowIds, RowIds]:
        """Return the rows of all passages, and of their metadata.

        This is the index of varied passages. Shapes: (n,).
        """
        if self.passages is None:
            self.passages = snapshot.passage_metadata()
        return self.passages

    def selection(self, snapshot: Snapshot, options: SearchOptions, wall: Wall | None) -> Mask:
        """Return a mask of the units that a wall and the ids of a search allow.

        At least one of both is given. Shape: (n,).
        """
        document_ids = options.document_ids
        unit_ids = options.unit_ids
        masks: list[Mask] = []
        if wall is not None:
            allowed = None
            if wall.key is not None:
                allowed = self.selections.get(wall.key)
            if allowed is None:
                allowed = wall.allowed(self.columns.rows, self.columns.metadata)
                _remember(self.selections, wall.key, allowed)
            masks.append(allowed)
        if document_ids is not None:
            masks.append(membership(self.columns.documents, snapshot.document_rows(document_ids)))
        if unit_ids is not None:
            masks.append(membership(self.columns.rows, snapshot.unit_rows(unit_ids)))
        if len(masks) == 1:
            return masks[0]
        mask: Mask = np.logical_and.reduce(masks)
        return mask


def _remember(latest: OrderedDict[str, T], key: str | None, value: T) -> None:
    """Keep a value among the latest ones; one without a key is not kept."""
    if key is None:
        return
    latest[key] = value  # one operation, so that threads may do it at once
    while len(latest) > _SELECTIONS:
        latest.popitem(last=False)
