"""What a search looks at: the units of one granularity, their index and their exact vectors, at one generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from factoid.encode import Vectors
from factoid.search.columns import Columns
from factoid.search.ranges import Ids
from factoid.units import Granularity


class Index(Protocol):
    """The part of `factoid.index.VectorIndex` that a search needs."""

    @property
    def dim(self) -> int:
        """Number of components of every vector."""

    @property
    def exact(self) -> bool:
        """Whether a search finds the k best for certain."""

    @property
    def lossy(self) -> bool:
        """Whether scores are those of compressed vectors, and not exact."""

    @property
    def holds_vectors(self) -> bool:
        """Whether exact vectors lie in it, and so are at hand."""

    def __len__(self) -> int: ...

    def search(
        self, queries: Vectors, k: int, *, allowed: Ids | None = None, parameters: Mapping[str, Any] | None = None
    ) -> tuple[Vectors, Ids]:
        """Return the scores and ids of the k best vectors for each query, best first, -1 where there is none.

        Args:
            queries: Shape: (n, dim), float32.
            k: How many; fewer columns come back where there are fewer vectors.
            allowed: Only these ids take part, ascending; None for all.
            parameters: How wide an approximate index searches.
        """


@dataclass(frozen=True)
class View:
    """The units of one granularity, ready to be searched.

    Attributes:
        granularity: What the units are.
        index: Finds vectors by id; each distinct vector once.
        columns: Which units have those vectors.
        exact: Returns the exact vectors of ids, as the index was given them. Shapes: (n,) to (n, dim).
    """

    granularity: Granularity
    index: Index
    columns: Columns
    exact: Callable[[Ids], Vectors]
