"""How units come into a store: documents split, decomposed and encoded, or units as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.progress import progress
from factoid.propositions import PropositionCache, Propositionizer
from factoid.propositions.caching.choose import caching
from factoid.propositions.decompose import Policy, check_policy
from factoid.store.ingest import AddReport, Recipe, Split, batches
from factoid.store.reading import GRANULARITIES, StoreReader
from factoid.store.snapshot import Snapshot
from factoid.store.transaction import Transaction, transaction
from factoid.units import Document, Granularity, Unit, check_text


class StoreAdder(StoreReader):
    """The adding part of `UnitStore`."""

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        propositionizer: Propositionizer | None = None,
        words: int = 100,
        min_words: int = 50,
        unsupported: Policy = "drop",
        cache: PropositionCache | str | Path | None = None,
        show_progress: bool = False,
    ) -> AddReport:
        """Split, decompose, encode and commit documents, a few hundred passages at a time.

        A document with an id that is in the store replaces the stored one with all its units, or is skipped if it is
        the same. An interrupted call leaves whole documents only, and can be made again. A document of which a passage
        failed for a reason that another try may mend (a time-out) is not skipped the next time.

        A store on disk keeps what costly propositionizers (those with `costly = True`, the models) return, so that a
        killed call that is made again, or a document that was edited, asks them only what is new.

        Args:
            documents: Any iterable, read once.
            propositionizer: None for `SyntaxPropositionizer`.
            words: Most words of a passage.
            min_words: A paragraph's last passage below this is merged into the one before.
            unsupported: What becomes of propositions that their passage does not support, as in `factoid.propositionize`.
            cache: Keeps the propositions instead, those of any propositionizer: a file to share between stores, or the
                folder of another store.
            show_progress: Show a progress bar over documents.

        Raises:
            InvalidInputError: A document's metadata does not survive JSON, `words` is out of range, `unsupported` is
                unknown, or the propositionizer has no `name` to tell its propositions from others' in the cache.
            StoreError: The store is closed, or the disk refuses.
        """
        if propositionizer is None and Granularity.PROPOSITION in self.granularities:
            from factoid.propositions.syntax import SyntaxPropositionizer

            propositionizer = SyntaxPropositionizer()
        check_policy(unsupported)
        total = AddReport()
        with nullcontext() if propositionizer is None else caching(propositionizer, cache, store=self.path) as cached:
            recipe = Recipe(self.granularities, cached, words, min_words, unsupported)
            for batch in batches(progress(documents, show=show_progress, unit=" documents"), recipe):
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
        for unit in chosen:
            check_text(unit.text)
        if vectors is None:
            encoded = self._encode(chosen)
        else:
            given = [vectors[position] for position in distinct]
            encoded = {at: np.asarray(each, np.float32) for at, each in enumerate(given) if each is not None}
        self._commit(None, chosen, encoded, keep_children=keep_children)
        return [unit.id for unit in units]

    # The parts

    def _add_batch(self, batch: Sequence[Split], recipe: Recipe) -> AddReport:
        with self._connections.reading() as connection:
            stored = Snapshot(connection).digests([split.document.id for split in batch])
        changed = [split for split in batch if stored.get(split.document.id) != split.digest]
        if not changed:
            return AddReport(unchanged=len(batch))
        units, decomposition = recipe.units([passage for split in changed for passage in split.passages])
        units = list({unit.id: unit for unit in units}.values())
        unfinished = {passage.document_id for passage in decomposition.retry}
        changed = [replace(split, digest="") if split.document.id in unfinished else split for split in changed]
        self._commit([split.document.id for split in changed], units, self._encode(units), changed)
        counts = {kind: sum(unit.granularity is kind for unit in units) for kind in GRANULARITIES}
        return AddReport(len(changed), len(batch) - len(changed), counts, decomposition.report)

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
        replaced: Sequence[str] | None,
        units: Sequence[Unit],
        vectors: Mapping[int, Vectors],
        documents: Sequence[Split] = (),
        *,
        keep_children: bool = False,
    ) -> None:
        """Replace documents, or with None the units that are there, in one transaction."""
        with transaction(self._connections) as writing:
            self._check_vectors(writing, units, vectors)
            if replaced is None:  # units may come before their passage: one that is not there replaces nothing
                replaced = writing.stored(unit.id for unit in units)
            writing.remove(replaced, under=not keep_children)
            for split in documents:
                writing.put_document(split.document, split.digest)
            writing.insert(units, vectors)

    def _check_vectors(self, writing: Transaction, units: Sequence[Unit], vectors: Mapping[int, Vectors]) -> None:
        """Refuse vectors that do not fit the store; the first ones decide what fits."""
        if not vectors:
            return
        shapes = {vector.shape for vector in vectors.values()}
        if len(shapes) > 1 or len(min(shapes)) != 1:
            message = f"expected one vector for each unit, all of the same dimension, got shapes {sorted(shapes)}"
            raise EncoderMismatchError(message)
        stacked = np.stack(list(vectors.values()))
        dim = writing.get("dim")
        if dim is not None and stacked.shape[1] != dim:
            message = f"this store holds vectors of {dim} dimensions, got {stacked.shape[1]}: use the same encoder"
            raise EncoderMismatchError(message)
        if not np.isfinite(stacked).all():
            bad = list(vectors)[int(np.flatnonzero(~np.isfinite(stacked).all(axis=1))[0])]
            message = f"the vector of {units[bad].text[:60]!r} is not finite: the encoder failed on this text"
            raise EncoderMismatchError(message)
        if dim is None:
            self._settings.check(stacked.shape[1])
            writing.put("dim", stacked.shape[1])
        if name := getattr(self.encoder, "name", None):
            writing.put("encoder", name)
