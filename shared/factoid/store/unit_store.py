"""The multi-granular store: units and their vectors on disk, searched at any granularity."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from factoid.encode import Encoder, Vectors
from factoid.errors import InvalidInputError, check_names
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits
from factoid.filters import Filter
from factoid.named_options import option_names
from factoid.propositions import PropositionCache, Propositionizer, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import with_cache
from factoid.propositions.contextualizer import CONTEXT, CachedContextualizer, Contextualizer
from factoid.propositions.decompose import Policy
from factoid.ranking import Weights
from factoid.split import WORDS
from factoid.store.database.snapshot import StoredUnit
from factoid.store.database.transaction import Selection, check_units
from factoid.store.ingest import AddReport, add_embedded, aingest, ingest
from factoid.store.listing import (
    behind_filter,
    listed_document_ids,
    listed_ids,
    passages_around,
    units_by_id,
)
from factoid.store.opened import open_store
from factoid.store.options import AddKwargs, SearchKwargs, SearchOptions
from factoid.store.recipe import Recipe
from factoid.store.rerank import reranked_search
from factoid.store.search import prepare_queries, search
from factoid.store.settings import AUTO_TEMPLATE
from factoid.store.sources import Sources
from factoid.store.token_cache import TokenVectorCache
from factoid.store.token_rerank import token_reranked_search
from factoid.store.transfer.copies import copy_over, copy_to
from factoid.store.transfer.exports import export, import_from
from factoid.store.transfer.merge import merge
from factoid.store.transfer.remote import load_from, save_to
from factoid.store.unit_vectors import encode, lone_units
from factoid.store.upkeep.compact import compact
from factoid.store.upkeep.stats import stats
from factoid.store.upkeep.tune import TuneRow, WeightsReport, tune, tune_weights
from factoid.store.upkeep.verify import verify
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, Hit, Metadata, Unit, check_text, whole_number
from factoid.vectors import Similarity


class UnitStore:
    """Passages, sentences and propositions with their vectors; a context manager.

    Copies of it are the same open store.

    Args:
        path: The store's folder, made if absent; None keeps everything in memory.
        encoder: Encodes units and queries; None if the caller passes all vectors.
        granularities: The granularities to encode and search; passages are always stored. None for
            those that the store has vectors of and that it was filled with, and in an empty store
            for passages and propositions, which are all that the default score compares; without an
            encoder, and for units that `add` brings, also for sentences.
        embed_metadata: Keys of the metadata whose values are encoded before the text, as the title
            is, and are words of the index of words: for documents that differ in these only, such
            as ["product", "version"]. None for those that the store was filled with, and for none
            in an empty store.
        embed_template: Template of the text that is encoded for a unit, such as "{title}: {text}",
            with keys of the metadata as further fields; None for the text alone. "auto" for the
            template that the store was filled with, else "{title} — {section}: {text}" (see
            `factoid.heading_template.with_heading`). It does not apply to vectors from the caller.
        late_chunking: Encode sentences and propositions in one pass with their passage, as means of
            its tokens' vectors (Günther et al., 2024), in place of one pass each: with propositions
            three fifths of the processor time of indexing. It needs an encoder that has
            `encode_spans`, as `SentenceTransformerEncoder` of a model that pools by mean. None for
            what the store was filled with, and for False in an empty store. It does not apply to
            vectors from the caller.
        index: A FAISS factory string such as "Flat", "HNSW32" or "IVF1024,SQ8", or a dict of one
            for each granularity; "auto" goes by the number of vectors (see
            `factoid.vectors.choose_kind`). None for the store's setting, else "auto".
        similarity: "inner_product" or "cosine"; None for the store's setting, else inner product.
        language: Language of the texts, a code of `factoid.vectors.terms.LANGUAGES`; None for the
            store's setting, else that of the first documents where it can be told, else "en".
        dtype: How vectors are stored on disk: "float32", or "float16" in half the space; chosen
            when the store is created.
        device: Where indexes are searched: "cpu", "cuda", "cuda:1", or a list of GPUs that share
            the work.
        gpu_shard: Put a part of each index on each of several GPUs instead of a copy.
        gpu_float16: Hold exact indexes on GPUs in half precision; hits are scored again with the
            exact vectors.
        mmap: Leave the index files on disk, and read only what a search touches.
        read_only: Reject writes and leave the folder untouched; it may be on a read-only disk.
        progress: Whether long work shows a progress bar, also the building of indexes. None for a
            bar in a terminal or notebook, once it takes longer than a second, and elsewhere a line
            in the log (`factoid.progress`, INFO) every half a minute.

    Raises:
        InvalidInputError: A setting is unknown, or the dtype differs from that of a store that is
            not empty.
        StoreFormatError: The path holds something other than a store of this version, or a damaged
            store.
        EncoderMismatchError: The store was built by another encoder, or with another template,
            other metadata or another choice of late chunking.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        encoder: Encoder | None,
        granularities: Sequence[str] | None = None,
        embed_metadata: Sequence[str] | None = None,
        embed_template: str | None = AUTO_TEMPLATE,
        late_chunking: bool | None = None,
        index: str | Mapping[str, str] | None = None,
        similarity: str | None = None,
        language: str | None = None,
        dtype: str | None = None,
        device: str | Sequence[str] = "cpu",
        gpu_shard: bool = False,
        gpu_float16: bool = False,
        mmap: bool = False,
        read_only: bool = False,
        progress: bool | None = None,
    ) -> None:
        self.opened = open_store(
            path,
            encoder,
            granularities,
            embed_metadata=embed_metadata,
            embed_template=embed_template,
            late_chunking=late_chunking,
            index=index,
            similarity=similarity,
            language=language,
            dtype=dtype,
            device=device,
            gpu_shard=gpu_shard,
            gpu_float16=gpu_float16,
            mmap=mmap,
            read_only=read_only,
            progress=progress,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a connection: what it leads to is there once

    def __len__(self) -> int:
        with self.opened.connections.reading() as snapshot:
            return int(snapshot.meta["units"])  # kept, since to count them reads an index of all

    # -- What it is --

    @property
    def path(self) -> Path | None:
        """The folder; None in memory."""
        return self.opened.path

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of units and queries."""
        return self.opened.encoder

    @encoder.setter
    def encoder(self, encoder: Encoder | None) -> None:
        self.opened.encoder = encoder

    @property
    def granularities(self) -> Sequence[Granularity]:
        """The granularities that are encoded and searched."""
        return self.opened.granularities

    def compared_granularities(self, options: SearchOptions) -> list[Granularity]:
        """Return the granularities that a search compares: their units may be matches.

        Raises:
            InvalidInputError: One of them cannot be compared.
        """
        return self.opened.compared_by(options)

    def encodes_queries(self, options: SearchOptions) -> bool:
        """Return whether a search needs the vector of its query; words alone do without."""
        return options.checked_weights(self.weights, has_texts=True).lexical < 1

    @property
    def progress(self) -> bool | None:
        """Whether long work shows a progress bar, as in the constructor."""
        return self.opened.progress

    @property
    def similarity(self) -> Similarity:
        """The similarity that scores measure."""
        return self.opened.similarity

    @property
    def embed_template(self) -> str:
        """The template of the text that is encoded for a unit, without metadata."""
        return self.opened.embed_template

    @property
    def embed_metadata(self) -> tuple[str, ...]:
        """The keys of metadata that are encoded before the text of a unit."""
        return self.opened.embed_metadata

    @property
    def weights(self) -> Weights:
        """The default weights of a search: `Weights()`, unless set. They are kept in the store."""
        return self.opened.weights

    @weights.setter
    def weights(self, weights: Weights) -> None:
        self.opened.keep_weights(weights)

    @property
    def late_chunking(self) -> bool:
        """Whether sentences and propositions are encoded as parts of their passages."""
        return self.opened.late_chunking

    def close(self) -> None:
        """Wait for running searches, write changed indexes, and close the store.

        Closing twice is harmless.
        """
        indexes = self.opened.indexes
        try:
            indexes.save()
        finally:
            indexes.exclusively(self.opened.connections.close)

    def refresh(self, *, progress: bool | None = None) -> None:
        """Update the indexes and write them now, so that the next search finds them ready."""
        self.opened.indexes.refresh(progress=progress)
        self.opened.indexes.save()

    # -- Adding --

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        propositionizer: Propositionizer | None = None,
        words: int = WORDS,
        min_words: int | None = None,
        join_paragraphs: bool = True,
        unsupported: Policy = "drop",
        sentences: SentenceSplitter | None = None,
        contextualizer: Contextualizer | None = None,
        cache: PropositionCache | str | Path | None = None,
        source_key: str | Sequence[str] | None = None,
        progress: bool | None = None,
    ) -> AddReport:
        """Split, decompose, encode and commit documents, a few hundred passages at a time.

        A document replaces a stored one with the same id, and all its units. One that has not
        changed is skipped, unless a passage failed for a reason that another try may solve (a
        time-out). An interrupted call leaves only whole documents, and can be repeated. A store on
        disk caches the results of costly propositionizers (`costly = True`, the models): they only
        get what is new. Indexes are left to the next search, `refresh` or `close`, which the last
        two write to disk.

        Args:
            documents: Any iterable, read once.
            propositionizer: None for `SyntaxPropositionizer`.
            words: Up to so many words sentences are packed into a passage.
            min_words: A paragraph's last passage with fewer words is merged into the one before,
                which may then have more than `words`.
            join_paragraphs: Whether short paragraphs of a section become one passage; False is the
                paper's splitting (Appendix A).
            unsupported: What to do with propositions that their passage does not support, as in
                `factoid.propositions.decompose`.
            sentences: Finds the ends of sentences, as in `factoid.split_passages`; one with a
                `name` counts as changed by it.
            contextualizer: Writes a sentence of context for each passage, such as
                `PromptContextualizer`. It is kept as `context` of the passage's metadata, and
                embedded and searched with it: the store must have "context" among its
                `embed_metadata`. A store on disk caches it.
            cache: Where to cache the propositions of any propositionizer instead: a file to share
                between stores, or the folder of another store.
            source_key: A key of the metadata that says where a document comes from, such as
                "source", for documents without ids of their own. Those that earlier calls added of
                a source are deleted when this call brings that source again without them; so bring
                all documents of a source in one call. A source of which this call brings nothing,
                such as a deleted file, is left alone. Several keys, as in ("source", "tenant"),
                keep apart what differs in one of them. None deletes nothing.
                "auto" is "source", else "file_path", where its value is a file or an address, apart
                for each value of keys that name an owner, such as "tenant" or "user_id". While a
                store is open, later calls may then bring further parts of a source whose metadata
                differ, such as pages.
            progress: Show a progress bar over documents; None as the constructor says.

        Raises:
            InvalidInputError: Metadata does not survive JSON, an option is out of range, or a
                propositionizer lacks the `name` that a cache needs.
            StoreError: The store is closed or read-only, or writing fails. After this or any other
                error, also one of the encoder or the iterable, the documents of earlier commits
                stay. They are not listed: add the same documents again, and those that are there
                are skipped.
        """
        recipe = self._recipe(
            propositionizer,
            cache,
            words=words,
            min_words=min_words,
            join_paragraphs=join_paragraphs,
            sentences=sentences,
            unsupported=unsupported,
            contextualizer=contextualizer,
        )
        sources = self._sources_of(source_key)
        if progress is None:
            progress = self.progress
        return ingest(self.opened, documents, recipe, sources=sources, progress=progress)

    async def aadd_documents(
        self, documents: Iterable[Document], **options: Unpack[AddKwargs]
    ) -> AddReport:
        """Do the same as `add_documents` without blocking the event loop.

        Documents are read in threads.
        """
        check_names("UnitStore.aadd_documents", options, option_names(AddKwargs))
        sources = self._sources_of(options.pop("source_key", None))
        progress = options.pop("progress", None)
        if progress is None:
            progress = self.progress
        recipe = await asyncio.to_thread(self._recipe, **options)
        return await aingest(self.opened, documents, recipe, sources=sources, progress=progress)

    def add(
        self,
        units: Sequence[Unit],
        *,
        vectors: Sequence[Vectors | None] | Vectors | None = None,
        keep_children: bool = False,
        embed_metadata: Sequence[str] | None = None,
    ) -> list[str]:
        """Add units, and return their ids.

        A stored unit with the same id is replaced, a passage with all units under it.

        Args:
            units: Units of any granularity. Those of granularities that the store does not search
                are stored unencoded, unless a passage could not be found otherwise.
            vectors: Their vectors, shape (len(units), dim), with None for a unit that should be
                stored but not found. If the argument is None, the units for which `encodes` is
                true are encoded, and passages without such units.
            keep_children: Replace only the units with these ids; the units under a replaced passage
                stay.
            embed_metadata: What was encoded with the texts of the given vectors, if that is known:
                as in the constructor.

        Raises:
            EncoderMismatchError: The vectors have another dimension than the store's, or other
                metadata in them.
            InvalidInputError: There are neither vectors nor an encoder, the number of vectors is
                wrong, or JSON cannot hold the metadata.
        """
        if vectors is not None and len(vectors) != len(units):
            raise InvalidInputError(
                f"got {len(vectors)} vectors for {len(units)} units: expected one each"
            )
        check_units(units)
        by_position: dict[int, Vectors | None] = {}
        if vectors is None:
            self.opened.encode_also({unit.granularity for unit in units})
            by_position |= encode(self.opened, units, lone_units(self.opened, units))
            embed_metadata = self.embed_metadata
        else:
            by_position |= enumerate(vectors)
            pairs = zip(units, vectors, strict=True)
            kinds = {unit.granularity for unit, vector in pairs if vector is not None}
            self.opened.encode_also(kinds)
        stored = []
        for position, unit in enumerate(units):
            stored.append(StoredUnit(unit, by_position.get(position)))
        with self.opened.identified_transaction(embed_metadata) as transaction:
            transaction.put_units(stored, under=not keep_children)
        return [unit.id for unit in units]

    def add_embedded(self, documents: Iterable[Document], vectors: Mapping[str, Vectors]) -> None:
        """Add documents with vectors that were made elsewhere, all or none.

        Each document is its own only unit at every granularity, and replaces a stored one with the
        same id, and all its units.

        Args:
            documents: The documents, each once.
            vectors: The vector of each document, by its id. Shape: (dim,).

        Raises:
            EncoderMismatchError: The vectors have another dimension than the store's.
            InvalidInputError: A document has no vector, or JSON cannot hold the metadata.
        """
        add_embedded(self.opened, documents, vectors)

    # -- Changing --

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        document_ids: Sequence[str] | None = None,
        unit_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> int:
        """Delete documents with all their units, or units with those under them.

        Return how many units were deleted. The propositions that a costly propositionizer made of
        their passages stay in the store's cache, which `clear` also deletes. Token vectors stay
        until `compact`.

        Args:
            ids: Ids that mean the document that has them, and a unit only where no document does.
                Unknown ids are ignored.
            document_ids: Ids of documents alone, in place of ids, for callers who do not choose all
                ids themselves.
            unit_ids: Ids of units alone, in place of ids.
            filter: Delete the units whose metadata pass, in place of ids; a document is deleted
                with its last unit.

        Raises:
            InvalidInputError: None or several of the arguments are given, or the filter has no
                condition.
        """
        selected = Selection(ids=ids, document_ids=document_ids, unit_ids=unit_ids, filter=filter)
        with self.opened.connections.transaction() as transaction:
            return transaction.remove(selected)

    def update_metadata(
        self,
        changes: Metadata,
        *,
        ids: Sequence[str] | None = None,
        document_ids: Sequence[str] | None = None,
        unit_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> int:
        """Set metadata keys of documents with all their units, or of units with those under them.

        Return how many changed. Other keys stay unchanged. Ids and filter choose documents and
        units as in `delete`, whose errors are raised.

        Raises:
            InvalidInputError: JSON would change the metadata, they hold too much, or a key is one
                of `embed_metadata`.
        """
        selected = Selection(ids=ids, document_ids=document_ids, unit_ids=unit_ids, filter=filter)
        with self.opened.connections.transaction() as transaction:
            return transaction.describe(selected, changes)

    def clear(self) -> None:
        """Delete everything, cached propositions and token vectors included.

        Another encoder may then fill the store.
        """
        with self.opened.connections.transaction() as transaction:
            transaction.clear()
        self.opened.connections.sweep_vectors()
        if self.path is not None:
            TokenVectorCache(self.path).clear()

    # -- Reading --

    def ids(
        self,
        filter: Filter | None = None,  # noqa: A002 - as in search
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """Return the ids of all units, oldest first.

        With a filter these are the units that it lets a search return.

        Args:
            filter: A condition on metadata.
            after: The last id of the page before, for the next page: the list goes on after it.
            limit: How many ids a page has. Only these are read from the database.

        Raises:
            InvalidInputError: The limit is below 1, or the id `after` is not in the list.
        """
        limit = _checked_page(after, limit)
        return behind_filter(self.opened, filter, partial(listed_ids, after, limit))

    def get(
        self,
        ids: Sequence[str],
        *,
        filter: Filter | None = None,  # noqa: A002 - as in search
        documents: bool = False,
    ) -> list[Unit]:
        """Return the units with these ids, in this order, if a filter lets a search return them.

        Unknown ids are skipped. With `documents`, an id means the document that has it, as a unit,
        and a unit only where there is no text of such a document, so that whatever a search
        returned is found by its id.
        """
        return behind_filter(self.opened, filter, partial(units_by_id, ids, documents))

    def around(
        self,
        unit_id: str,
        count: int = 1,
        *,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> list[Unit]:
        """Return the passage of a unit with the passages around it, in order of the text.

        These are `count` passages before and after, without those that a filter excludes. [] if the
        id is unknown, or the filter excludes the unit.

        Raises:
            InvalidInputError: The count is negative, or the filter is invalid.
        """
        whole_number("count", count, least=0)
        return behind_filter(self.opened, filter, partial(passages_around, unit_id, count))

    def document_ids(
        self,
        filter: Filter | None = None,  # noqa: A002 - as in search
        *,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[str]:
        """Return the ids of documents whose texts are stored, oldest first.

        With a filter these are the documents that it lets a search return. `after` and `limit` are
        those of `ids`, and so are the errors.
        """
        limit = _checked_page(after, limit)
        return behind_filter(self.opened, filter, partial(listed_document_ids, after, limit))

    def titles(self, document_ids: Sequence[str]) -> dict[str, str]:
        """Return the titles of documents by id, as their passages have them.

        That of a text without a title is its first heading. Unknown ids are left out.
        """
        with self.opened.connections.reading() as snapshot:
            return snapshot.titles(document_ids)

    def encodes(self, unit: Unit) -> bool:
        """Return whether a unit gets a vector.

        Its granularity is one of the store's, and its text is more than white space.
        """
        return self.opened.encodes(unit)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors of these units by id, leaving out units without one.

        Shape of each: (dim,).
        """
        with self.opened.connections.reading() as snapshot:
            return snapshot.vectors_by_id(ids)

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids that `add_documents` stored, in this order.

        Unknown ids are skipped.
        """
        with self.opened.connections.reading() as snapshot:
            documents = snapshot.documents_by_id(ids)
        stored_documents = []
        for document_id in ids:
            if document_id in documents:
                stored_documents.append(documents[document_id][0])
        return stored_documents

    def units_of(self, document_ids: Sequence[str]) -> list[Unit]:
        """Return all units of some documents, oldest first; unknown ids are skipped."""
        with self.opened.connections.reading() as snapshot:
            rows = snapshot.units_of_documents(document_ids)
            return list(snapshot.units(rows.tolist()).values())

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        with self.opened.connections.reading() as snapshot:
            return snapshot.counts()

    # -- Searching --

    def search(self, query: str, k: int = 5, **options: Unpack[SearchKwargs]) -> list[Hit]:
        """Return the k best hits for a query, best first.

        Args:
            query: The question, as text.
            k: Number of distinct hits; fewer if fewer pass the options.
            options: The options of `factoid.store.SearchOptions`.

        Raises:
            InvalidInputError: k is below 1, a granularity is unknown or not searched by the store,
                a filter is invalid, or an option is out of range. An unknown option is a TypeError.
            MissingDependencyError: FAISS is not installed.
        """
        [hits] = self._search([query], None, k, options)
        return hits

    def search_batch(
        self, queries: Sequence[str], k: int = 5, **options: Unpack[SearchKwargs]
    ) -> list[list[Hit]]:
        """Search several queries in one call, and return the hits of each.

        The options are those of `search`.
        """
        if not queries:
            return []
        return self._search(queries, None, k, options)

    def search_by_vector(
        self,
        vector: Vectors,
        k: int = 5,
        *,
        text: str | None = None,
        **options: Unpack[SearchKwargs],
    ) -> list[Hit]:
        """Search with an encoded query, as `search` does.

        Its words count only if its text is given. Shape: (dim,).
        """
        texts = None
        if text is not None:
            texts = [text]
        vectors = np.asarray(vector, np.float32).reshape(1, -1)
        [hits] = self.search_batch_by_vector(vectors, k, texts=texts, **options)
        return hits

    def search_batch_by_vector(
        self,
        vectors: Vectors,
        k: int = 5,
        *,
        texts: Sequence[str] | None = None,
        **options: Unpack[SearchKwargs],
    ) -> list[list[Hit]]:
        """Search with several encoded queries, as `search_by_vector` does. Shape: (n, dim)."""
        queries = np.asarray(vectors, dtype=np.float32)
        if queries.ndim != 2 or (texts is not None and len(queries) != len(texts)):
            raise InvalidInputError(
                f"expected vectors of shape (n, dim), and n texts or None, got {queries.shape} "
                f"and {texts!r}"
            )
        return self._search(texts, queries, k, options)

    def retry_failures(self) -> int:
        """Forget failures, so that their documents are decomposed again when next added.

        Return how many were forgotten. Failures are kept like any result, since a model would
        usually fail again. For a shared cache, also call `PropositionCache.forget(failures=True)`.
        """
        with self.opened.connections.transaction() as transaction:
            count = transaction.forget_failures()
        if self.path is not None:
            PropositionCache(self.path).forget(failures=True)
        return count

    def stats(self) -> dict[str, Any]:
        """Return what the store holds, and how; the names are mostly those of the constructor.

        In memory there are no bytes. `documents` are those whose texts are in the store; equal
        `vectors` and equal `metadata` count once; `deleted_vectors` are in the file of vectors
        until `compact`; `embed_template` is None if the caller passed the vectors.
        """
        return stats(self.opened)

    # -- Upkeep --

    def verify(self, *, repair: bool = False) -> list[str]:
        """Check everything that is on disk, and return what is wrong.

        This is the database, every unit, document, vector and field of metadata, index files and
        caches. Each problem says what to do about it. With `repair`, damaged units, documents and
        entries of caches are deleted, fields of metadata are made again, and wrong index files are
        removed, to be built by the next search. The problems are those before the repair.

        Raises:
            StoreFormatError: The database cannot be read.
            StoreError: The store is closed, or it should be repaired but is read-only or cannot be
                written.
        """
        return verify(self.opened, repair=repair)

    def compact(self, *, progress: bool | None = None) -> None:
        """Shrink the store to its content.

        Needs about its size of free disk, and the same again for temporary files. Data that only
        old readers need and token vectors of texts that are not passages of the store are dropped,
        and indexes are rebuilt. Each step leaves a whole store. Searches of this and other
        processes continue meanwhile; writes wait.

        Raises:
            StoreError: The store is read-only or closed, or the disk fails or is full: SQLite
                writes the whole database once to the folder of temporary files (SQLITE_TMPDIR) and
                once beside the store.
        """
        compact(self.opened, progress=progress)

    def tune(
        self,
        *,
        granularity: str = Granularity.PROPOSITION,
        kinds: Sequence[str] | None = None,
        questions: Sequence[str] | None = None,
        k: int = 10,
        progress: bool | None = None,
    ) -> list[TuneRow]:
        """Measure kinds of index on the vectors of this store.

        Recall against exact search, time and bytes. Of many vectors, 100,000 are measured, chosen
        at random. Nothing in the store is changed. Kinds that need more vectors for their training
        are left out, with a line in the log.

        Args:
            granularity: The units whose vectors are searched.
            kinds: FAISS factory strings; None for those worth trying for that many vectors.
            questions: Questions of users, of which the first 200 are encoded. None for vectors of
                the store itself, chosen at random and left out of the search. Questions are farther
                from facts than these, so their recall may be lower.
            k: Number of vectors that each search should find.
            progress: Show a progress bar over kinds.

        Raises:
            InvalidInputError: There are too few vectors, questions without an encoder, an unknown
                kind, or a number out of range.
            StoreError: The store is closed.
        """
        return tune(
            self.opened,
            granularity=granularity,
            kinds=kinds,
            questions=questions,
            k=k,
            progress=progress,
        )

    def tune_weights(
        self,
        questions: Iterable[tuple[str, Sequence[str]]],
        *,
        granularity: str | Sequence[str] | None = None,
        keep: bool = True,
        progress: bool | None = None,
    ) -> WeightsReport:
        """Search with a grid of weights, and keep the best if they are significantly better.

        They weigh passage and words. A passage is right if it holds an answer as whole words,
        ignoring case. Five-fold cross-validation measures the gain of fitting on unseen questions;
        weights are kept if the whole 95 % interval of that gain is above 0.

        Args:
            questions: Questions, each with its answers.
            granularity: The units that searches will compare; None for the default of searches.
            keep: Whether to keep better weights in the store, for every search that names none.
            progress: Show a progress bar over weights.

        Raises:
            InvalidInputError: Fewer than twenty questions have an answer in the store, or the store
                has no encoder.
            StoreError: The store is closed, or is read-only and would have to change.
        """
        return tune_weights(
            self.opened, questions, granularity=granularity, keep=keep, progress=progress
        )

    # -- Moving data --

    def export(
        self, path: str | Path, *, vectors: bool = True, progress: bool | None = None
    ) -> int:
        """Write all units, then all documents, to a file, and return the number of records.

        The file is .jsonl or .parquet. One generation of the store is written, and the file appears
        whole or not at all. Vectors are written as float32.

        Raises:
            InvalidInputError: The name has another ending.
            MissingDependencyError: The format is Parquet, and pyarrow (extra `parquet`) is not
                installed.
            StoreError: The file cannot be written, or the store is closed.
        """
        return export(self.opened, path, vectors=vectors, progress=progress)

    def import_from(
        self,
        path: str | Path,
        *,
        edited: bool = False,
        limits: ReadLimits = DEFAULT_LIMITS,
        progress: bool | None = None,
    ) -> int:
        """Add the units and documents of a file, and return the number of records.

        The file is .parquet or else JSON lines. They replace those with the same ids. Units without
        the field `vector` are encoded; null means that a unit should not be found. Each block of at
        most a thousand records is checked, then committed whole, and the call can be repeated.

        Args:
            path: The file.
            edited: Import an export that was changed on purpose: the number of records and their
                checksums are not compared.
            limits: Of a line of JSON lines (`unpacked_bytes`), and of the process that reads
                Parquet (`memory_bytes`; none with `seconds=None`). There is no limit of time.
            progress: Show a progress bar over records.

        Raises:
            EncoderMismatchError: The vectors come from another encoder or other texts, or have
                another dimension.
            UnreadableFileError: The file is missing, damaged, changed or cut short, or holds
                something else; the message says where. Nothing of the block in which that is was
                committed; earlier blocks stay.
            InvalidInputError: Vectors are needed, and there is no encoder.
        """
        return import_from(self.opened, path, edited=edited, limits=limits, progress=progress)

    def merge(
        self, other: UnitStore | str | Path, *, keep: bool = False, progress: bool | None = None
    ) -> dict[str, int]:
        """Add all documents, units, vectors and cached propositions of another store.

        They are of one generation of it. A document that is in both stores, by its id, is replaced
        with all its units: those that only this store has are deleted. With `keep` it stays as it
        is here, and so does one that was added in the same way. About a thousand units are
        committed together, a document in one piece. An interrupted call can be repeated.

        Returns:
            The number of "units" added, "replaced" and "deleted", of "documents" whose texts were
            added or replaced, and of cached "propositions" added.

        Raises:
            EncoderMismatchError: The stores' vectors differ in encoder, template, dimension or
                similarity.
            InvalidInputError: A store is merged into itself; or, without `keep`, a unit of the
                other one has the id of a unit of another document here. What was merged before that
                document stays.
            StoreFormatError: There is no store at the path.
        """
        if isinstance(other, str | Path):
            return merge(self.opened, other, keep=keep, progress=progress)
        return merge(self.opened, other.opened, keep=keep, progress=progress)

    def copy_to(self, path: str | Path) -> None:
        """Copy a store to a new folder, which appears when the copy is complete.

        Raises:
            InvalidInputError: There is something at the path.
            StoreError: The copy cannot be written.
        """
        copy_to(self.opened, path)

    def copy_over(self, path: str | Path) -> None:
        """Copy a store to a new folder, or over the content of another store.

        Its content is replaced in one commit; other files in its folder stay. A store is not copied
        over itself.

        Raises:
            InvalidInputError, StoreFormatError: The path holds something other than a store.
            StoreError: The copy cannot be written.
        """
        copy_over(self.opened, path)

    def save_to(self, url: str, *, storage_options: Mapping[str, Any] | None = None) -> None:
        """Send a copy of this store to an address of fsspec such as "s3://bucket/facts.zip".

        It is one zip file. A file there is replaced when everything has arrived. Needs the extra
        `remote`, and room for a copy of the database in the store's folder; a store in memory, or
        one that is read-only, needs memory for it instead.

        Args:
            url: The address.
            storage_options: Options of the file system, such as credentials.

        Raises:
            InvalidInputError: fsspec does not know the URL's protocol.
            MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
            StoreError: The copy cannot be made or sent.
        """
        save_to(self.opened, url, storage_options=storage_options)

    @classmethod
    def load_from(
        cls,
        url: str,
        path: str | Path,
        *,
        encoder: Encoder | None,
        storage_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Fetch a store that `save_to` sent into a new folder, and open it.

        Args:
            url: The address.
            path: The folder, which appears when everything has arrived and is checked.
            encoder: As in the constructor.
            storage_options: Options of the file system, such as credentials.
            options: Further options of the constructor.

        Raises:
            InvalidInputError: There is something at the path, or fsspec does not know the URL's
                protocol.
            MissingDependencyError: fsspec, or what it needs for the URL, is not installed.
            StoreFormatError: There is no store, or it is damaged.
            StoreError: The store cannot be fetched or written.
        """
        load_from(url, path, storage_options=storage_options)
        return cls(path, encoder=encoder, **options)

    # -- Steps --

    def _search(
        self,
        texts: Sequence[str] | None,
        vectors: Vectors | None,
        k: int,
        options: Mapping[str, Any],
    ) -> list[list[Hit]]:
        """Check the options, and search by the blended score or with the reranker they name."""
        check_names("UnitStore.search", options, option_names(SearchKwargs))
        queries = prepare_queries(self.opened, texts, vectors, k, SearchOptions(**options))
        if queries.options.by_tokens:
            return token_reranked_search(self.opened, queries)
        if queries.options.rerank is not None:
            return reranked_search(self.opened, queries)
        return search(self.opened, queries)

    def _sources_of(self, key: str | Sequence[str] | None) -> Sources | None:
        if key is None:
            return None
        return Sources(key, self.opened.known_sources)

    def _recipe(
        self,
        propositionizer: Propositionizer | None = None,
        cache: PropositionCache | str | Path | None = None,
        contextualizer: Contextualizer | None = None,
        **options: Any,
    ) -> Recipe:
        # Fail now, before anything is needlessly decomposed and encoded.
        self.opened.connections.check_writable()
        cached: Propositionizer | None = None
        if Granularity.PROPOSITION in self.granularities:
            cached = with_cache(propositionizer or SyntaxPropositionizer(), cache, store=self.path)
        if contextualizer is not None:
            if CONTEXT not in self.embed_metadata:
                raise InvalidInputError(
                    f"contexts are embedded as metadata: open the store with "
                    f'embed_metadata=["{CONTEXT}"]'
                )
            place = cache or self.path
            if place is not None:
                contextualizer = CachedContextualizer(contextualizer, place)
        return Recipe(
            self.granularities,
            cached,
            template=self.opened.template,
            contextualizer=contextualizer,
            **options,
        )


def _checked_page(after: str | None, limit: int | None) -> int | None:
    """Return the limit of a page of ids; refuse a page that cannot be."""
    if limit is not None:
        limit = whole_number("limit", limit)
    if after is not None:
        check_text(after, "after")
    return limit
