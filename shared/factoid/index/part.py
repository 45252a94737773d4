"""One FAISS index with the ids of its vectors: all of a `VectorIndex`, or one of its shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.kinds import Kind, make, search_parameters, unwrap, widths
from factoid.index.scan import LEAST_COMPONENTS, LEAST_QUERIES, RowIds, scan, shared_scan

if TYPE_CHECKING:
    from factoid.index.gpu import GpuCopy

# Vectors that a walk through a graph compares for each of its `efSearch` candidates. Comparing that many directly is as fast, and
# exact.
_COMPARED_PER_CANDIDATE = 20

_BLOCK = 1 << 24  # numbers in one block of results of a search that is widened
_BISECTION = 16  # looking up m of n ids by bisection costs about as much as marking all n where m is this fraction of n
_SPARSE = 16  # a mark for every number up to the highest is worth its memory if ids are at most this sparse
_TABLE_LEAST = 1 << 16


def membership(values: RowIds, chosen: RowIds) -> NDArray[np.bool_]:
    """Return which values are among the chosen, as `numpy.isin` does, several times faster where ids are small and dense."""
    if len(values) == 0 or len(chosen) == 0:
        return np.zeros(len(values), np.bool_)
    low, high = int(values.min()), int(values.max())
    if high - low >= max(_SPARSE * len(values), _TABLE_LEAST):
        return np.isin(values, chosen)
    table = np.zeros(high - low + 1, np.bool_)
    table[chosen[(chosen >= low) & (chosen <= high)] - low] = True
    members: NDArray[np.bool_] = table[values if low == 0 else values - low]
    return members


class IdTable:
    """Map ids to vectors: FAISS counts positions, a store counts rows."""

    def __init__(self, ids: RowIds | Iterable[int] = ()) -> None:
        self.by_position: RowIds = np.array(ids, dtype=np.int64)  # the id of each position, -1 where it is hidden
        self.hidden = int((self.by_position < 0).sum())
        self.highest = int(self.by_position.max(initial=-1))  # no id has ever been higher
        self._ranked: tuple[RowIds, RowIds] | None = None

    def __len__(self) -> int:
        return len(self.by_position) - self.hidden

    @property
    def live(self) -> RowIds:
        """All ids, ascending."""
        return (self._ranked or self._rank())[0]

    def append(self, ids: RowIds) -> None:
        """Give the next positions these ids."""
        self.by_position = np.concatenate([self.by_position, ids])
        self.highest = max(self.highest, int(ids.max(initial=-1)))
        self._ranked = None

    def drop(self, positions: RowIds) -> None:
        """Remove positions; those after them move up."""
        self.by_position = np.delete(self.by_position, positions)
        self._ranked = None

    def hide(self, positions: RowIds) -> None:
        """Leave positions without an id."""
        self.by_position[positions] = -1
        self.hidden += len(positions)
        self._ranked = None

    def positions(self, ids: RowIds) -> RowIds:
        """Return the position of each id, in the order of the ids, or -1 for an unknown id."""
        live, order = self._ranked or self._rank()
        if not len(live):
            return np.full(len(ids), -1, dtype=np.int64)
        ranks = np.minimum(np.searchsorted(live, ids), len(live) - 1)
        return np.where(live[ranks] == ids, order[ranks], -1)

    def select(self, ids: RowIds) -> RowIds:
        """Return the positions of the known ones among some ids, ascending. The ids are ascending, each once."""
        if len(ids) * _BISECTION < len(self.by_position):
            positions = self.positions(ids)
            return np.sort(positions[positions >= 0])
        return np.flatnonzero(membership(self.by_position, ids))

    def _rank(self) -> tuple[RowIds, RowIds]:
        """Keep and return the ids, ascending, and the position of each. Two threads may both do it."""
        order = np.argsort(self.by_position, kind="stable")[self.hidden :]
        self._ranked = self.by_position[order], order
        return self._ranked


class Part:
    """A FAISS index. Its labels are positions, or ids if it has inverted lists, which do not move up.

    A `mapped` index is in a file that is mapped into memory, and has to be copied before it can change.
    """

    def __init__(
        self, kind: Kind, index: Any = None, ids: RowIds | Iterable[int] = (), *, mapped: bool = False
    ) -> None:
        self.kind = kind
        self.index = make(kind.name, kind.dim) if index is None else index
        self.ids = IdTable(ids)
        self.gpu: GpuCopy | None = None
        self._mapped = mapped

    def add(self, ids: RowIds, vectors: Vectors) -> None:
        """Add prepared vectors, under new ids."""
        self._make_changeable()
        if self.kind.family == "lists":
            self.index.add_with_ids(vectors, ids)
        else:
            self.index.add(vectors)
        self.ids.append(ids)

    def remove(self, ids: RowIds) -> None:
        """Remove the vectors of these ids, ascending and each once, or hide them if the kind cannot remove vectors."""
        import faiss

        positions = self.ids.select(ids)
        if not len(positions):
            return
        if self.kind.family == "graph":
            self.ids.hide(positions)
            return
        self._make_changeable()
        labels = self.ids.by_position[positions] if self.kind.family == "lists" else positions
        self.index.remove_ids(faiss.IDSelectorBatch(labels))
        self.ids.drop(positions)

    def search(
        self, queries: Vectors, k: int, allowed: RowIds | None, parameters: Mapping[str, int]
    ) -> tuple[Vectors, RowIds]:
        """Return scores and ids, best first. Shapes: (n, min(k, candidates)); -inf and -1 if nothing was found."""
        by_position = self.ids.by_position
        selected = None
        if allowed is not None:
            selected = self.ids.select(allowed)
        elif self.ids.hidden:
            selected = np.flatnonzero(by_position >= 0)
        if selected is not None and len(selected) == len(by_position):
            selected = None
        k = min(k, len(by_position) if selected is None else len(selected))
        if not k:
            return np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        if selected is not None or not self.kind.exact or self.gpu is not None:
            scores, labels = self._search(queries, k, selected, parameters)
        elif len(queries) >= LEAST_QUERIES:
            scores, labels = scan(self._matrix(self.index), queries, k)
        elif len(by_position) * self.kind.dim >= LEAST_COMPONENTS:
            scores, labels = shared_scan(self._matrix(self.index), queries, k)
        else:
            scores, labels = self.index.search(queries, k)
        missing = labels < 0
        ids = labels if self.kind.family == "lists" else by_position[labels]
        if missing.any():
            scores, ids = np.where(missing, np.float32(-np.inf), scores), np.where(missing, -1, ids)
        return scores, ids

    def vectors(self, ids: RowIds) -> Vectors | None:
        """Return the vectors as they were added, or None if the kind does not hold them by position."""
        if not self.kind.holds_vectors:
            return None
        positions = self.ids.positions(ids)
        if not len(positions):
            return np.empty((0, self.kind.dim), np.float32)
        if positions.min() < 0:
            raise InvalidInputError(f"the index holds no vector under the id {ids[positions < 0][0]}")
        return self._matrix(self.index if self.kind.exact else self._storage())[positions]

    def _matrix(self, flat: Any) -> Vectors:
        """Return the vectors of a flat index without copying them. Shape: (count, dim)."""
        import faiss

        components: Vectors = faiss.rev_swig_ptr(flat.get_xb(), int(flat.ntotal) * self.kind.dim)
        return components.reshape(-1, self.kind.dim)

    def _storage(self) -> Any:
        """Return the index that a graph links."""
        import faiss

        return faiss.downcast_index(unwrap(self.index)[1].storage)

    def _search(
        self, queries: Vectors, k: int, selected: RowIds | None, parameters: Mapping[str, int]
    ) -> tuple[Vectors, RowIds]:
        """Search the selected positions, and return labels."""
        kind, count = self.kind, len(self.ids.by_position)
        if selected is not None and (
            not kind.filterable or (self.gpu is not None and self.gpu.widens(k, len(selected), count))
        ):
            return self._widen(queries, k, selected, parameters)
        candidates = count if selected is None else len(selected)
        values = widths(kind, parameters, share=candidates / count, k=k, count=count)
        if kind.family == "graph" and not parameters and candidates <= _COMPARED_PER_CANDIDATE * values["efSearch"]:
            return self._compare(queries, k, selected)
        selector = None if selected is None else self._selector(selected, unwrap(self.index)[1])
        scores, labels = self._run(queries, k, values, selector)
        # The lists that were searched, or the part of the graph that was visited, may hold fewer than there are.
        while kind.family == "lists" and values["nprobe"] < kind.lists and (short := labels[:, -1] < 0).any():
            values["nprobe"] = min(4 * values["nprobe"], kind.lists)
            scores[short], labels[short] = self._run(queries[short], k, values, selector)
        if kind.family == "graph" and (short := labels[:, -1] < 0).any():
            scores[short], labels[short] = self._compare(queries[short], k, selected)
        return scores, labels

    def _run(self, queries: Vectors, k: int, values: Mapping[str, int], selector: Any) -> tuple[Vectors, RowIds]:
        results: tuple[Vectors, RowIds] | None = None
        if selector is None and self.gpu is not None:
            results = self.gpu.search(self.index, queries, k, values)
        return results or self.index.search(queries, k, params=search_parameters(self.index, values, selector))

    def _compare(self, queries: Vectors, k: int, selected: RowIds | None) -> tuple[Vectors, RowIds]:
        """Compare all selected vectors of a graph."""
        for step in unwrap(self.index)[0]:
            queries = step.apply(queries)
        storage = self._storage()
        selector = None if selected is None else self._selector(selected, storage)
        results: tuple[Vectors, RowIds] = storage.search(queries, k, params=search_parameters(storage, {}, selector))
        return results

    def _widen(
        self, queries: Vectors, k: int, selected: RowIds, parameters: Mapping[str, int]
    ) -> tuple[Vectors, RowIds]:
        """Search all vectors for more than k results, until k of them are selected or all vectors were searched."""
        count = len(self.ids.by_position)
        marks = np.zeros(count + 1, dtype=bool)  # a missing result, -1, looks up the last one
        marks[selected] = True
        scores = np.full((len(queries), k), -np.inf, np.float32)
        labels = np.full((len(queries), k), -1, np.int64)
        pending, width = np.arange(len(queries)), min(count, 2 * k * count // len(selected))
        while len(pending):
            unfinished = []
            for rows in np.array_split(pending, -(-len(pending) * width // _BLOCK)):
                values, positions = self._run(queries[rows], width, parameters, None)
                passing = marks[positions]
                order = np.argsort(~passing, axis=1, kind="stable")[:, :k]
                passing = np.take_along_axis(passing, order, axis=1)
                scores[rows] = np.where(passing, np.take_along_axis(values, order, axis=1), -np.inf)
                labels[rows] = np.where(passing, np.take_along_axis(positions, order, axis=1), -1)
                unfinished.append(rows[~passing.all(axis=1)])
            if width == count:
                break
            pending, width = np.concatenate(unfinished), min(count, 4 * width)
        return scores, labels

    def _selector(self, positions: RowIds, core: Any) -> Any:
        """Build the fastest selector for the kind, from its labels."""
        import faiss

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
        selector.bits = bits  # FAISS holds a bare pointer
        return selector

    def _make_changeable(self) -> None:
        """Copy an index out of a mapped file: FAISS ends the process if a mapped index grows. A copy on GPUs is dropped."""
        if self.gpu is not None:
            self.gpu.forget()
        if self._mapped:
            import faiss

            self.index = faiss.deserialize_index(faiss.serialize_index(self.index))
            self._mapped = False
