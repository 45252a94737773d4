"""The multi-granular store: units and their vectors on disk, searched at any granularity.

A store is a folder. Its database (`factoid.database`) is the truth; one FAISS index per granularity is a cache of it that
is read, built or brought up to date on the first search after a change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from tqdm.auto import tqdm

from factoid.caches import IndexCaches
from factoid.database import Database
from factoid.encode import Encoder, Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError
from factoid.filters import Filter
from factoid.ingest import AddReport, Recipe, Split, batches
from factoid.propositions import Propositionizer
from factoid.search import find_parents, find_units
from factoid.units import Document, Granularity, Hit, Unit

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)


class UnitStore:
    """Passages, sentences and propositions with their vectors; a context manager.

    Args:
        path: The store's folder, made if absent; None keeps everything in memory.
        encoder: Encodes units and queries; None where the caller gives all vectors.
        granularities: What is encoded and can be searched. Passages are always kept, to be returned as parents.

    Raises:
        StoreFormatError: The path holds something that is not a store of this version, or a damaged one.
        EncoderMismatchError: The store was built by another encoder.
    """

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
            self._caches.save()
            self._closed = True
            self._database.close()

    # Writing

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        propositionizer: Propositionizer | None = None,
        words: int = 100,
        min_words: int = 50,
        show_progress: bool = False,
    ) -> AddReport:
        """Split, decompose, encode and commit documents, a few hundred passages at a time.

        A document with an id that is in the store replaces the stored one with all its units, or is skipped if it is
        the same. An interrupted call leaves whole documents only, and can be made again.

        Args:
            documents: Any iterable, read once.
            propositionizer: None for `SyntaxPropositionizer`.
            words: Most words of a passage.
            min_words: A paragraph's last passage below this is merged into the one before.
            show_progress: Show a progress bar over documents.

        Raises:
            InvalidInputError: A document's metadata does not survive JSON, or `words` is out of range.
            StoreError: The store is closed, or the disk refuses.
        """
        if propositionizer is None and Granularity.PROPOSITION in self.granularities:
            from factoid.propositions.syntax import SyntaxPropositionizer

            propositionizer = SyntaxPropositionizer()
        recipe = Recipe(self.granularities, propositionizer, words, min_words)
        total = AddReport()
        for batch in batches(tqdm(documents, unit=" documents", disable=not show_progress), recipe):
            total += self._add_batch(batch, recipe)
        return total

    def add(
        self,
        units: Sequence[Unit],
        *,
        vectors: Sequence[Vectors | None] | Vectors | None = None,
        keep_children: bool = False,
    ) -> list[str]:
        """Add units; one with an id that is in the store replaces it, a passage with all units under it.

        Args:
            units: Units of any granularity. Those of granularities that the store does not search are kept unencoded.
            vectors: Their vectors, shape (len(units), dim), with None for a unit that is kept but not to be found; None
                for all to encode here those that `searches` tells.
            keep_children: Replace units by id only; what is under a replaced passage stays.

        Returns:
            The ids of the units, in the order given.

        Raises:
            EncoderMismatchError: Vectors of another dimension than the store's.
            InvalidInputError: No vectors and no encoder, another number of vectors, or metadata that JSON cannot hold.
        """
        distinct = list({unit.id: position for position, unit in enumerate(units)}.values())
        if vectors is not None and len(vectors) != len(units):
            message = f"got {len(vectors)} vectors for {len(units)} units: expected one each"
            raise InvalidInputError(message)
        chosen = [units[position] for position in distinct]
        if vectors is None:
            encoded = self._encode(chosen)
        else:
            given = [vectors[position] for position in distinct]
            encoded = {at: np.asarray(each, np.float32) for at, each in enumerate(given) if each is not None}
        self._commit([unit.id for unit in chosen], chosen, encoded, keep_children=keep_children)
        return [unit.id for unit in units]

    def delete(self, ids: Sequence[str]) -> int:
        """Delete documents with all their units, or units by id with those under them; unknown ids are ignored.

        Returns:
            The number of units deleted.
        """
        if isinstance(ids, str):
            message = f"delete takes a list of ids, got the string {ids!r}"
            raise InvalidInputError(message)
        with self._lock:
            self._check_open()
            with self._database.transaction() as before:
                removed = self._database.remove(ids)
            self._caches.update(before, removed, {})
        return len(removed)

    def clear(self) -> None:
        """Delete everything; the store may then be filled by another encoder."""
        with self._lock:
            self._check_open()
            with self._database.transaction():
                self._database.clear()

    def copy_to(self, path: str | Path) -> None:
        """Make another folder a copy of this store. A store that is there is replaced; its own folder is left alone.

        Raises:
            StoreFormatError: The path holds something that is not a store.
        """
        with self._lock:
            self._check_open()
            if self.path is None or not Path(path).exists() or not self.path.samefile(path):
                self._database.copy_to(Path(path))

    # Reading

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
        if k < 1:
            message = f"k must be at least 1, got {k}"
            raise InvalidInputError(message)
        if kind not in self.granularities:
            message = f"this store searches {', '.join(self.granularities)}: it has no index of {kind}s"
            raise InvalidInputError(message)
        queries = np.asarray(vector, dtype=np.float32).reshape(1, -1)
        with self._lock:
            self._check_open()
            index = self._caches.get(kind)
            if index is None:
                return []
            allowed = None if filter is None else self._database.matching(kind, filter)
            roll_up = parents and kind is not Granularity.PASSAGE
            find = find_parents if roll_up else find_units
            return find(self._database, index, queries, k=k, granularity=kind, allowed=allowed)

    # The parts

    def _add_batch(self, batch: Sequence[Split], recipe: Recipe) -> AddReport:
        with self._lock:
            self._check_open()
            stored = self._database.digests([split.document.id for split in batch])
        changed = [split for split in batch if stored.get(split.document.id) != split.digest]
        if not changed:
            return AddReport(unchanged=len(batch))
        units, report = recipe.units([passage for split in changed for passage in split.passages])
        units = list({unit.id: unit for unit in units}.values())
        self._commit([split.document.id for split in changed], units, self._encode(units), changed)
        counts = {kind: sum(unit.granularity is kind for unit in units) for kind in GRANULARITIES}
        return AddReport(len(changed), len(batch) - len(changed), counts, report)

    def _encode(self, units: Sequence[Unit]) -> dict[int, Vectors]:
        """Return the vector of each unit that is searched, by position."""
        wanted = [position for position, unit in enumerate(units) if self.searches(unit)]
        if not wanted:
            return {}
        if self.encoder is None:
            message = "this store has no encoder: give the vectors, or give UnitStore an encoder"
            raise InvalidInputError(message)
        vectors = np.asarray(self.encoder.encode_units([units[position].text for position in wanted]), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(wanted):
            message = (
                f"the encoder returned shape {vectors.shape} for {len(wanted)} texts: expected ({len(wanted)}, dim)"
            )
            raise EncoderMismatchError(message)
        return dict(zip(wanted, vectors, strict=True))

    def _commit(
        self,
        replaced: Sequence[str],
        units: Sequence[Unit],
        vectors: Mapping[int, Vectors],
        documents: Sequence[Split] = (),
        *,
        keep_children: bool = False,
    ) -> None:
        """Replace documents and units in one transaction, then bring the indexes in memory up to date."""
        with self._lock:
            self._check_open()
            with self._database.transaction() as before:
                self._check_vectors(units, vectors)
                removed = self._database.remove(replaced, under=not keep_children)
                for split in documents:
                    self._database.put_document(split.document, split.digest)
                rows = self._database.insert(
                    units, lambda position: vectors[position].tobytes() if position in vectors else None
                )
            added = {}
            for kind in self.granularities:
                own = [position for position in vectors if units[position].granularity is kind]
                if own:
                    added[kind] = (
                        np.array([rows[position] for position in own]),
                        np.stack([vectors[at] for at in own]),
                    )
            self._caches.update(before, removed, added)

    def _check_vectors(self, units: Sequence[Unit], vectors: Mapping[int, Vectors]) -> None:
        """Refuse vectors that do not fit the store; the first ones decide what fits."""
        if not vectors:
            return
        stacked = np.stack(list(vectors.values()))
        dim = self._database.get("dim")
        if dim is not None and stacked.shape[1] != dim:
            message = f"this store holds vectors of {dim} dimensions, got {stacked.shape[1]}: use the same encoder"
            raise EncoderMismatchError(message)
        if not np.isfinite(stacked).all():
            bad = list(vectors)[int(np.flatnonzero(~np.isfinite(stacked).all(axis=1))[0])]
            message = f"the vector of {units[bad].text[:60]!r} is not finite: the encoder failed on this text"
            raise EncoderMismatchError(message)
        if dim is None:
            self._database.put("dim", stacked.shape[1])
        if name := getattr(self.encoder, "name", None):
            self._database.put("encoder", name)

    def _check_open(self) -> None:
        if self._closed:
            message = "the store is closed: open it again with UnitStore(path, encoder=...)"
            raise StoreError(message)
