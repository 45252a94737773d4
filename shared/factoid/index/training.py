"""Training: what kinds with centroids or ranges learn from a sample of the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.part import Part
from factoid.index.similarity import Similarity, prepare

_SEED = 0


def train_parts(parts: Sequence[Part], vectors: Vectors, similarity: Similarity) -> None:
    """Train the first part and let the others have a copy of what it learnt.

    Raises:
        InvalidInputError: There are fewer vectors than the kind's `min_training`.
    """
    kind = parts[0].kind
    if len(vectors) < kind.min_training:
        message = (
            f"the index {kind.name!r} needs {kind.min_training} vectors to be trained, got {len(vectors)}: "
            'add more, choose a kind with fewer centroids, or "Flat"'
        )
        raise InvalidInputError(message)
    faiss = require("faiss", extra="cpu")
    parts[0].index.train(prepare(sample(vectors, kind.max_training), similarity))
    learnt = faiss.serialize_index(parts[0].index)  # some kinds cannot be cloned
    for part in parts[1:]:
        part.index = faiss.deserialize_index(learnt)


def sample(vectors: Any, size: int) -> Vectors:
    """Return at most `size` rows, chosen at random, the same ones every time, in their order.

    Args:
        vectors: An array or anything that is indexed like one, such as a mapped file. Shape: (n, dim).
        size: How many at most.
    """
    if len(vectors) <= size:
        return np.asarray(vectors, dtype=np.float32)
    rows = np.sort(np.random.default_rng(_SEED).choice(len(vectors), size, replace=False))
    return np.asarray(vectors[rows], dtype=np.float32)
