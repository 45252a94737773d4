"""Read, build, update and write the indexes of a store.

They are those of vectors, the one of words, and the one of varied passages, which filters need.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreError
from factoid.files.disk_errors import explain_disk_error
from factoid.heading_template import encoded_text
from factoid.progress import progress_bar
from factoid.ranking import LEXICAL, Columns, Scale
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.compared import changed_units, compared_units
from factoid.store.indexes.state import IndexState
from factoid.store.settings import Settings
from factoid.units import Granularity
from factoid.vectors import AUTO, RowIds, VectorIndex, load, normalized, save, usable_kind
from factoid.vectors.files import index_files
from factoid.vectors.lexical import LexicalIndex
from factoid.vectors.vector_index import membership, sample

INDEXES = (*Granularity, LEXICAL)  # names of the indexes that may be beside the database

# An index is rebuilt when this share of its vectors is hidden, or when it holds this many times the
# vectors that it was built for: both make searches slower or less exact.
_HIDDEN = 0.25
_GROWN = 4

# An index keeps its kind up to this many times the vectors: otherwise a store near the size at
# which the kind changes would be rebuilt every few writes.
_MARGIN = 1.25

_BLOCK = 10_000  # passages read at a time
_SAMPLE = 256  # units from whose vectors the scale of scores is estimated


logger = logging.getLogger(__name__)


class _Change(NamedTuple):
    """The difference between an index and a later generation.

    It has the vectors to remove and to add, and all units afterwards.
    """

    removed: RowIds
    added: RowIds
    columns: Columns


@dataclass(frozen=True, slots=True)
class VectorBuilder:
    """Builds the indexes of vectors. The options are those of `UnitStore`."""

    settings: Settings
    device: str | Sequence[str] = "cpu"
    gpu_shard: bool = False
    gpu_float16: bool = False
    mmap: bool = False

    def read(self, path: Path, snapshot: Snapshot, **_: Any) -> IndexState | None:
        """Return the content of an index's files, if they fit this store and its settings."""
        state = read_index(path, snapshot, mmap=self.mmap)
        wanted = (path.name, snapshot.meta.get("dim"), self.settings.similarity)
        if not state or (state.name, state.index.dim, state.index.similarity) != wanted:
            return None
        state.index = self._placed(state.index)
        return state

    def update(
        self,
        state: IndexState,
        snapshot: Snapshot,
        since: int | None,
        *,
        progress: bool | None = None,
    ) -> None:
        """Update an index from a generation to that of a snapshot in the cheapest way.

        None rebuilds it.
        """
        if since is None or not self._caught_up(state, snapshot, since, progress=progress):
            self._build(state, snapshot, progress=progress)
        state.has_vectors = snapshot.has_vectors(Granularity(state.name))
        state.scale = None
        count = len(state.columns)
        if count:
            evenly = np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.int64)
            ids, places = np.unique(state.columns.vector_ids[evenly], return_inverse=True)
            vectors = snapshot.vectors(ids)[places]
            state.scale = Scale.of(normalized(vectors, self.settings.similarity))

    def write(self, state: IndexState, path: Path) -> None:
        """Write the files of an index."""
        save(path, state.stamp(), {"columns": state.columns.stacked()}, state.index)

    def _caught_up(
        self, state: IndexState, snapshot: Snapshot, since: int, *, progress: bool | None
    ) -> bool:
        """Apply the changes since a generation to an index.

        The result says whether it is then as good as a rebuilt one.
        """
        index = state.index
        change = _change_since(state, snapshot, since)
        if index is None or change is None:
            return False
        count = len(index) + len(change.added) - len(change.removed)
        sizes = (count, int(count * _MARGIN))
        kinds = {self._kind(state.name, size, index.dim) for size in sizes}
        has_outgrown = count > _GROWN * max(state.built_for, 1)
        if index.kind not in kinds or (has_outgrown and not index.is_exact):
            return False
        index.remove(change.removed)
        with _bar(state, len(change.added), progress) as bar:
            for rows, vectors in snapshot.vector_blocks(change.added):
                index.add(rows, vectors)
                bar.update(len(rows))
        state.columns = change.columns
        return bool(index.hidden <= _HIDDEN * (len(index) + index.hidden))

    def _build(self, state: IndexState, snapshot: Snapshot, *, progress: bool | None) -> None:
        columns = compared_units(snapshot, state.name)
        ids = columns.distinct_vectors()
        state.index = None
        state.columns = columns
        state.built_for = len(ids)
        if not len(ids):
            return
        dim = int(snapshot.meta["dim"])
        kind = self._kind(state.name, len(ids), dim)
        index = VectorIndex(dim, kind=kind, similarity=self.settings.similarity)
        if not index.trained:
            index.train(snapshot.vectors(sample(ids, index.ability.max_training)))
        with _bar(state, len(ids), progress) as bar:
            for rows, vectors in snapshot.vector_blocks(ids):
                index.add(rows, vectors)
                bar.update(len(rows))
        state.index = self._placed(index)

    def _placed(self, index: VectorIndex) -> VectorIndex:
        """Return an index on the device where it is searched."""
        if self.device == "cpu":
            return index
        from factoid.vectors.gpu import to_gpu

        return to_gpu(index, device=self.device, shard=self.gpu_shard, float16=self.gpu_float16)

    def _kind(self, granularity: str, count: int, dim: int) -> str:
        """Return the kind for `count` vectors.

        It is the one set, or an exact one if they are too few to train it.
        """
        kind = self.settings.kinds.get(Granularity(granularity), AUTO)
        if kind == AUTO and self.device != "cpu":
            from factoid.vectors.gpu import choose_gpu_kind, count_gpus, gpu_memory

            if count_gpus():
                kind = choose_gpu_kind(count, dim, gpu_memory())
        return usable_kind(kind, dim, count)


