"""How a store is kept, checked, made smaller, copied and moved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from factoid.encode import Encoder, Vectors
from factoid.errors import InvalidInputError
from factoid.store.adding import StoreAdder
from factoid.store.compact import CompactReport, compact
from factoid.store.connections import Connections
from factoid.store.copying import copy_to
from factoid.store.export import ExportReport, export
from factoid.store.importing import ImportReport, import_from
from factoid.store.merge import MergeReport, OnConflict, merge
from factoid.store.remote import load_from, save_to
from factoid.store.snapshot import Snapshot
from factoid.store.stats import StoreStats, stats
from factoid.store.tuning import TuneReport, measure
from factoid.store.verify import VerifyReport, verify
from factoid.units import Granularity, check_text

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class StoreKeeper(StoreAdder):
    """The part of `UnitStore` that keeps a store."""

    def stats(self) -> StoreStats:
        """Return what the store holds, in numbers.

        Raises:
            StoreError: The store is closed.
        """
        with self._connections.reading() as connection:
            return stats(Snapshot(connection), self.path)

    def tune(
        self,
        *,
        granularity: str = Granularity.PROPOSITION,
        kinds: Sequence[str] | None = None,
        questions: Sequence[str] | None = None,
        queries: int = 200,
        k: int = 10,
        refine: int = 10,
        limit: int = 100_000,
        show_progress: bool = False,
    ) -> TuneReport:
        """Measure what kinds of index give on the vectors of this store: recall against exact search, time and bytes.

        Nothing in the store is changed. Memory is needed for `limit` vectors, and for an index of them.

        Args:
            granularity: Whose vectors.
            kinds: FAISS factory strings; None for those that are worth a try for so many vectors.
            questions: What users ask, encoded here. None for vectors of the store itself, taken at random and left out of
                what is searched; questions lie farther from facts than these do, so their recall may be lower.
            queries: How many searches to make, at most.
            k: How many vectors each of them is to find.
            refine: Candidates of lossy kinds that are scored again with the exact vectors, for each of the k.
            limit: Vectors to measure on, at most; of more, so many are taken at random.
            show_progress: Show a progress bar over kinds.

        Raises:
            InvalidInputError: There are too few vectors, questions without an encoder, an unknown kind, or a number out
                of its range.
            StoreError: The store is closed.
        """
        self._check_open()
        encoded = None if questions is None else self._encode_questions(list(questions)[:queries])
        return measure(
            self._connections,
            Granularity(granularity),
            encoded,
            kinds=kinds,
            similarity=self.similarity,
            queries=queries,
            k=k,
            refine=refine,
            limit=limit,
            show_progress=show_progress,
        )

    def _encode_questions(self, questions: list[str]) -> Vectors:
        if self.encoder is None:
            message = "this store has no encoder for questions: give UnitStore an encoder, or no questions"
            raise InvalidInputError(message)
        for question in questions:
            check_text(question, "question")
        return np.asarray(self.encoder.encode_queries(questions), np.float32)

    def verify(self, *, repair: bool = False, show_progress: bool = False) -> VerifyReport:
        """Check that the store is whole: the database, every vector, all references, metadata and index files.

        Args:
            repair: Mend what follows from the rest of the store: the index of metadata, rows that nothing uses, row
                numbers, and damaged index files, which are removed. Units and vectors are never made up.
            show_progress: Show a progress bar.

        Returns:
            Counts, and what is wrong in plain words with what to do; `ok` if there is nothing.

        Raises:
            StoreError: The store is closed; or it is to be mended, and is read-only or cannot be written.
        """
        self._check_open()
        return verify(self._connections, self._views, mend=repair, show_progress=show_progress)

    def compact(self, *, show_progress: bool = False) -> CompactReport:
        """Make the store as small as its content; needs about its size of free disk, and another time for temporary files.

        A call may be killed at any moment and made again. Searches go on meanwhile, writes wait.

        Raises:
            StoreError: The disk is full, or the store is read-only or closed.
        """
        self._check_open()
        return compact(self._connections, self._views, show_progress=show_progress)

    def export(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - as users know it
        vectors: bool = True,
        show_progress: bool = False,
    ) -> ExportReport:
        """Write all units and documents to files: `facts.jsonl`, and beside it `facts.documents.jsonl`.

        Args:
            path: The file of units. A name that ends in .jsonl.gz is compressed.
            format: "jsonl" or "parquet" (needs the extra `parquet`); None goes by the name.
            vectors: Write the vectors, too.
            show_progress: Show a progress bar.

        Raises:
            InvalidInputError: A format that is unknown, or that cannot be told from the name.
            MissingDependencyError: pyarrow is not installed.
            StoreError: A file cannot be written, or the store is closed.
        """
        self._check_open()
        return export(
            self._connections,
            path,
            format=format,
            vectors=vectors,
            similarity=self.similarity,
            show_progress=show_progress,
        )

    def import_from(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - as users know it
        show_progress: bool = False,
    ) -> ImportReport:
        """Add what `export` wrote, or files of the same fields from elsewhere; units and documents replace those of their ids.

        Units of records without the field `vector` are encoded here; null says that a unit is not to be found.

        Args:
            path: The file of units.
            format: "jsonl" or "parquet"; None goes by the name.
            show_progress: Show a progress bar.

        Raises:
            UnreadableFileError: A file is missing, damaged or cut short, or holds something else; says where. What was
                committed before that place stays.
            EncoderMismatchError: Vectors of another encoder or another dimension than the store's.
            InvalidInputError: Vectors are missing and the store has no encoder.
        """
        self._check_open()
        name = getattr(self.encoder, "name", None)
        return import_from(
            self._connections, path, self._encode, format=format, encoder=name, show_progress=show_progress
        )

    def merge(
        self,
        other: StoreKeeper | str | Path,
        *,
        on_conflict: OnConflict = "replace",
        show_progress: bool = False,
    ) -> MergeReport:
        """Add all units, documents, vectors and cached propositions of another store.

        Args:
            other: The store, or its folder.
            on_conflict: Where a document or a unit is in both and not the same: "replace" takes the other's, a document
                with all its units; "keep" leaves it out; "error" refuses before anything is changed.
            show_progress: Show a progress bar.

        Raises:
            EncoderMismatchError: The stores' vectors differ in encoder, dimension or similarity.
            InvalidInputError: An unknown `on_conflict`, a conflict that is to be an error, or a store into itself.
            StoreFormatError: There is no store at the path.
        """
        self._check_open()
        if isinstance(other, StoreKeeper):
            other._check_open()
            return merge(self._connections, other._connections, on_conflict=on_conflict, show_progress=show_progress)
        theirs = Connections(Path(other), read_only=True)
        try:
            return merge(self._connections, theirs, on_conflict=on_conflict, show_progress=show_progress)
        finally:
            theirs.close()

    def copy_to(self, path: str | Path) -> None:
        """Make another folder a copy of this store. A store that is there is replaced; its own folder is left alone.

        Raises:
            StoreFormatError: The path holds something that is not a store.
            StoreError: The copy cannot be written.
        """
        self._check_open()
        self._views.save()
        copy_to(self._connections, path)

    def save_to(self, url: str, *, fs: AbstractFileSystem | None = None, show_progress: bool = False) -> None:
        """Send a copy of this store to any file system that fsspec knows, such as "s3://bucket/facts".

        A store that is there is replaced when all has come. Needs the extra `remote`.

        Args:
            url: The address of a folder; with `fs`, a path in it.
            fs: The file system; None for the one that the URL names.
            show_progress: Show a progress bar.

        Raises:
            InvalidInputError: fsspec does not know the URL's protocol.
            MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
            StoreError: The copy cannot be made or sent.
        """
        self._check_open()
        self._views.save()
        save_to(self._connections, url, fs=fs, show_progress=show_progress)

    @classmethod
    def load_from(
        cls,
        url: str,
        path: str | Path,
        *,
        encoder: Encoder | None,
        fs: AbstractFileSystem | None = None,
        show_progress: bool = False,
        **options: Any,
    ) -> Self:
        """Fetch a store that `save_to` sent into a new local folder, and open it.

        Args:
            url: The address of the store; with `fs`, a path in it.
            path: The folder to make.
            encoder: As for the class; so are further options.
            fs: The file system; None for the one that the URL names.
            show_progress: Show a progress bar.
            options: Those of the class.

        Raises:
            InvalidInputError: The folder is there and not empty, or fsspec does not know the URL's protocol.
            MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
            StoreFormatError: There is no store at the URL, or one that has not come whole.
            StoreError: The store cannot be fetched or written.
        """
        return cls(load_from(url, path, fs=fs, show_progress=show_progress), encoder=encoder, **options)
