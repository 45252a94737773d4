"""How vectors are compared: by inner product (Dense X Retrieval, Appendix C) or by cosine."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError


class Similarity(StrEnum):
    """What the score of a vector is. Higher is better."""

    INNER_PRODUCT = "inner_product"
    COSINE = "cosine"

    @classmethod
    def _missing_(cls, value: object) -> None:
        message = f"unknown similarity {value!r}: expected one of {', '.join(cls)}"
        raise InvalidInputError(message)


def prepare(vectors: Vectors, similarity: Similarity) -> Vectors:
    """Bring vectors into the form whose inner product is the similarity.

    Args:
        vectors: Queries or stored vectors. Shape: (n, dim).
        similarity: For the cosine, rows are divided by their norms; a zero vector stays zero, and so scores 0 with all.

    Returns:
        float32, contiguous; the argument itself where nothing had to change.
    """
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if similarity is Similarity.INNER_PRODUCT or not len(vectors):
        return vectors
    # Divided by the largest component first: the square of a large or tiny float32 is infinite or zero.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.ascontiguousarray(scaled / np.where(norms > 0, norms, 1), dtype=np.float32)