def _bar(state: IndexState, count: int, progress: bool | None) -> AbstractContextManager[Any]:
    """Return a progress bar of vectors that are put into an index."""
    return progress_bar(show=progress, unit=f" {state.name}s indexed", total=count)


@dataclass(frozen=True, slots=True)
class LexicalBuilder:
    """Builds the index of the words of passages."""

    language: str

    def read(self, path: Path, snapshot: Snapshot, *, later: bool) -> IndexState | None:
        """Return the content of the files, if they have this language.

        With `later`, postings are checked when read.
        """
        state = read_index(path, snapshot, later=later)
        if state is None or state.index.language != self.language:
            return None
        return state

    def update(
        self,
        state: IndexState,
        snapshot: Snapshot,
        since: int | None,
        *,
        progress: bool | None = None,
    ) -> None:
        """Apply the changes since a generation to an index; None rebuilds it."""
        change = None
        if state.index is not None and since is not None:
            change = _change_since(state, snapshot, since)
        if change is None:
            columns = compared_units(snapshot, LEXICAL)
            change = _Change(np.empty(0, np.int64), columns.rows, columns)
            state.index = LexicalIndex(self.language)
        if len(change.removed) or len(change.added):
            unit = " passages indexed by words"
            with progress_bar(show=progress, unit=unit, total=len(change.added)) as bar:
                texts = _texts(snapshot, change.added, bar)
                state.index.update(change.removed, change.added, texts)
                bar.reach(len(change.added))  # the last text is read, and nothing asks for more
        state.columns = change.columns
        state.built_for = len(change.columns)

    def write(self, state: IndexState, path: Path) -> None:
        """Write the file of the index."""
        stamp = {**state.stamp(), "language": self.language}
        arrays = {"columns": state.columns.stacked(), **state.index.arrays()}
        save(path, stamp, arrays, in_pieces=state.index.in_pieces)


class VariedPassagesBuilder:
    """Keeps the columns of passages over units with other metadata, and of these units.

    It has no files.
    """

    def read(self, path: Path, _: Snapshot, **__: Any) -> None:
        """Return nothing: there are no files."""

    def update(self, state: IndexState, snapshot: Snapshot, since: int | None, **_: Any) -> None:
        """Apply the changes since a generation; None reads everything."""
        last = snapshot.values("SELECT last FROM commits WHERE generation = ?", [since])
        touched = None
        if since is not None and last:
            touched = snapshot.touched_passages(since, last[0])
        if touched is None:
            state.columns = snapshot.varied_passages()
            return
        changed, passages = touched
        if not len(changed) and not len(passages):
            return
        before = state.columns
        above = np.union1d(changed, passages)
        stale = membership(before.rows, changed) | membership(before.passages, above)
        state.columns = before.replaced(before.rows[stale], snapshot.varied_passages(passages))

    def write(self, state: IndexState, path: Path) -> None:
        """Write nothing."""


