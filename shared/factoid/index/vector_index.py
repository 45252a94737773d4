"""Vectors under row ids, in one FAISS index or in several shards of it (Dense X Retrieval, Appendix C: eight)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.index.ids import RowIds, unique_ids
from factoid.index.kinds import EXACT, Kind, check_kind
from factoid.index.parameters import Parameters, check_parameters
from factoid.index.part import Part
from factoid.index.shards import search_parts
from factoid.index.similarity import Similarity, prepare
from factoid.index.training import train_parts

_CHUNK = 65_536  # vectors that are prepared, and copied, at a time


class VectorIndex:
    """An index of vectors. Searches may run in many threads at once; what changes it may not run beside them.

    Args:
        dim: Number of components of every vector.
        kind: A FAISS factory string (see `factoid.index.kinds`).
        similarity: What the score is.
        shards: Number of parts that are searched side by side; a vector lies in the part that its id names, modulo this.

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
        if isinstance(shards, bool) or not isinstance(shards, int) or shards < 1:
            message = f"shards must be a whole number of 1 or more, got {shards!r}"
            raise InvalidInputError(message)
        self.ability: Kind = check_kind(kind, dim)
        self.dim = dim
        self.kind = kind
        self.similarity = Similarity(similarity)
        self.parts: tuple[Part, ...] = tuple(_parts or (Part(self.ability) for _ in range(shards)))

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def shards(self) -> int:
        """Number of parts."""
        return len(self.parts)

    @property
    def exact(self) -> bool:
        """Whether every search compares every vector, and as it is."""
        return self.ability.exact

    @property
    def lossy(self) -> bool:
        """Whether scores are those of codes, and should be refined with exact vectors."""
        return self.ability.lossy

    @property
    def holds_vectors(self) -> bool:
        """Whether `vectors` returns them, instead of None."""
        return not self.ability.lossy and self.ability.family != "lists"

    @property
    def trained(self) -> bool:
        """Whether vectors can be added."""
        return all(part.index.is_trained for part in self.parts)

    @property
    def hidden(self) -> int:
        """How many vectors were removed but still take up room, because the kind cannot let them go."""
        return sum(part.ids.hidden for part in self.parts)

    @property
    def ids(self) -> RowIds:
        """The ids of all vectors, ascending. Not to be changed."""
        if self.shards == 1:
            return self.parts[0].ids.live
        return np.sort(np.concatenate([part.ids.live for part in self.parts]))

    def train(self, vectors: Vectors) -> None:
        """Let a kind that needs it see vectors; others ignore this. More than `max_training` of them are sampled.

        Args:
            vectors: As many of those to come as there are at hand, or a random sample. Shape: (n, dim).

        Raises:
            InvalidInputError: They are fewer than the kind's `min_training`.
        """
        check_vectors(vectors, self.dim)
        if not self.trained:
            train_parts(self.parts, vectors, self.similarity)

    def add(self, ids: RowIds, vectors: Vectors) -> None:
        """Add vectors.

        Args:
            ids: From 0 up, none of which is there. Shape: (n,).
            vectors: Shape: (n, dim).

        Raises:
            EncoderMismatchError: Vectors of another dimension, or with components that are not finite.
            InvalidInputError: Ids that cannot be added, or an index that is not trained.
        """
        check_vectors(vectors, self.dim)
        ids = unique_ids(ids)
        if len(ids) != len(vectors):
            message = f"got {len(ids)} ids for {len(vectors)} vectors"
            raise InvalidInputError(message)
        if len(ids) and not self.trained:
            message = f"the index {self.kind!r} must be trained before vectors are added: call train with a sample"
            raise InvalidInputError(message)
        for part, rows in self._split(ids):
            known = ids[rows][part.ids.known(ids[rows])]
            if len(known):
                message = f"the id {known[0]} is in the index already: remove it first"
                raise InvalidInputError(message)
        for part, rows in self._split(ids):
            for start in range(0, len(rows), _CHUNK):
                some = rows[start : start + _CHUNK]
                part.add(ids[some], prepare(vectors[some], self.similarity))

    def remove(self, ids: RowIds) -> None:
        """Remove the vectors of these ids; ids that are not there are ignored."""
        ids = np.asarray(ids, dtype=np.int64)
        for part, rows in self._split(ids):
            part.remove(ids[rows])

    def search(
        self, queries: Vectors, k: int, *, allowed: RowIds | None = None, parameters: Parameters | None = None
    ) -> tuple[Vectors, RowIds]:
        """Find the k best vectors for each query.

        Args:
            queries: Shape: (n, dim).
            k: How many, at least 1.
            allowed: Only these ids take part: ascending, each once. None for all.
            parameters: What this search is told, for example `{"nprobe": 64}` (see `factoid.index.parameters`).

        Returns:
            Scores and ids, best first, equal scores in the order of their ids; -inf and -1 after the last. Exact kinds find
            all there are; others too, if they are fewer than k. Shapes: (n, k) both.

        Raises:
            EncoderMismatchError: Queries of another dimension, or with components that are not finite.
            InvalidInputError: k or a parameter is out of its range, or the kind has no such parameter.
        """
        check_vectors(queries, self.dim, "the vector of a query is not finite: the encoder failed on it")
        k = check_k(k)
        given = check_parameters(self.ability, parameters)
        if allowed is not None:
            allowed = np.ascontiguousarray(allowed, dtype=np.int64)
        return search_parts(self.parts, prepare(queries, self.similarity), k, allowed, given)

    def vectors(self, ids: RowIds) -> Vectors | None:
        """Return the vectors of these ids as they are compared, or None if the kind does not hold them as they are.

        For the cosine they are of unit length.

        Raises:
            InvalidInputError: An id is not there.
        """
        ids = np.asarray(ids, dtype=np.int64)
        found = np.empty((len(ids), self.dim), np.float32)
        for part, rows in self._split(ids):
            own = part.vectors(ids[rows])
            if own is None:
                return None
            found[rows] = own
        return found

    def _split(self, ids: RowIds) -> Iterator[tuple[Part, RowIds]]:
        """Yield each part and the positions in `ids` that are its."""
        if self.shards == 1:
            yield self.parts[0], np.arange(len(ids))
            return
        for number, part in enumerate(self.parts):
            yield part, np.flatnonzero(ids % self.shards == number)


def check_vectors(
    vectors: Vectors, dim: int, not_finite: str = "a vector is not finite: the encoder failed on it"
) -> None:
    """Refuse vectors that are not of shape (n, dim), or have components that are not finite.

    Raises:
        EncoderMismatchError: They are not what was expected.
    """
    if vectors.ndim != 2 or vectors.shape[1] != dim:
        message = f"expected vectors of {dim} dimensions, got shape {vectors.shape}: was another encoder used?"
        raise EncoderMismatchError(message)
    if not all(np.isfinite(vectors[start : start + _CHUNK]).all() for start in range(0, len(vectors), _CHUNK)):
        raise EncoderMismatchError(not_finite)


def check_k(k: int) -> int:
    """Return a number of results.

    Raises:
        InvalidInputError: It is not a whole number of 1 or more.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        message = f"k must be a whole number of 1 or more, got {k!r}"
        raise InvalidInputError(message)
    return int(k)
