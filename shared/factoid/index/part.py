"""One FAISS index with the ids of its vectors: the whole of a `VectorIndex`, or one of its shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.ids import IdTable, RowIds
from factoid.index.kinds import Kind, innermost, make, matches
from factoid.index.parameters import search_parameters, widths
from factoid.index.scan import LEAST_COMPONENTS, LEAST_QUERIES, scan, shared_scan

# A walk through a graph compares about this many vectors for each of its `efSearch` candidates. Where there are no more to
# choose from, comparing them all is as fast, and exact.
_COMPARED_PER_CANDIDATE = 20

# Numbers in one block of results of a search that is widened.
_BLOCK = 1 << 24


class Part:
    """A FAISS index. Its labels are positions, but ids where it has inverted lists, which do not move up.

    Args:
        kind: What it is.
        index: The FAISS index; None for an empty one.
        ids: The id of each of its positions, -1 for hidden ones.
        mapped: The index lies in a file that is mapped into memory, and has to be copied before it can change.
        owner: What keeps the FAISS index alive, if it is part of another.
    """

    def __init__(
        self, kind: Kind, index: Any = None, ids: RowIds | None = None, *, mapped: bool = False, owner: Any = None
    ) -> None:
        self.kind = kind
        self.index = make(kind.name, kind.dim) if index is None else index
        self.ids = IdTable(() if ids is None else ids)
        self._mapped = mapped
        self._owner = owner

    def __len__(self) -> int:
        return len(self.ids)

    def stored(self) -> Any:
        """Return what FAISS writes: the index, in an `IndexIDMap` that holds the ids of positions, -1 for hidden ones."""
        if self.kind.family == "lists":
            return self.index
        faiss = require("faiss", extra="cpu")
        # An IndexIDMap is only made around an empty index. It does not own what it points to: this part does.
        wrapped = faiss.IndexIDMap(faiss.IndexFlatIP(self.kind.dim))
        wrapped.index, wrapped.own_fields = self.index, False
        wrapped.ntotal, wrapped.is_trained = self.index.ntotal, self.index.is_trained
        faiss.copy_array_to_vector(np.ascontiguousarray(self.ids.by_position), wrapped.id_map)
        return wrapped

    @classmethod
    def restored(cls, kind: Kind, read: Any, *, mapped: bool) -> Part | None:
        """Take over what FAISS read, or return None if it is not what `stored` gave for this kind."""
        faiss = require("faiss", extra="cpu")
        if kind.family == "lists":
            index, core = read, innermost(read)[0]
            if not isinstance(core, faiss.IndexIVF):
                return None
            lists = core.invlists
            held = [_list(lists, number) for number in range(core.nlist)]
            ids = np.concatenate(held) if held else np.empty(0, np.int64)
        else:
            if type(read) is not faiss.IndexIDMap:
                return None
            index, ids = faiss.downcast_index(read.index), faiss.vector_to_array(read.id_map)
        fits = matches(index, kind) and index.ntotal == len(ids)
        return cls(kind, index, ids, mapped=mapped, owner=read) if fits else None

    def add(self, ids: RowIds, vectors: Vectors) -> None:
        """Add vectors that are prepared, under ids that are not there."""
        self._own()
        if self.kind.family == "lists":
            self.index.add_with_ids(vectors, ids)
        else:
            self.index.add(vectors)
        self.ids.append(ids)

    def remove(self, ids: RowIds) -> None:
        """Take vectors out, or hide them where the kind cannot."""
        positions = np.unique(self.ids.positions(ids))
        positions = positions[positions >= 0]
        if not len(positions):
            return
        if not self.kind.removable:
            self.ids.hide(positions)
            return
        self._own()
        labels = self.ids.by_position[positions] if self.kind.family == "lists" else positions
        self.index.remove_ids(require("faiss", extra="cpu").IDSelectorBatch(labels))
        self.ids.drop(positions)

    def search(
        self, queries: Vectors, k: int, allowed: RowIds | None, given: Mapping[str, int]
    ) -> tuple[Vectors, RowIds]:
        """Return scores and ids, best first. Shapes: (n, min(k, candidates)); -inf and -1 where nothing was found."""
        selected = None if allowed is None else self.ids.select(allowed)
        wanted = min(k, len(self) if selected is None else len(selected))
        if not wanted:
            return np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        if selected is None and self.ids.hidden:
            selected = self.ids.live_positions()
        elif selected is not None and len(selected) == len(self.ids.by_position):
            selected = None
        scores, labels = self._find(queries, wanted, selected, given)
        missing = labels < 0
        ids = labels if self.kind.family == "lists" else self.ids.by_position[labels]
        if missing.any():
            scores, ids = np.where(missing, np.float32(-np.inf), scores), np.where(missing, -1, ids)
        return scores, ids

    def vectors(self, ids: RowIds) -> Vectors | None:
        """Return the vectors as they were added, or None if the kind does not hold them by position."""
        if self.kind.lossy or self.kind.family == "lists":
            return None
        positions = self.ids.positions(ids)
        if (positions < 0).any():
            message = f"the index holds no vector under the id {ids[positions < 0][0]}"
            raise InvalidInputError(message)
        faiss = require("faiss", extra="cpu")
        holder = self.index if self.kind.exact else faiss.downcast_index(self.index.storage)
        if not len(positions):
            return np.empty((0, self.kind.dim), np.float32)
        found: Vectors = self._matrix(holder)[positions]
        return found

    def _matrix(self, flat: Any) -> Vectors:
        """Return the vectors of a flat index, where they lie. Shape: (count, dim)."""
        faiss = require("faiss", extra="cpu")
        held: Vectors = faiss.rev_swig_ptr(flat.get_xb(), int(flat.ntotal) * self.kind.dim)
        return held.reshape(-1, self.kind.dim)

    def _find(
        self, queries: Vectors, k: int, selected: RowIds | None, given: Mapping[str, int]
    ) -> tuple[Vectors, RowIds]:
        """Search the positions that are selected. Returns labels."""
        kind, count = self.kind, len(self.ids.by_position)
        if selected is not None and not kind.filterable:
            return self._widen(queries, k, selected, given)
        if kind.exact and selected is None:
            if len(queries) >= LEAST_QUERIES:
                return scan(self._matrix(self.index), queries, k)
            if count * kind.dim >= LEAST_COMPONENTS:
                return shared_scan(self._matrix(self.index), queries, k)
        candidates = count if selected is None else len(selected)
        values = widths(kind, given, share=candidates / count, k=k, count=count)
        if kind.family == "graph" and not given and candidates <= _COMPARED_PER_CANDIDATE * values["efSearch"]:
            return self._scan(queries, k, selected)
        selector = None if selected is None else self._selector(selected)
        scores, labels = self._run(queries, k, values, selector)
        # The lists that were searched, or the part of the graph that was walked, may hold fewer than there are.
        while (short := labels[:, -1] < 0).any():
            if kind.family == "lists" and values["nprobe"] < kind.lists:
                values["nprobe"] = min(4 * values["nprobe"], kind.lists)
                scores[short], labels[short] = self._run(queries[short], k, values, selector)
            elif kind.family == "graph":
                scores[short], labels[short] = self._scan(queries[short], k, selected)
                break
            else:
                break
        return scores, labels

    def _run(self, queries: Vectors, k: int, values: Mapping[str, int], selector: Any) -> tuple[Vectors, RowIds]:
        found: tuple[Vectors, RowIds] = self.index.search(
            queries, k, params=search_parameters(self.index, values, selector)
        )
        return found

    def _scan(self, queries: Vectors, k: int, selected: RowIds | None) -> tuple[Vectors, RowIds]:
        """Compare all vectors of a graph that are selected."""
        faiss = require("faiss", extra="cpu")
        outer = self.index
        while isinstance(outer, faiss.IndexPreTransform):
            for step in range(outer.chain.size()):
                queries = faiss.downcast_VectorTransform(outer.chain.at(step)).apply(queries)
            outer = faiss.downcast_index(outer.index)
        storage = faiss.downcast_index(outer.storage)
        selector = None if selected is None else self._selector(selected, storage)
        found: tuple[Vectors, RowIds] = storage.search(queries, k, params=search_parameters(storage, {}, selector))
        return found

    def _widen(self, queries: Vectors, k: int, selected: RowIds, given: Mapping[str, int]) -> tuple[Vectors, RowIds]:
        """Search all vectors for more than k, until k of those that were found are selected, or all were searched."""
        count = len(self.ids.by_position)
        marks = np.zeros(count + 1, dtype=bool)  # the last one is what a missing result, -1, looks up
        marks[selected] = True
        scores = np.full((len(queries), k), -np.inf, np.float32)
        labels = np.full((len(queries), k), -1, np.int64)
        open_, width = np.arange(len(queries)), min(count, 2 * k * count // len(selected))
        while len(open_):
            unfinished = []
            for rows in np.array_split(open_, -(-len(open_) * width // _BLOCK)):
                values, found = self._run(queries[rows], width, given, None)
                keep = marks[found]
                order = np.argsort(~keep, axis=1, kind="stable")[:, :k]
                kept = np.take_along_axis(keep, order, axis=1)
                scores[rows] = np.where(kept, np.take_along_axis(values, order, axis=1), -np.inf)
                labels[rows] = np.where(kept, np.take_along_axis(found, order, axis=1), -1)
                unfinished.append(rows[~kept.all(axis=1)])
            if width == count:
                break
            open_, width = np.concatenate(unfinished), min(count, 4 * width)
        return scores, labels

    def _selector(self, positions: RowIds, index: Any = None) -> Any:
        """Build the selector that is fastest for the kind, of its labels."""
        faiss = require("faiss", extra="cpu")
        core = innermost(self.index)[0] if index is None else index
        if isinstance(core, faiss.IndexFlat):
            return faiss.IDSelectorArray(positions)  # FAISS goes straight to these vectors
        labels, size = positions, len(self.ids.by_position)
        if self.kind.family == "lists":
            labels, size = self.ids.by_position[positions], self.ids.highest + 1
            if size > 64 * len(labels) + (1 << 20):
                return faiss.IDSelectorBatch(labels)
        marks = np.zeros(size, dtype=bool)
        marks[labels] = True
        bits = np.packbits(marks, bitorder="little")
        selector = faiss.IDSelectorBitmap(bits)
        selector.kept = bits  # FAISS holds a bare pointer
        return selector

    def _own(self) -> None:
        """Copy an index that lies in a mapped file into memory: FAISS ends the process if such a one grows."""
        if self._mapped:
            faiss = require("faiss", extra="cpu")
            self.index = faiss.deserialize_index(faiss.serialize_index(self.index))
            self._mapped, self._owner = False, None


def _list(lists: Any, number: int) -> RowIds:
    """Copy the ids of one inverted list."""
    faiss = require("faiss", extra="cpu")
    size = lists.list_size(number)
    found: RowIds = np.empty(0, np.int64)
    if size:
        pointer = lists.get_ids(number)
        found = faiss.rev_swig_ptr(pointer, size).copy()
        lists.release_ids(number, pointer)
    return found
