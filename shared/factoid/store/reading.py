"""An open store, and everything that reads from it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from factoid.encode import Encoder, Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.filters import Comparison, Filter, Tree
from factoid.index import Similarity
from factoid.index.gpu import check_device
from factoid.store.build import Builder
from factoid.store.connections import Connections, closed
from factoid.store.finding import find
from factoid.store.options import SearchOptions, whole_number
from factoid.store.settings import Settings
from factoid.store.snapshot import Snapshot
from factoid.store.views import Views
from factoid.units import Document, Granularity, Hit, Unit, check_text

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)
_DTYPES = ("float32", "float16")


class StoreReader:
    """The reading half of `UnitStore`, which see for the arguments."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        encoder: Encoder | None,
        granularities: Sequence[str] | None = GRANULARITIES,
        index: str | Mapping[str, str] | None = None,
        similarity: str | None = None,
        shards: int | None = None,
        dtype: str | None = None,
        device: str | Sequence[str] = "cpu",
        gpu_shard: bool = False,
        gpu_float16: bool = False,
        mmap: bool = False,
        read_only: bool = False,
    ) -> None:
        named = granularities is not None and not isinstance(granularities, str)
        given = tuple(Granularity(name) for name in granularities or ()) if named else None
        if granularities is not None and (not given or Granularity.DOCUMENT in given):
            message = f"granularities must be some of {', '.join(GRANULARITIES)}, got {granularities!r}"
            raise InvalidInputError(message)
        if dtype is not None and dtype not in _DTYPES:
            message = f"dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}"
            raise InvalidInputError(message)
        if read_only and path is None:
            message = "a store in memory cannot be read-only: it would stay empty. Give a path"
            raise InvalidInputError(message)
        # Refuse bad settings before a file is made.
        Settings().given(similarity=similarity, index=index, shards=shards)
        check_device(device)
        self.encoder = encoder
        self.path = None if path is None else Path(path)
        self._closing = threading.Lock()
        self._closed = False
        self._connections = Connections(self.path, read_only=read_only)
        try:
            with self._connections.reading() as connection:
                snapshot = Snapshot(connection)
                kept = Settings.of(snapshot)
                self._check_encoder(snapshot)
                held_as, dim = snapshot.get("dtype") or "float32", snapshot.get("dim")
                self.granularities = given or snapshot.searched() or GRANULARITIES
            self._settings = kept.given(similarity=similarity, index=index, shards=shards)
            if dim is not None and self._settings != kept:
                self._settings.check(dim)
            if dim is not None and dtype not in (None, held_as):
                message = f"the store at {self.path} keeps vectors as {held_as}: that cannot be changed"
                raise InvalidInputError(message)
            if not read_only and (self._settings != kept or dtype not in (None, held_as)):
                self._keep_settings(dtype or held_as)
        except BaseException:
            self._connections.close()
            raise
        builder = Builder(
            self.path,
            self._settings,
            device=device,
            gpu_shard=gpu_shard,
            gpu_float16=gpu_float16,
            mmap=mmap,
            read_only=read_only,
        )
        self._views = Views(self._connections, builder, self.granularities)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getstate__(self) -> None:
        """Refuse to be pickled or copied: two stores would close one another's files."""
        where = f"open {str(self.path)!r} again" if self.path else "copy_to(folder) writes what it holds to disk"
        message = f"a {type(self).__name__} cannot be pickled or copied: {where}"
        raise TypeError(message)

    def __len__(self) -> int:
        return sum(self.counts().values())

    @property
    def similarity(self) -> Similarity:
        """What a score is."""
        return self._settings.similarity

    @property
    def read_only(self) -> bool:
        """Whether the store refuses writes."""
        return self._connections.read_only

    def close(self) -> None:
        """Write the indexes that have changed, and close the store, after searches under way. Closing twice is harmless."""
        with self._closing:
            if self._closed:
                return
            try:
                self._views.save()
            finally:
                with self._views.closing():
                    self._closed = True
                    self._connections.close()

    def refresh(self, *, show_progress: bool = False) -> None:
        """Bring the indexes up to date now and write them, so that the next search finds them ready."""
        self._check_open()
        self._views.refresh(show_progress=show_progress)
        self._views.save()

    # Units and documents

    def ids(self, filter: Filter | None = None) -> list[str]:  # noqa: A002 - as in search
        """Return the ids of all units, oldest first, or of those whose metadata pass a filter."""
        with self._connections.reading() as connection:
            return Snapshot(connection).ids(filter or {})

    def mismatch(self, tree: Tree) -> tuple[Comparison, Any] | None:
        """Return a comparison of a filter that cannot be made with some stored value, and that value, or None.

        A filter lets such values fail; a framework whose reference raises TypeError there can tell by this.
        """
        with self._connections.reading() as connection:
            return Snapshot(connection).mismatch(tree)

    def get(self, ids: Sequence[str]) -> list[Unit]:
        """Return the units with these ids, in this order; unknown ids are left out."""
        _check_ids(ids)
        with self._connections.reading() as connection:
            return Snapshot(connection).units_by_id(ids)

    def searches(self, unit: Unit) -> bool:
        """Tell whether a unit is encoded: it is of a searched granularity, and more than white space."""
        return unit.granularity in self.granularities and bool(unit.text.strip())

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors of these units by id; without those that have none. Shape of each: (dim,)."""
        _check_ids(ids)
        with self._connections.reading() as connection:
            return Snapshot(connection).vectors_by_id(ids)

    def document(self, own: str) -> Document | None:
        """Return a document that `add_documents` stored, or None."""
        with self._connections.reading() as connection:
            return Snapshot(connection).document(own)

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        with self._connections.reading() as connection:
            return Snapshot(connection).counts()

    # Searches

    def search(
        self,
        query: str,
        k: int = 5,
        *,
        granularity: str | Sequence[str] = Granularity.PROPOSITION,
        parents: bool | str = True,
        filter: Filter | None = None,  # noqa: A002 - the frameworks' own name for it
        **options: Any,
    ) -> list[Hit]:
        """Return the k best hits for a query, best first.

        Args:
            query: The question, as text.
            k: How many distinct hits; fewer only if the store has fewer.
            granularity: The units that are compared with the query; several, or "mixed" for all, are fused.
            parents: Return the k best distinct passages, each with the units that made it a hit in `matches`; "document"
                for the k best distinct documents; False for the units themselves.
            filter: Conditions on metadata, applied before the search (see `factoid.filters`).
            options: Further ones:

                * `document_ids`: Only units of these documents. `unit_ids`: Only these units and those right under them.
                * `min_score`: Only hits with at least this score.
                * `fusion`: For several granularities, "rrf" (reciprocal rank fusion; Cormack et al., 2009) or "max".
                * `mmr`: Choose by maximal marginal relevance: weight of the nearness to the query, from 0 (only diversity
                  counts) to 1 (it does not), among the `fetch_k` best hits (20, at least k).
                * `expand`: Put into `neighbours` so many sentences before and after each matched fact, with those it
                  stands in; around a passage, passages.
                * `parameters`: For approximate indexes, such as {"nprobe": 32} or {"efSearch": 128}; of several, each takes
                  those that it knows. Exact ones, such as those of stores that are too small to train another, need none.
                * `refine`: For compressed indexes: so many candidates per hit are scored again exactly.

        Raises:
            InvalidInputError: k below 1, an unknown granularity or one that the store does not search, a bad filter, or
                an option that is out of range. An unknown option is a TypeError.
            MissingDependencyError: FAISS is not installed.
        """
        return self.search_batch([query], k, granularity=granularity, parents=parents, filter=filter, **options)[0]

    def search_batch(self, queries: Sequence[str], k: int = 5, **options: Any) -> list[list[Hit]]:
        """Do as `search` for several queries in one call; return the hits of each."""
        if self.encoder is None:
            message = "this store has no encoder: use search_by_vector, or give UnitStore an encoder"
            raise InvalidInputError(message)
        if isinstance(queries, str):
            message = f"search_batch takes a list of queries, got the string {queries!r}"
            raise InvalidInputError(message)
        for query in queries:
            check_text(query, "query")
        if not queries:
            return []
        return self.search_batch_by_vector(self.encoder.encode_queries(queries), k, **options)

    def search_by_vector(self, vector: Vectors, k: int = 5, **options: Any) -> list[Hit]:
        """Do as `search` for a query that is already encoded. Shape: (dim,)."""
        return self.search_batch_by_vector(np.asarray(vector, dtype=np.float32).reshape(1, -1), k, **options)[0]

    def search_batch_by_vector(self, vectors: Vectors, k: int = 5, **options: Any) -> list[list[Hit]]:
        """Do as `search` for several queries that are already encoded. Shape: (n, dim)."""
        chosen = SearchOptions.of(options)
        chosen.check()
        count = whole_number("k", k)
        kinds = chosen.kinds(self.granularities)
        queries = np.asarray(vectors, dtype=np.float32)
        if queries.ndim != 2:
            message = f"queries must have shape (n, dim), got {queries.shape}"
            raise InvalidInputError(message)
        self._check_open()
        with self._views.at(kinds) as (snapshot, held):
            return find(snapshot, held, queries, count, chosen)

    # The parts

    def _check_open(self) -> None:
        if self._closed:
            raise closed()

    def _check_encoder(self, snapshot: Snapshot) -> None:
        name, stored = getattr(self.encoder, "name", None), snapshot.get("encoder")
        if name and stored and name != stored:
            message = f"the store at {self.path} was built by the encoder {stored!r}, and was opened with {name!r}"
            raise EncoderMismatchError(message)

    def _keep_settings(self, dtype: str) -> None:
        sql = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
        with self._connections.writing() as connection:
            connection.execute(sql, ["settings", self._settings.to_json()])
            connection.execute(sql, ["dtype", dtype])


def _check_ids(ids: Sequence[str]) -> None:
    if isinstance(ids, str):
        message = f"expected a list of ids, got the string {ids!r}"
        raise InvalidInputError(message)
