"""An open store, and everything that reads from it."""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from factoid.caches import IndexCaches
from factoid.database import Database
from factoid.encode import Encoder, Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError
from factoid.filters import Filter
from factoid.search import find_parents, find_units
from factoid.units import Document, Granularity, Hit, Unit, check_text

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)


class StoreReader:
    """The reading half of `UnitStore`, which see for the arguments."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        encoder: Encoder | None,
        granularities: Sequence[str] = GRANULARITIES,
    ) -> None:
        self.granularities = tuple(Granularity(name) for name in granularities)
        if not self.granularities or Granularity.DOCUMENT in self.granularities:
            message = f"granularities must be some of {', '.join(GRANULARITIES)}, got {granularities!r}"
            raise InvalidInputError(message)
        self.encoder = encoder
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        self._database = Database(self.path)
        self._caches = IndexCaches(self._database)
        self._closed = False
        name, stored = getattr(encoder, "name", None), self._database.get("encoder")
        if name and stored and name != stored:
            self._database.close()
            message = f"the store at {self.path} was built by the encoder {stored!r}, and was opened with {name!r}"
            raise EncoderMismatchError(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return sum(self.counts().values())

    def close(self) -> None:
        """Write the index caches that have changed, and close the store. Closing twice is harmless."""
        with self._lock:
            if self._closed:
                return
            try:
                self._caches.save()
            finally:
                self._closed = True
                self._database.close()

    def ids(self, filter: Filter | None = None) -> list[str]:  # noqa: A002 - as in search
        """Return the ids of all units, oldest first, or of those whose metadata pass a filter."""
        with self._lock:
            self._check_open()
            return self._database.ids(filter or {})

    def get(self, ids: Sequence[str]) -> list[Unit]:
        """Return the units with these ids, in this order; unknown ids are left out."""
        with self._lock:
            self._check_open()
            return self._database.units_by_id(ids)

    def searches(self, unit: Unit) -> bool:
        """Tell whether a unit is encoded: it is of a searched granularity, and more than white space."""
        return unit.granularity in self.granularities and bool(unit.text.strip())

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors of these units by id; without those that have none. Shape of each: (dim,)."""
        with self._lock:
            self._check_open()
            return self._database.vectors_by_id(ids)

    def document(self, own: str) -> Document | None:
        """Return a document that `add_documents` stored, or None."""
        with self._lock:
            self._check_open()
            return self._database.document(own)

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        with self._lock:
            self._check_open()
            return self._database.counts()

    def search(
        self,
        query: str,
        k: int = 5,
        *,
        granularity: str = Granularity.PROPOSITION,
        parents: bool = True,
        filter: Filter | None = None,  # noqa: A002 - the frameworks' own name for it
    ) -> list[Hit]:
        """Return the k best hits for a query, best first.

        Args:
            query: The question, as text.
            k: How many distinct hits; fewer only if the store has fewer.
            granularity: The units that are compared with the query.
            parents: Return the k best distinct passages, each with the units that made it a hit in `matches`; False for
                the units themselves.
            filter: Conditions on metadata, applied before the search (see `factoid.filters`).

        Raises:
            InvalidInputError: k below 1, an unknown granularity or one that the store does not search, a bad filter.
            MissingDependencyError: FAISS is not installed.
        """
        if self.encoder is None:
            message = "this store has no encoder: use search_by_vector, or give UnitStore an encoder"
            raise InvalidInputError(message)
        check_text(query, "query")
        vector = self.encoder.encode_queries([query])[0]
        return self.search_by_vector(vector, k, granularity=granularity, parents=parents, filter=filter)

    def search_by_vector(
        self,
        vector: Vectors,
        k: int = 5,
        *,
        granularity: str = Granularity.PROPOSITION,
        parents: bool = True,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> list[Hit]:
        """Do as `search` for a query that is already encoded. Shape: (dim,)."""
        kind = Granularity(granularity)
        k = _count(k)
        if kind not in self.granularities:
            message = f"this store searches {', '.join(self.granularities)}: it has no index of {kind}s"
            raise InvalidInputError(message)
        queries = np.asarray(vector, dtype=np.float32).reshape(1, -1)
        with self._lock:
            self._check_open()
            return self._find(queries, k, kind, parents, filter)

    def _find(self, queries: Vectors, k: int, kind: Granularity, parents: bool, condition: Filter | None) -> list[Hit]:
        with self._database.snapshot():
            index = self._caches.get(kind)
            if index is None:
                return []
            allowed = None if condition is None else self._database.matching(kind, condition)
            roll_up = parents and kind is not Granularity.PASSAGE
            find = find_parents if roll_up else find_units
            return find(self._database, index, queries, k=k, granularity=kind, allowed=allowed)

    def _check_open(self) -> None:
        if self._closed:
            message = "the store is closed: open it again with UnitStore(path, encoder=...)"
            raise StoreError(message)


def _count(k: object) -> int:
    """Return k as an int, whatever integer type it came as."""
    try:
        count = operator.index(k)  # type: ignore[arg-type]
    except TypeError as error:
        message = f"k must be a whole number, got {k!r}"
        raise InvalidInputError(message) from error
    if count < 1:
        message = f"k must be at least 1, got {count}"
        raise InvalidInputError(message)
    return count
