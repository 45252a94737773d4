"""The scale of an encoder's scores, on which the words of a query are weighed.

Some encoders give unrelated texts a cosine of .1, and others one of .8. What tells related texts
from others is how far a score is above the average one, and how far it can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors

# of the score of a vector in the query's direction: where all vectors are equal, words decide
_LEAST = 0.01


@dataclass(frozen=True, eq=False)
class Scale:
    """The mean and the length of compared vectors, estimated from a sample.

    Attributes:
        length: Their median length.
        mean: Their mean. Shape: (dim,), float64.
    """

    length: float
    mean: NDArray[np.float64]

    @classmethod
    def of(cls, vectors: Vectors) -> Self:
        """Return the scale of some vectors, as they are compared.

        Shape: (n, dim), and n is at least 1.
        """
        lengths = np.linalg.norm(vectors, axis=1)
        return cls(float(np.median(lengths)), vectors.mean(axis=0, dtype=np.float64))

    def reach(self, queries: Vectors) -> NDArray[np.float64]:
        """Return how far scores of each query reach.

        From the average one to that of a vector in the query's own direction. A constant that is
        added to all scores changes nothing, and a factor of all scores is one of the result. Shape:
        (queries,).
        """
        exact = queries.astype(np.float64)
        highest = np.linalg.norm(exact, axis=1) * self.length
        # by row, so that a query has one result in any batch
        average = (exact * self.mean).sum(axis=1)
        return np.asarray(np.maximum(highest - average, _LEAST * highest), np.float64)
