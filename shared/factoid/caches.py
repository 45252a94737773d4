"""The FAISS indexes of a store, one per granularity: read, built or brought up to date from the database."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from factoid.database import Database
from factoid.encode import Vectors
from factoid.index import RowIds, VectorIndex
from factoid.units import Granularity

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Loaded:
    generation: int
    index: VectorIndex
    saved: bool


class IndexCaches:
    """Indexes that know which generation of the database they hold. To be used under the store's lock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._loaded: dict[Granularity, _Loaded] = {}

    def get(self, granularity: Granularity) -> VectorIndex | None:
        """Return the index of this granularity at the database's generation, or None while it has no vectors."""
        dim = self._database.get("dim")
        if dim is None:
            return None
        generation = self._database.generation
        held = self._loaded.get(granularity)
        if held is None or held.generation != generation:
            held = self._read(granularity, generation) or self._build(granularity, generation, int(dim))
            self._loaded[granularity] = held
        return held.index

    def update(
        self, generations: tuple[int, int], removed: Sequence[int], added: Mapping[Granularity, tuple[RowIds, Vectors]]
    ) -> None:
        """Carry a write of this process into the indexes that were up to date before it.

        Args:
            generations: The one that the write started from, and its own.
            removed: Rows deleted by the write.
            added: Rows and vectors added by it. Shapes: (n,), (n, dim).
        """
        before, after = generations
        rows = np.array(removed, dtype=np.int64)
        for granularity, held in list(self._loaded.items()):
            if held.generation != before:
                del self._loaded[granularity]
                continue
            held.index.remove(rows)
            if granularity in added:
                held.index.add(*added[granularity])
            self._loaded[granularity] = _Loaded(after, held.index, saved=False)

    def save(self) -> None:
        """Write the indexes that are up to date and newer than their files. One that cannot be written is built again."""
        if self._database.path is None:
            return
        generation = self._database.generation
        for granularity, held in list(self._loaded.items()):
            if held.generation == generation and not held.saved:
                path = self._database.path / f"{granularity}.faiss"
                try:
                    held.index.save(path, generation=generation)
                except (OSError, RuntimeError) as error:
                    logger.warning("%s cannot be written (%s): it will be built again from the database", path, error)
                else:
                    self._loaded[granularity] = replace(held, saved=True)

    def _read(self, granularity: Granularity, generation: int) -> _Loaded | None:
        if self._database.path is None:
            return None
        index = VectorIndex.load(self._database.path / f"{granularity}.faiss", generation=generation)
        return None if index is None else _Loaded(generation, index, saved=True)

    def _build(self, granularity: Granularity, generation: int, dim: int) -> _Loaded:
        index = VectorIndex(dim)
        for rows, vectors in self._database.vectors(granularity):
            index.add(rows, vectors)
        return _Loaded(generation, index, saved=False)