Builder: TypeAlias = VectorBuilder | LexicalBuilder | VariedPassagesBuilder


def read_index(
    path: Path,
    snapshot: Snapshot,
    *,
    mmap: bool = False,
    later: bool = False,
    vectors: Callable[[RowIds], Vectors] | None = None,
) -> IndexState | None:
    """Return an index with its columns as written, or None if there is nothing that can be trusted.

    Args:
        path: The path of its files, without generation and ending.
        snapshot: Of the generation that is the latest to read; it has the vectors.
        mmap: As in `factoid.vectors.load`.
        later: As there.
        vectors: As there; None for those of the snapshot.
    """
    try:
        cache = load(
            path,
            generation=snapshot.generation,
            mmap=mmap,
            later=later,
            vectors=vectors or snapshot.vectors,
        )
        if cache is None:
            return None
        return _state(path.name, *cache)
    except (ValueError, TypeError, LookupError, InvalidInputError, DamagedRowError) as error:
        # A damaged vector may be one that was deleted since.
        logger.warning("%s cannot be read (%s): it is built again", path, error)
        return None


def remove_indexes(folder: Path, names: Iterable[str]) -> None:
    """Remove the files of some indexes in a store's folder, to be built again.

    Raises:
        StoreError: They cannot be removed.
    """
    try:
        for name in names:
            for file in index_files(folder / name):
                file.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"the indexes in {folder} cannot be removed: {explain_disk_error(error)}"
        ) from error


def _state(
    name: str, index: VectorIndex | None, stamp: Mapping[str, Any], arrays: Mapping[str, Any]
) -> IndexState:
    """Return the state of an index, if its parts fit each other; raise ValueError otherwise."""
    facts = dict(stamp)
    columns = Columns.checked(arrays["columns"])
    content: VectorIndex | LexicalIndex | None = index
    if name == LEXICAL:
        content = LexicalIndex.from_arrays(facts.pop("language"), arrays)
        fits = np.array_equal(content.rows, columns.rows)
    else:
        fits = index is not None and np.array_equal(index.ids, columns.distinct_vectors())
    if not fits or facts.get("name") != name or type(facts.get("built_for")) is not int:
        raise ValueError("it holds other units than its record says")
    return IndexState(index=content, columns=columns, written=facts["generation"], **facts)


def _change_since(state: IndexState, snapshot: Snapshot, since: int) -> _Change | None:
    """Return the changes since a generation.

    None means that it is not a generation of this store's present content.
    """
    before = state.columns
    last = snapshot.values("SELECT last FROM commits WHERE generation = ?", [since])
    if not last:
        return None
    delta = changed_units(snapshot, state.name, since, last[0], before)
    if delta is None:  # ids of vectors are never reused: those that still exist are the same
        after = compared_units(snapshot, state.name)
        old = before.distinct_vectors()
        new = after.distinct_vectors()
        removed = np.setdiff1d(old, new, assume_unique=True)
        added = np.setdiff1d(new, old, assume_unique=True)
        return _Change(removed, added, after)
    rows, units = delta
    if not len(rows) and not len(units):
        return _Change(np.empty(0, np.int64), np.empty(0, np.int64), before)
    after = before.replaced(rows, units)
    touched = np.union1d(before.vector_ids[membership(before.rows, rows)], units.vector_ids)
    # By binary search: few vectors are looked up among many.
    in_old = _occur(touched, before)
    in_new = _occur(touched, after)
    return _Change(touched[in_old & ~in_new], touched[in_new & ~in_old], after)


def _occur(ids: RowIds, columns: Columns) -> NDArray[np.bool_]:
    """Return which ids of vectors, ascending, are in some columns. Shape: (n,)."""
    _, positions = columns.positions_of_vectors(ids)
    return np.bincount(positions, minlength=len(ids)) > 0


def _texts(snapshot: Snapshot, rows: RowIds, bar: Any) -> Iterator[str]:
    """Yield the texts of passages with their headings, as encoded."""
    template = snapshot.template
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].tolist()
        units = snapshot.units(block)
        if len(units) < len(block):
            raise DamagedRowError(min(set(block) - units.keys()), what="unit of row")
        for row in block:
            yield encoded_text(units[row], template)
        bar.update(len(block))
