"""Vectors by row id: an array that is compared exactly, or a FAISS index."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.vectors.kinds import (
    EXACT,
    Parameters,
    check_kind,
    make,
    search_parameters,
    search_width,
)
from factoid.vectors.matrix import Matrix, best_first, largest

RowIds = NDArray[np.int64]
Mask = NDArray[np.bool_]

_CHUNK = 65_536  # vectors that are prepared, and copied, at a time
_SCORES = 1 << 24  # in memory at once: 64 MiB
# A mark for every number up to the highest is worth its memory if ids are at most this sparse.
_SPARSE = 16
_LEAST_MARKS = 1 << 20
_WIDER = 4  # times as many results or lists, where a search found too few


class Similarity(StrEnum):
    """How vectors are scored (Dense X Retrieval, Appendix C, uses the inner product).

    Higher is better.
    """

    INNER_PRODUCT = "inner_product"
    COSINE = "cosine"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InvalidInputError(f"unknown similarity {value!r}: expected one of {', '.join(cls)}")


def normalized(vectors: Vectors, similarity: Similarity) -> Vectors:
    """Return vectors as contiguous float32 whose inner product is the similarity.

    A zero vector stays zero. Shape: (n, dim).
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if similarity is Similarity.INNER_PRODUCT:
        return vectors
    # In double precision, block by block: the square of a large or tiny float32 is infinite or
    # zero.
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))[:, None]
    divisors = np.where(norms > 0, norms, 1)
    return np.divide(vectors, divisors, out=np.empty_like(vectors), casting="same_kind")


class Accelerator(Protocol):
    """A copy of the content of an index where it is searched faster, such as on a GPU."""

    def search(
        self, index: Any, queries: Vectors, k: int, width: int = 0
    ) -> tuple[Vectors, RowIds] | None:
        """Return scores and labels as FAISS does, or None if the CPU has to search."""

    def may_append(self, index: Any) -> bool:
        """Return whether vectors that were added to the index need no new copy."""

    def forget(self) -> None:
        """Drop the copy: the index has changed."""


