"""How indexes are read, built, brought up to date and written."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from factoid.index import RowIds, VectorIndex, check_kind, load, save, sweep, usable_kind, usable_memory
from factoid.progress import progress_bar
from factoid.search import Columns
from factoid.store.held import Held
from factoid.store.settings import Settings
from factoid.store.snapshot import Snapshot
from factoid.units import Granularity

logger = logging.getLogger(__name__)

# An index is built anew when this share of its vectors is hidden, or when it holds so many times the vectors that it
# was built for: both make searches slower or less exact.
_HIDDEN = 0.25
_GROWN = 4

# An index keeps the kind that is for more vectors than it holds, as long as it would be for so many times as many.
_MARGIN = 1.25


@dataclass(frozen=True, slots=True)
class _Change:
    """What an index lacks to be of a later generation: vectors that are gone, that have come, and all its units then."""

    gone: RowIds
    come: RowIds
    columns: Columns


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes the indexes of a store.

    Attributes:
        folder: Where index files are; None for a store in memory.
        settings: How vectors are compared and indexed.
        mmap: Leave index files on disk, and read what a search touches.
        read_only: Write no files.
        device: Where indexes are searched: "cpu", or one or several GPUs.
        gpu_shard: Several GPUs hold a part of each index, and not all of it.
        gpu_float16: GPUs hold exact indexes in half precision.
    """

    folder: Path | None
    settings: Settings
    device: str | Sequence[str] = "cpu"
    gpu_shard: bool = False
    gpu_float16: bool = False
    mmap: bool = False
    read_only: bool = False

    def refresh(self, held: Held, snapshot: Snapshot, *, show_progress: bool = False) -> None:
        """Bring an index to the generation of a snapshot, by the shortest way that there is."""
        generation = snapshot.generation
        if held.generation == generation:
            return
        if held.generation is None:
            self._read(held, snapshot)
        since, held.generation = held.generation, None  # whatever interrupts what follows, nothing half done is used
        held.selections.clear()
        if since is None or not self._caught_up(held, snapshot, since):
            self._build(held, snapshot, show_progress=show_progress)
        held.generation = generation

    def renew(self, held: Held, snapshot: Snapshot, *, show_progress: bool = False) -> None:
        """Build an index anew if it hides vectors that were removed, and have it written under the snapshot's generation.

        Args:
            held: The index, which is of the snapshot's generation.
            snapshot: The store's.
            show_progress: Show a progress bar.
        """
        held.saved = False
        if held.index is None or not held.index.hidden:
            return
        generation, held.generation = held.generation, None
        self._build(held, snapshot, show_progress=show_progress)
        held.generation = generation

    def has_files(self, granularity: Granularity) -> bool:
        """Tell whether there are files of an index."""
        return self.folder is not None and (self.folder / f"{granularity}.json").exists()

    def save(self, held: Held) -> None:
        """Write an index where it is newer than its files."""
        if self.folder is None or self.read_only:
            return
        path = self.folder / held.granularity
        if held.saved or held.index is None or held.generation is None:
            sweep(path)
            return
        arrays = {"columns": np.stack([getattr(held.columns, each.name) for each in fields(Columns)])}
        stamp = {
            "granularity": held.granularity,
            "generation": held.generation,
            "built_for": held.built_for,
        }
        try:
            save(held.index, path, stamp=stamp, arrays=arrays)
        except (OSError, RuntimeError) as error:
            logger.warning("%s cannot be written (%s): it will be built again from the database", path, error)
        else:
            held.saved = True

    def _read(self, held: Held, snapshot: Snapshot) -> None:
        """Read the index files, if they are of this store as it is set."""
        if self.folder is None:
            return
        found = load(self.folder / held.granularity, mmap=self.mmap)
        if found is None:
            return
        index, stamp = found.index, found.stamp
        wanted = (held.granularity, snapshot.get("dim"), self.settings.similarity, self.settings.shards)
        if (stamp.get("granularity"), index.dim, index.similarity, index.shards) != wanted:
            return
        held.index, held.columns = self._placed(index), Columns(*found.arrays["columns"])
        held.built_for = int(stamp["built_for"])
        held.generation, held.saved = int(stamp["generation"]), True

    def _caught_up(self, held: Held, snapshot: Snapshot, since: int) -> bool:
        """Carry what has changed since a generation into an index; tell whether it is then as good as one built anew."""
        if held.index is None:
            return False
        change = _change(held, snapshot, since)
        index = held.index
        if change is None or not self._fits(held, index, len(index) + len(change.come) - len(change.gone)):
            return False
        held.saved = held.saved and change.columns is held.columns
        index.remove(change.gone)
        for rows, vectors in snapshot.vector_blocks(change.come):
            index.add(rows, vectors)
        held.columns = change.columns
        return index.hidden <= _HIDDEN * (len(index) + index.hidden)

    def _fits(self, held: Held, index: VectorIndex, count: int) -> bool:
        """Tell whether an index is of the kind that is wanted for so many vectors, or for somewhat more of them.

        Without that margin, a store about the size at which the kind changes would be built anew with every few writes.
        """
        if index.kind not in {self._kind(held.granularity, each, index.dim) for each in (count, int(count * _MARGIN))}:
            return False
        return index.exact or count <= _GROWN * max(held.built_for, 1)

    def _build(self, held: Held, snapshot: Snapshot, *, show_progress: bool) -> None:
        columns = snapshot.columns(held.granularity)
        ids = columns.distinct_vectors()
        held.index, held.columns, held.built_for, held.saved = None, columns, len(ids), False
        if not len(ids):
            return
        dim = int(snapshot.get("dim"))
        kind = self._kind(held.granularity, len(ids), dim)
        index = VectorIndex(dim, kind=kind, similarity=self.settings.similarity, shards=self.settings.shards)
        if not index.trained:
            index.train(snapshot.vectors(_sample(ids, check_kind(kind, dim).max_training)))
        with progress_bar(show=show_progress, unit=f" {held.granularity}s indexed", total=len(ids)) as bar:
            for rows, vectors in snapshot.vector_blocks(ids):
                index.add(rows, vectors)
                bar.update(len(rows))
        held.index = self._placed(index)

    def _placed(self, index: VectorIndex) -> VectorIndex:
        """Return an index where it is to be searched."""
        if self.device == "cpu":
            return index
        from factoid.index.gpu import to_gpu

        return to_gpu(index, device=self.device, shard=self.gpu_shard, float16=self.gpu_float16)

    def _kind(self, granularity: Granularity, count: int, dim: int) -> str:
        """Return the kind for so many vectors: the one set, or exact as long as there are too few to train it."""
        return usable_kind(self.settings.kind(granularity), dim, count, usable_memory())


