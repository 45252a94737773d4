"""How indexes are read, built, brought up to date and written."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from factoid.files.atomic import sweep
from factoid.index import AUTO, RowIds, VectorIndex, check_kind, load, save, usable_kind, usable_memory
from factoid.progress import progress_bar
from factoid.search import LEXICAL, Columns
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.views import IndexState
from factoid.store.settings import Settings
from factoid.units import Granularity

logger = logging.getLogger(__name__)

State = IndexState[VectorIndex]

INDEXES = (*Granularity, LEXICAL)  # names of what may lie beside the database

# An index is built anew when this share of its vectors is hidden, or when it holds so many times the vectors that it
# was built for: both make searches slower or less exact.
_HIDDEN = 0.25
_GROWN = 4

# An index keeps the kind that is for more vectors than it holds, as long as it would be for so many times as many.
_MARGIN = 1.25


class _Change(NamedTuple):
    """What an index lacks to be of a later generation: vectors to remove and to add, and all its units then."""

    removed: RowIds
    added: RowIds
    columns: Columns


@dataclass(frozen=True, slots=True)
class VectorBuilder:
    """Makes the indexes of a store whose files are in `folder`, None in memory. The options are those of `UnitStore`."""

    folder: Path | None
    settings: Settings
    device: str | Sequence[str] = "cpu"
    gpu_shard: bool = False
    gpu_float16: bool = False
    mmap: bool = False
    read_only: bool = False

    def refresh(self, state: State, snapshot: Snapshot, *, show_progress: bool = False) -> None:
        """Bring an index to the generation of a snapshot, by the shortest way that there is."""
        generation = snapshot.generation
        if state.generation == generation:
            return
        if state.generation is None:
            self._read(state, snapshot)
        since, state.generation = state.generation, None  # whatever interrupts what follows, nothing half done is used
        state.selections.clear()
        if since is None or not self._caught_up(state, snapshot, since):
            self._build(state, snapshot, show_progress=show_progress)
        state.generation = generation

    def renew(self, state: State, snapshot: Snapshot, *, show_progress: bool = False) -> None:
        """Build an up-to-date index anew if it hides removed vectors, and have it written under its generation."""
        state.saved = False
        if state.index is not None and state.index.hidden:
            generation, state.generation = state.generation, None
            self._build(state, snapshot, show_progress=show_progress)
            state.generation = generation

    def has_files(self, name: str) -> bool:
        """Tell whether there are files of an index."""
        return self.folder is not None and (self.folder / f"{name}.json").exists()

    def save(self, state: State) -> None:
        """Write an index where it is newer than its files."""
        if self.folder is None or self.read_only:
            return
        path = self.folder / state.granularity
        if state.saved or state.index is None or state.generation is None:
            sweep(path)
            return
        arrays = {"columns": np.stack([getattr(state.columns, column.name) for column in fields(Columns)])}
        stamp = {"granularity": state.granularity, "generation": state.generation, "built_for": state.built_for}
        try:
            save(state.index, path, stamp=stamp, arrays=arrays)
        except (OSError, RuntimeError) as error:
            logger.warning("%s cannot be written (%s): it will be built again from the database", path, error)
        else:
            state.saved = True

    def _read(self, state: State, snapshot: Snapshot) -> None:
        """Read the index files, if they are of this store as it is set."""
        cache = None if self.folder is None else load(self.folder / state.granularity, mmap=self.mmap)
        if cache is None:
            return
        index, stamp = cache.index, cache.stamp
        wanted = (state.granularity, snapshot.meta.get("dim"), self.settings.similarity, self.settings.shards)
        if (stamp.get("granularity"), index.dim, index.similarity, index.shards) == wanted:
            state.index, state.columns = self._placed(index), Columns(*cache.arrays["columns"])
            state.built_for, state.generation = int(stamp["built_for"]), int(stamp["generation"])
            state.saved = True

    def _caught_up(self, state: State, snapshot: Snapshot, since: int) -> bool:
        """Carry what has changed since a generation into an index; tell whether it is then as good as one built anew."""
        index, change = state.index, change_since(state, snapshot, since)
        if (
            index is None
            or change is None
            or not self._fits(state, index, len(index) + len(change.added) - len(change.removed))
        ):
            return False
        state.saved = state.saved and change.columns is state.columns
        index.remove(change.removed)
        for rows, vectors in snapshot.vector_blocks(change.added):
            index.add(rows, vectors)
        state.columns = change.columns
        return index.hidden <= _HIDDEN * (len(index) + index.hidden)

    def _fits(self, state: State, index: VectorIndex, count: int) -> bool:
        """Tell whether an index is of the kind that is wanted for so many vectors, or for somewhat more of them.

        Without that margin, a store about the size at which the kind changes would be built anew with every few writes.
        """
        wanted = {self._kind(state.granularity, size, index.dim) for size in (count, int(count * _MARGIN))}
        if index.kind not in wanted:
            return False
        return index.exact or count <= _GROWN * max(state.built_for, 1)

    def _build(self, state: State, snapshot: Snapshot, *, show_progress: bool) -> None:
        columns = snapshot.columns(state.granularity)
        ids = columns.distinct_vectors()
        state.index, state.columns, state.built_for, state.saved = None, columns, len(ids), False
        if not len(ids):
            return
        dim = int(snapshot.meta["dim"])
        kind = self._kind(state.granularity, len(ids), dim)
        index = VectorIndex(dim, kind=kind, similarity=self.settings.similarity, shards=self.settings.shards)
        if not index.trained:
            index.train(snapshot.vectors(_sample(ids, check_kind(kind, dim).max_training)))
        with progress_bar(show=show_progress, unit=f" {state.granularity}s indexed", total=len(ids)) as bar:
            for rows, vectors in snapshot.vector_blocks(ids):
                index.add(rows, vectors)
                bar.update(len(rows))
        state.index = self._placed(index)

    def _placed(self, index: VectorIndex) -> VectorIndex:
        """Return an index where it is to be searched."""
        if self.device == "cpu":
            return index
        from factoid.index.gpu import to_gpu

        return to_gpu(index, device=self.device, shard=self.gpu_shard, float16=self.gpu_float16)

    def _kind(self, granularity: str, count: int, dim: int) -> str:
        """Return the kind for so many vectors: the one set, or exact as long as there are too few to train it."""
        return usable_kind(self.settings.kinds.get(Granularity(granularity), AUTO), dim, count, usable_memory())


def index_files(folder: Path, name: str) -> list[Path]:
    """Return the files of an index that are there, the one that vouches for the others last."""
    return sorted(folder.glob(f"{name}.*"), key=lambda file: (file.suffix == ".json", file.name))


def remove_index(folder: Path, name: str) -> None:
    """Remove the files of an index: it will be built again."""
    for file in reversed(index_files(folder, name)):
        file.unlink(missing_ok=True)


def _sample(ids: RowIds, size: int) -> RowIds:
    """Return at most so many ids, chosen at random, the same ones every time, in their order."""
    return np.sort(np.random.default_rng(0).choice(ids, size, replace=False)) if len(ids) > size else ids


def change_since(state: IndexState[Any], snapshot: Snapshot, since: int) -> _Change | None:
    """Return what has changed since a generation, or None where that is not one of this store's, or not known any more."""
    before, nothing = state.columns, np.empty(0, np.int64)
    if since == snapshot.generation:
        return _Change(nothing, nothing, before)
    if not snapshot.follows(since):
        return None
    delta = snapshot.delta(state.granularity, since)
    if delta is None:  # ids of vectors are never given twice: those that are still there are the same
        after = snapshot.columns(state.granularity)
        old, new = before.distinct_vectors(), after.distinct_vectors()
        removed, added = (np.setdiff1d(*pair, assume_unique=True) for pair in ((old, new), (new, old)))
        return _Change(removed, added, after)
    if not len(delta.removed) and not len(delta.added):
        return _Change(nothing, nothing, before)
    after = before.replaced(delta.removed, delta.added)
    touched = np.union1d(before.vectors[before.mask_of_rows(delta.removed)], delta.added.vectors)
    in_old, in_new = _among(touched, before), _among(touched, after)
    return _Change(touched[in_old & ~in_new], touched[in_new & ~in_old], after)


def _among(ids: RowIds, columns: Columns) -> np.ndarray:
    """Return which of the vectors some unit has. Shape: (len(ids),)."""
    return np.bincount(columns.positions_of_vectors(ids)[1], minlength=len(ids)) > 0