class VectorIndex:
    """An index of vectors.

    Searches may run in many threads at once, but not while the index changes.

    Args:
        dim: Number of components of every vector.
        kind: A FAISS factory string, whose `Ability` is the attribute `ability`.
        similarity: How vectors are scored.

    Raises:
        InvalidInputError: The kind does not exist or does not fit the dimensions.
        MissingDependencyError: FAISS is not installed.
    """

    def __init__(
        self,
        dim: int,
        *,
        kind: str = EXACT,
        similarity: Similarity = Similarity.INNER_PRODUCT,
        _content: Any = None,
        _ids: RowIds | None = None,
        _mapped: bool = False,
    ) -> None:
        require("faiss", extra="cpu")
        self.ability = check_kind(kind, dim)
        self.dim = dim
        self.kind = kind
        self.similarity = Similarity(similarity)
        self.is_exact = kind == EXACT  # `scores` has the inner products with all vectors
        # More vectors than wanted should be found, to be scored again exactly.
        self.lossy = self.ability.lossy
        self.content = _content  # a `Matrix` if it is exact, else a FAISS index
        if _content is None and self.is_exact:
            self.content = Matrix(np.empty((0, dim), np.float32))
        elif _content is None:
            self.content = make(kind, dim)
        self.by_position = np.empty(0, np.int64)  # the ids, -1 where a vector is hidden
        if _ids is not None:
            self.by_position = _ids
        self.hidden = int((self.by_position < 0).sum())
        self.gpu: Accelerator | None = None
        self._mapped = _mapped  # in a file: it has to be copied before it can change
        self._sorted: tuple[RowIds, RowIds] | None = None  # the ids, ascending, and their positions
        # The ids of the latest search, and their positions.
        self._latest: tuple[RowIds | None, RowIds | None] = (None, None)

    def __len__(self) -> int:
        return len(self.by_position) - self.hidden

    @property
    def trained(self) -> bool:
        """Whether vectors can be added."""
        return isinstance(self.content, Matrix) or bool(self.content.is_trained)

    @property
    def ids(self) -> RowIds:
        """The ids of all vectors, ascending."""
        return self._by_id()[0]

    @property
    def nbytes(self) -> int:
        """The size of the vectors or codes, the ids, and what else FAISS holds."""
        import faiss

        if isinstance(self.content, Matrix):
            return int(self.content.vectors.nbytes + self.by_position.nbytes)
        size = faiss.serialize_index(self.content).nbytes
        if not self.ability.lists:  # which hold the ids
            size += self.by_position.nbytes
        return int(size)

    def train(self, vectors: Vectors) -> None:
        """Train a kind that needs it on a sample of the vectors to come; other kinds ignore this.

        Shape: (n, dim).

        Raises:
            InvalidInputError: There are fewer vectors than the kind's `min_training`.
        """
        check_vectors(vectors, self.dim)
        if self.trained:
            return
        if len(vectors) < self.ability.min_training:
            raise InvalidInputError(
                f"the index {self.kind!r} needs {self.ability.min_training} vectors to be "
                f"trained, got {len(vectors)}: "
                'add more, choose a kind with fewer centroids, or "Flat"'
            )
        training = sample(vectors, self.ability.max_training)
        self.content.train(normalized(training, self.similarity))

    def add(self, ids: RowIds, vectors: Vectors) -> None:
        """Add vectors under new ids from 0 up. Shapes: (n,) and (n, dim).

        Raises:
            EncoderMismatchError: Vectors have another dimension, or components that are not finite.
            InvalidInputError: FAISS cannot add these vectors to an index of this kind.
        """
        check_vectors(vectors, self.dim)
        ids = np.ascontiguousarray(ids, dtype=np.int64)
        self._make_changeable(appends=True)
        for start in range(0, len(ids), _CHUNK):
            block = slice(start, start + _CHUNK)
            prepared = normalized(vectors[block], self.similarity)
            if self.ability.family == "lists":
                self.content.add_with_ids(prepared, ids[block])
            else:
                try:
                    self.content.add(prepared)
                except RuntimeError as error:
                    reason = str(error).rpartition("Error: ")[2]
                    raise InvalidInputError(
                        f"the index {self.kind!r} cannot hold these vectors ({reason}): choose "
                        'another, such as "Flat"'
                    ) from error
        self.by_position = np.concatenate([self.by_position, ids])

    def remove(self, ids: RowIds) -> None:
        """Remove the vectors of these ids, or hide them if the kind cannot remove vectors.

        Unknown ids are ignored.
        """
        import faiss

        gone = membership(self.by_position, np.asarray(ids, np.int64))
        if not gone.any():
            return
        self._make_changeable()
        family = self.ability.family
        if family in ("graph", "other"):
            self.by_position = np.where(gone, -1, self.by_position)
            self.hidden += int(gone.sum())
            return
        if isinstance(self.content, Matrix):
            self.content.remove(gone)
        else:
            labels = np.flatnonzero(gone)
            if family == "lists":
                labels = self.by_position[gone]
            self.content.remove_ids(faiss.IDSelectorBatch(labels))
            _clear_free_slots(self.content)
        self.by_position = self.by_position[~gone]

    def normalized_queries(self, queries: Vectors) -> Vectors:
        """Return queries in the form that searches compare, or raise as `add` does.

        Shape: (n, dim).
        """
        check_vectors(queries, self.dim)
        return normalized(queries, self.similarity)

    def scores(self, queries: Vectors, ids: RowIds) -> Vectors:
        """Return the inner products of prepared queries with the vectors of these ids.

        The ids are all or most of an exact index. They are computed with all vectors. The positions
        of the ids are kept for the next search that passes the same array. Shapes: (n, dim) and
        (m,) to (n, m).
        """
        places = self._places(ids)
        scores: Vectors = self.content.products(queries)
        if places is None:
            return scores
        return scores.take(places, axis=1)

    def marks(self, ids: RowIds, chosen: Mask) -> Mask:
        """Return which vectors are those of the chosen among some ids, for `search`.

        Shape: (ids,) to (positions,).
        """
        places = self._places(ids)
        if places is None:
            return chosen
        marks = np.zeros(len(self.by_position), np.bool_)
        marks[places[chosen]] = True
        return marks

    def search(
        self,
        queries: Vectors,
        k: int,
        *,
        allowed: Mask | None = None,
        parameters: Parameters | None = None,
    ) -> tuple[Vectors, RowIds]:
        """Find the k best vectors for each query.

        Args:
            queries: In the form that `normalized_queries` returns. Shape: (n, dim).
            k: Number of vectors, at least 1.
            allowed: Only these vectors take part, as `marks` returns them; None for all.
            parameters: Search parameters, for example `{"nprobe": 64}`; those that the kind lacks
                are ignored.

        Returns:
            Scores and ids, best first; -inf and -1 after the last. An exact index finds all vectors
            there are, equal scores in the order of their ids, and others do if there are fewer than
            k. Shapes: (n, k) both.
        """
        if allowed is None and self.hidden:
            allowed = self.by_position >= 0
        count = len(self.by_position)
        if allowed is not None:
            count = int(np.count_nonzero(allowed))
        if count == len(self.by_position):
            allowed = None
        scores = np.full((len(queries), k), -np.inf, np.float32)
        ids = np.full((len(queries), k), -1)
        width = min(k, count)
        if width:
            if isinstance(self.content, Matrix):
                values, labels = self._compare(queries, width, allowed)
            else:
                values, labels = self._search(queries, width, allowed, count, parameters or {})
            missing = labels < 0
            if self.ability.family != "lists":
                labels = self.by_position[labels]
            scores[:, :width] = np.where(missing, -np.inf, values)
            ids[:, :width] = np.where(missing, -1, labels)
        return scores, ids

    def vectors(self, ids: RowIds) -> Vectors | None:
        """Return the vectors of these ids in the form that is compared.

        None means that the kind does not hold them exactly.

        Raises:
            InvalidInputError: An id is unknown.
        """
        if not self.ability.holds_vectors:
            return None
        positions = self._positions(ids)
        if len(positions) and positions.min() < 0:
            raise InvalidInputError(
                f"the index holds no vector under the id {ids[positions < 0][0]}"
            )
        if isinstance(self.content, Matrix):
            return self.content.vectors[positions]
        import faiss

        size = len(self.by_position) * self.dim
        components: Vectors = faiss.rev_swig_ptr(self._storage().get_xb(), size)
        return components.reshape(-1, self.dim)[positions]

    def _compare(self, queries: Vectors, k: int, marks: Mask | None) -> tuple[Vectors, RowIds]:
        """Compare the marked vectors with the queries, and return scores and positions."""
        if self.gpu is not None and marks is None:
            results = self.gpu.search(self.content, queries, k)
            if results is not None:
                return results
        best = np.empty((len(queries), k), np.float32)
        positions = np.empty((len(queries), k), np.int64)
        step = max(1, _SCORES // len(self.by_position))
        for start in range(0, len(queries), step):
            products = self.content.products(queries[start : start + step])
            if marks is not None:
                products[:, ~marks] = -np.inf
            for number, scores in enumerate(products, start):
                candidates = largest(scores, k)
                order = best_first(scores[candidates], self.by_position[candidates])
                positions[number] = candidates[order][:k]
                best[number] = scores[positions[number]]
        return best, positions

    def _search(
        self, queries: Vectors, k: int, marks: Mask | None, count: int, parameters: Parameters
    ) -> tuple[Vectors, RowIds]:
        """Search the `count` marked vectors with FAISS, and return scores and labels."""
        kind = self.ability
        total = len(self.by_position)
        if marks is not None and kind.family == "other":
            return self._filtered(queries, k, marks, count)
        width = search_width(kind, parameters, k=k, share=count / total, count=total)
        selector = None
        if marks is not None:
            selector = self._selector(marks)
        scores, labels = self._run(queries, k, width, selector)
        # The lists that were searched, or the part of the graph that was visited, may hold fewer
        # than there are.
        while kind.family == "lists" and width < kind.lists and (short := labels[:, -1] < 0).any():
            width = min(_WIDER * width, kind.lists)
            scores[short], labels[short] = self._run(queries[short], k, width, selector)
        if kind.family == "graph" and (short := labels[:, -1] < 0).any():
            import faiss

            options: dict[str, Any] = {}
            if selector is not None:
                options["sel"] = selector
            every = faiss.SearchParameters(**options)
            scores[short], labels[short] = self._storage().search(queries[short], k, params=every)
        return scores, labels

    def _filtered(
        self, queries: Vectors, k: int, marks: Mask, count: int
    ) -> tuple[Vectors, RowIds]:
        """Search for more than k results, until k of them are marked or all were searched."""
        width = k
        while True:
            width = min(_WIDER * width * len(marks) // count, len(marks))
            scores, labels = self._run(queries, width)
            passing = (labels >= 0) & marks[labels]
            if width == len(marks) or (passing.sum(axis=1) >= k).all():
                order = np.argsort(~passing, axis=1, kind="stable")[:, :k]
                labels = np.where(passing, labels, -1)
                scores = np.take_along_axis(scores, order, axis=1)
                return scores, np.take_along_axis(labels, order, axis=1)

    def _run(
        self, queries: Vectors, k: int, width: int = 0, selector: Any = None
    ) -> tuple[Vectors, RowIds]:
        results: tuple[Vectors, RowIds] | None = None
        if self.gpu is not None and selector is None:
            results = self.gpu.search(self.content, queries, k, width)
        if results is None:
            parameters = search_parameters(self.ability, width, selector)
            threads: AbstractContextManager[None] = nullcontext()
            if len(queries) == 1:
                threads = _one_thread()
            with threads:
                results = self.content.search(queries, k, params=parameters)
        scores, labels = results
        if self.ability.family == "other":  # what is in its lists was not checked
            labels = np.where(labels < len(self.by_position), labels, -1)
        return scores, labels

    def _selector(self, marks: Mask) -> Any:
        """Build a selector of the marked vectors by FAISS's labels.

        Labels are ids if there are lists, and positions otherwise.
        """
        import faiss

        if self.ability.family == "lists":
            labels = self.by_position[marks]
            if labels.max() > _SPARSE * len(labels) + _LEAST_MARKS:
                return faiss.IDSelectorBatch(labels)
            marks = np.zeros(labels.max() + 1, np.bool_)
            marks[labels] = True
        bits = np.packbits(marks, bitorder="little")
        selector = faiss.IDSelectorBitmap(bits)
        selector.bits = bits  # FAISS holds a bare pointer
        return selector

    def _storage(self) -> Any:
        """Return the index that a graph links."""
        import faiss

        return faiss.downcast_index(self.content.storage)

    def _places(self, ids: RowIds) -> RowIds | None:
        """Return the positions of some ids, or None if they are all in their order.

        Those of the last array are kept.
        """
        latest, places = self._latest
        if latest is not ids:
            places = None
            if not np.array_equal(ids, self.by_position):
                places = self._positions(ids)
            self._latest = (ids, places)
        return places

    def _positions(self, ids: RowIds) -> RowIds:
        """Return the position of each id, or -1 for an unknown id."""
        known, order = self._by_id()
        places = places_in(known, ids)
        if not len(known):
            return places
        return np.where(places >= 0, order[places], -1)

    def _by_id(self) -> tuple[RowIds, RowIds]:
        """Return the ids, ascending, and the position of each. Two threads may both sort them."""
        in_order = self._sorted
        if in_order is None:
            order = np.argsort(self.by_position, kind="stable")[self.hidden :]
            in_order = (self.by_position[order], order)
            self._sorted = in_order
        return in_order

    def _make_changeable(self, *, appends: bool = False) -> None:
        """Copy an index out of a mapped file: FAISS ends the process if a mapped index grows.

        A copy on GPUs is dropped, unless it can follow what is appended.
        """
        self._sorted = None
        self._latest = (None, None)
        if self.gpu is not None and not (appends and self.gpu.may_append(self.content)):
            self.gpu.forget()
        if self._mapped:
            import faiss

            self.content = faiss.deserialize_index(faiss.serialize_index(self.content))
            self._mapped = False


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have FAISS search with the calling thread alone.

    With several, one query waits longer for them than it computes.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # of this thread's searches
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _clear_free_slots(index: Any) -> None:
    """Set the codes behind the last vector of each list to zero, where lists are made of blocks.

    FAISS adds codes to a block by setting bits, and leaves those of removed vectors set: the next
    vectors would get both.
    """
    import faiss

    lists = faiss.try_extract_index_ivf(index)
    if not lists:
        return
    blocks = faiss.downcast_InvertedLists(lists.invlists)
    if not isinstance(blocks, faiss.BlockInvertedLists):
        return
    zeros = np.zeros(blocks.packer.code_size, np.uint8)
    for number in range(blocks.nlist):
        count = blocks.list_size(number)
        in_blocks = -(-count // blocks.n_per_block)
        if count == in_blocks * blocks.n_per_block:
            continue
        codes = faiss.rev_swig_ptr(blocks.get_codes(number), in_blocks * blocks.block_size)
        codes = codes.reshape(in_blocks, -1)
        for slot in range(count, in_blocks * blocks.n_per_block):
            blocks.packer.pack_1(zeros, slot, codes)


def places_in(ascending: RowIds, values: RowIds) -> RowIds:
    """Return the place of each value in an ascending array, or -1 if it is not there.

    Shape: (n,).
    """
    if not len(ascending):
        return np.full(len(values), -1)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[places] == values, places, -1)


def membership(values: RowIds, chosen: RowIds) -> Mask:
    """Return which values are among the chosen, as `numpy.isin` does.

    It is several times faster where ids are small and dense.
    """
    if len(values) == 0 or len(chosen) == 0:
        return np.zeros(len(values), np.bool_)
    low = int(values.min())
    high = int(values.max())
    if high - low >= max(_SPARSE * len(values), _LEAST_MARKS):
        return np.isin(values, chosen)
    table = np.zeros(high - low + 1, np.bool_)
    table[chosen[(chosen >= low) & (chosen <= high)] - low] = True
    if low != 0:
        values = values - low
    members: Mask = table[values]
    return members


def sample(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """Return at most `size` rows of an array in their order.

    They are chosen at random, but the same every time.
    """
    if len(rows) <= size:
        return rows
    chosen = np.random.default_rng(0).choice(len(rows), size, replace=False)
    return rows[np.sort(chosen)]


def check_vectors(vectors: Vectors, dim: int) -> None:
    """Raise EncoderMismatchError for vectors that are not finite, or not of shape (n, dim)."""
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        raise EncoderMismatchError(
            f"expected vectors of {dim} dimensions, got shape {vectors.shape}: was another "
            "encoder used?"
        )
    for start in range(0, len(vectors), _CHUNK):
        if not np.isfinite(vectors[start : start + _CHUNK]).all():
            raise EncoderMismatchError("a vector is not finite: the encoder failed on it")
