"""Vectors by row id, in one FAISS index or in several shards of it (Dense X Retrieval, Appendix C: eight)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.index.kinds import EXACT, Parameters, check_kind, check_parameters
from factoid.index.part import Part
from factoid.index.scan import RowIds, pool

_CHUNK = 65_536  # vectors that are prepared, and copied, at a time


class Similarity(StrEnum):
    """How vectors are scored (Dense X Retrieval, Appendix C, uses the inner product). Higher is better."""

    INNER_PRODUCT = "inner_product"
    COSINE = "cosine"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InvalidInputError(f"unknown similarity {value!r}: expected one of {', '.join(cls)}")


def prepare(vectors: Vectors, similarity: Similarity) -> Vectors:
    """Return vectors as contiguous float32 whose inner product is the similarity; a zero vector stays zero. Shape: (n, dim)."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if similarity is Similarity.INNER_PRODUCT:
        return vectors
    # In double precision, block by block: the square of a large or tiny float32 is infinite or zero.
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))[:, None]
    return np.divide(vectors, np.where(norms > 0, norms, 1), out=np.empty_like(vectors), casting="same_kind")


class VectorIndex:
    """An index of vectors. Searches may run in many threads at once, but not while the index changes.

    Args:
        dim: Number of components of every vector.
        kind: A FAISS factory string, whose `Kind` is the attribute `ability`.
        similarity: How vectors are scored.
        shards: Number of parts that are searched in parallel; a vector is in the part given by its id modulo this number.

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
        shards: int = 1,
        _parts: Sequence[Part] | None = None,
    ) -> None:
        self.ability = check_kind(kind, dim)
        self.dim = dim
        self.kind = kind
        self.similarity = Similarity(similarity)
        self.exact, self.lossy = self.ability.exact, self.ability.lossy  # except for half precision on a GPU
        self.parts: tuple[Part, ...] = tuple(_parts or (Part(self.ability) for _ in range(shards)))
        self.shards = len(self.parts)

    def __len__(self) -> int:
        return len(self.parts[0].ids) if self.shards == 1 else sum(len(part.ids) for part in self.parts)

    @property
    def trained(self) -> bool:
        """Whether vectors can be added."""
        return all(part.index.is_trained for part in self.parts)

    @property
    def hidden(self) -> int:
        """Number of vectors that were removed but still take up room, because the kind cannot delete them."""
        return sum(part.ids.hidden for part in self.parts)

    @property
    def ids(self) -> RowIds:
        """The ids of all vectors, ascending."""
        return np.sort(np.concatenate([part.ids.live for part in self.parts]))

    def train(self, vectors: Vectors) -> None:
        """Train a kind that needs it on a sample of the vectors to come; other kinds ignore this. Shape: (n, dim).

        Raises:
            InvalidInputError: There are fewer vectors than the kind's `min_training`.
        """
        check_vectors(vectors, self.dim)
        if self.trained:
            return
        if len(vectors) < self.ability.min_training:
            raise InvalidInputError(
                f"the index {self.kind!r} needs {self.ability.min_training} vectors to be trained, got {len(vectors)}: "
                'add more, choose a kind with fewer centroids, or "Flat"'
            )
        import faiss

        self.parts[0].index.train(prepare(sample(vectors, self.ability.max_training), self.similarity))
        trained = faiss.serialize_index(self.parts[0].index)  # some kinds cannot be cloned
        for part in self.parts[1:]:
            part.index = faiss.deserialize_index(trained)

    def add(self, ids: RowIds, vectors: Vectors) -> None:
        """Add vectors under new ids from 0 up. Shapes: (n,) and (n, dim).

        Raises:
            EncoderMismatchError: Vectors have another dimension, or components that are not finite.
        """
        check_vectors(vectors, self.dim)
        ids = np.ascontiguousarray(ids, dtype=np.int64)
        for part, rows in self._split(ids):
            for start in range(0, len(rows), _CHUNK):
                block = rows[start : start + _CHUNK]
                part.add(ids[block], prepare(vectors[block], self.similarity))

    def remove(self, ids: RowIds) -> None:
        """Remove the vectors of these ids; unknown ids are ignored."""
        ids = np.unique(np.asarray(ids, dtype=np.int64))
        for part, rows in self._split(ids):
            part.remove(ids[rows])

    def prepare(self, queries: Vectors) -> Vectors:
        """Return queries in the form that searches compare, or raise as `add` does. Shape: (n, dim)."""
        check_vectors(queries, self.dim)
        return prepare(queries, self.similarity)

    def search(
        self,
        queries: Vectors,
        k: int,
        *,
        allowed: RowIds | None = None,
        parameters: Parameters | None = None,
    ) -> tuple[Vectors, RowIds]:
        """Find the k best vectors for each query.

        Args:
            queries: In the form that `prepare` returns. Shape: (n, dim).
            k: Number of vectors, at least 1.
            allowed: Only these ids take part: ascending, each once, int64. None for all.
            parameters: Search parameters, for example `{"nprobe": 64}`.

        Returns:
            Scores and ids, best first, equal scores in the order of their ids; -inf and -1 after the last. Exact kinds find all
            vectors there are, and so do others if there are fewer than k. Shapes: (n, k) both.

        Raises:
            InvalidInputError: A parameter is out of range, or the kind has no such parameter.
        """
        if parameters:
            check_parameters(self.ability, parameters)
        if self.shards == 1:
            scores, ids = self.parts[0].search(queries, k, allowed, parameters or {})
            ranked = not (scores[:, 1:] == scores[:, :-1]).any()
        else:
            threads = shard_pool(self.shards)
            jobs = [threads.submit(part.search, queries, k, allowed, parameters or {}) for part in self.parts]
            scores, ids = map(np.hstack, zip(*(job.result() for job in jobs), strict=True))
            ranked = False
        return (scores, ids) if ranked and scores.shape[1] == k else best(scores, ids, k)

    def vectors(self, ids: RowIds) -> Vectors | None:
        """Return the vectors of these ids in the form that is compared, or None if the kind does not hold them exactly.

        Raises:
            InvalidInputError: An id is unknown.
        """
        if self.shards == 1:
            return self.parts[0].vectors(ids)
        gathered = np.empty((len(ids), self.dim), np.float32)
        for part, rows in self._split(ids):
            vectors = part.vectors(ids[rows])
            if vectors is None:
                return None
            gathered[rows] = vectors
        return gathered

    def _split(self, ids: RowIds) -> Iterator[tuple[Part, RowIds]]:
        """Yield each part and the positions in `ids` of its vectors."""
        for number, part in enumerate(self.parts):
            yield part, np.flatnonzero(ids % self.shards == number)


def best(scores: Vectors, ids: RowIds, k: int) -> tuple[Vectors, RowIds]:
    """Return the k best of each row, equal scores by id, padded with -inf and -1. Shapes: (n, m) both to (n, k)."""
    order = np.lexsort((ids, -scores))[:, :k]
    scores, ids = np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)
    missing = k - scores.shape[1]
    if missing > 0:
        scores = np.pad(scores, ((0, 0), (0, missing)), constant_values=-np.inf)
        ids = np.pad(ids, ((0, 0), (0, missing)), constant_values=-1)
    return scores, ids


def shard_pool(shards: int) -> ThreadPoolExecutor:
    """Return threads to search this many shards, each with a fair share of the cores."""
    cores = os.cpu_count() or 1
    return pool("shard", min(shards, 2 * cores), max(1, cores // shards), os.getpid())


def sample(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """Return at most `size` rows of an array in their order, chosen at random but the same every time."""
    return rows[np.sort(np.random.default_rng(0).choice(len(rows), size, replace=False))] if len(rows) > size else rows


def check_vectors(vectors: Vectors, dim: int) -> None:
    """Raise EncoderMismatchError for vectors of a shape other than (n, dim), or with components that are not finite."""
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        raise EncoderMismatchError(
            f"expected vectors of {dim} dimensions, got shape {vectors.shape}: was another encoder used?"
        )
    for start in range(0, len(vectors), _CHUNK):
        if not np.isfinite(vectors[start : start + _CHUNK]).all():
            raise EncoderMismatchError("a vector is not finite: the encoder failed on it")