def _sample(ids: RowIds, size: int) -> RowIds:
    """Return at most so many ids, chosen at random, the same ones every time, in their order."""
    return np.sort(np.random.default_rng(0).choice(ids, size, replace=False)) if len(ids) > size else ids


def _change(held: Held, snapshot: Snapshot, since: int) -> _Change | None:
    """Return what has changed since a generation, or None where that is not one of this store's, or not known any more."""
    before, nothing = held.columns, np.empty(0, np.int64)
    if since == snapshot.generation:
        return _Change(nothing, nothing, before)
    if not snapshot.follows(since):
        return None
    delta = snapshot.delta(held.granularity, since)
    if delta is None:  # ids of vectors are never given twice: those that are still there are the same
        after = snapshot.columns(held.granularity)
        had, has = before.distinct_vectors(), after.distinct_vectors()
        gone, come = np.setdiff1d(had, has, assume_unique=True), np.setdiff1d(has, had, assume_unique=True)
        return _Change(gone, come, after)
    if not len(delta.removed) and not len(delta.added):
        return _Change(nothing, nothing, before)
    after = before.replaced(delta.removed, delta.added)
    touched = np.union1d(before.vectors[before.mask_of_rows(delta.removed)], delta.added.vectors)
    was, now = _among(touched, before), _among(touched, after)
    return _Change(touched[was & ~now], touched[now & ~was], after)


def _among(ids: RowIds, columns: Columns) -> np.ndarray:
    _, which = columns.positions_of_vectors(ids)
    found = np.zeros(len(ids), np.bool_)
    found[which] = True
    return found
