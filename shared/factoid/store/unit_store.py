"""The multi-granular store: units and their vectors on disk, searched at any granularity."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from factoid.encode import (
    EMBED_TEMPLATE,
    Encoder,
    Vectors,
    check_metadata_keys,
    check_template,
    encoded_text,
    with_metadata,
)
from factoid.errors import InvalidInputError, check_names
from factoid.files.sqlite import FILE
from factoid.filters import Filter, to_condition
from factoid.ingest import GRANULARITIES, AddReport, Recipe, Split, aingest, encode, ingest, lone_units
from factoid.propositions import PropositionCache, Propositionizer, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import with_cache
from factoid.propositions.decompose import Policy
from factoid.ranking import LEXICAL, Weights
from factoid.sources import Source, Sources
from factoid.store.database.connections import Connections
from factoid.store.database.schema import local_folder
from factoid.store.database.snapshot import INCOMPLETE, StoredUnit, metadata_keys
from factoid.store.database.transaction import Selection, Transaction, check_unit
from factoid.store.database.vector_file import is_vector_file
from factoid.store.indexes.build import INDEXES, Builder, LexicalBuilder, VectorBuilder
from factoid.store.indexes.live import LiveIndexes
from factoid.store.indexes.wall import MIXED_PASSAGES, MixedPassagesBuilder
from factoid.store.options import AddKwargs, SearchKwargs, SearchOptions, option_names
from factoid.store.rerank import answer
from factoid.store.search import Query, allowed_ids, allowed_units, find, stored_by_id
from factoid.store.settings import Settings, check_identity, keep_settings
from factoid.store.token_rerank import answer_by_tokens
from factoid.store.token_vectors import TOKENS, TokenVectorCache
from factoid.store.transfer.copies import copy_to
from factoid.store.transfer.exports import export, import_from
from factoid.store.transfer.merge import merge
from factoid.store.transfer.remote import load_from, save_to
from factoid.store.upkeep.compact import compact
from factoid.store.upkeep.tune import tune, tune_weights
from factoid.store.upkeep.verify import verify
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, Hit, Metadata, Unit
from factoid.vectors import AUTO, Similarity
from factoid.vectors.files import index_files
from factoid.vectors.gpu import check_device


class UnitStore:
    """Passages, sentences and propositions with their vectors; a context manager. Copies of it are the same open store.

    Args:
        path: The store's folder, made if absent; None keeps everything in memory.
        encoder: Encodes units and queries; None if the caller passes all vectors.
        granularities: The granularities to encode and search; passages are always stored. None for those that the store has
            vectors of, and for all in an empty store.
        embed_metadata: Keys of the metadata whose values are encoded before the text, as the title is, and are words of the index
            of words: for documents that differ in these only, such as ["product", "version"]. None for those that the store was
            filled with, and for none in an empty store.
        embed_template: Template of the text that is encoded for a unit, such as "{title}: {text}", with keys of the metadata as
            further fields; None for the text alone. "auto" for the template that the store was filled with, else "{title} —
            {section}: {text}" (see `factoid.encode.with_heading`). It does not apply to vectors from the caller.
        index: A FAISS factory string such as "Flat", "HNSW32" or "IVF1024,SQ8", or a dict of one for each granularity; "auto"
            goes by the number of vectors (see `factoid.vectors.choose_kind`). None for the store's setting, else "auto".
        similarity: "inner_product" or "cosine"; None for the store's setting, else inner product.
        language: Language of the texts, a code of `factoid.vectors.terms.LANGUAGES`; None for the store's setting, else "en".
        dtype: How vectors are stored on disk: "float32", or "float16" in half the space; chosen when the store is created.
        device: Where indexes are searched: "cpu", "cuda", "cuda:1", or a list of GPUs that share the work.
        gpu_shard: Put a part of each index on each of several GPUs instead of a copy.
        gpu_float16: Hold exact indexes on GPUs in half precision; hits are scored again with the exact vectors.
        mmap: Leave the index files on disk, and read only what a search touches.
        read_only: Reject writes and leave the folder untouched; it may be on a read-only disk.
        progress: Whether long work shows a progress bar, also the building of indexes. None for a bar in a terminal or notebook,
            once it takes longer than a second, and elsewhere a line in the log (`factoid.progress`, INFO) every half a minute.

    Raises:
        InvalidInputError: A setting is unknown, or the dtype differs from that of a store that is not empty.
        StoreFormatError: The path holds something other than a store of this version, or a damaged store.
        EncoderMismatchError: The store was built by another encoder, or with another template or other metadata.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        encoder: Encoder | None,
        granularities: Sequence[str] | None = GRANULARITIES,
        embed_metadata: Sequence[str] | None = None,
        embed_template: str | None = AUTO,
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
        named = None if isinstance(granularities, str) else granularities
        chosen = tuple(map(Granularity, named or ()))
        if granularities is not None and (not chosen or Granularity.DOCUMENT in chosen):
            raise InvalidInputError(f"granularities must be some of {', '.join(GRANULARITIES)}, got {granularities!r}")
        requested: dict[str, Any] = {"similarity": similarity, "index": index, "language": language}
        Settings().updated(**requested)  # rejected before a file is created
        if dtype not in (None, "float32", "float16"):
            raise InvalidInputError(f"dtype must be one of float32, float16, got {dtype!r}")
        self.requested_template = None if embed_template == AUTO else check_template(embed_template)
        self.progress = progress
        self.requested_metadata = None if embed_metadata is None else check_metadata_keys(embed_metadata)
        if encoder is not None and not isinstance(encoder, Encoder):
            raise InvalidInputError(
                f"expected an encoder, such as SentenceTransformerEncoder({encoder!r:.60}), or None"
            )
        check_device(device)
        self.encoder = encoder
        self._known_sources: set[Source] = set()  # of documents that calls of this object added
        self.path = None if path is None else local_folder(path)
        self.connections = Connections(self.path, read_only=read_only)
        try:
            with self.connections.reading() as snapshot:
                check_identity(snapshot, "was opened with", **self.identity)
                self.granularities = chosen or snapshot.searched() or GRANULARITIES
            self._settings = keep_settings(self.connections, dtype=dtype, **requested)
        except BaseException:
            self.connections.close()
            raise
        vectors = VectorBuilder(self._settings, device, gpu_shard, gpu_float16, mmap)
        builders: dict[str, Builder] = dict.fromkeys(self.granularities, vectors)
        builders[MIXED_PASSAGES] = MixedPassagesBuilder()
        builders[LEXICAL] = LexicalBuilder(self._settings.language)
        self.indexes = LiveIndexes(self.connections, builders, progress=progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a connection: what it leads to is there once

    def __len__(self) -> int:
        with self.connections.reading() as snapshot:
            return int(snapshot.meta["units"])  # kept, since to count them reads an index of all units

    @property
    def similarity(self) -> Similarity:
        """The similarity that scores measure."""
        return self._settings.similarity

    @property
    def identity(self) -> dict[str, str | None]:
        """What makes vectors here: the encoder's name, template and metadata; None for one that is not named."""
        keys = self.requested_metadata
        return {
            "encoder": getattr(self.encoder, "name", None),
            "embed_template": self.requested_template,
            "embed_metadata": None if keys is None else json.dumps(keys),
        }

    @property
    def known_identity(self) -> dict[str, str | None]:
        """The same, with what the store was filled with or, in an empty one, would be, for what is not named."""
        with self.connections.reading() as snapshot:
            stored = {name: snapshot.meta.get(name) for name in self.identity}
        known: dict[str, str | None] = {"embed_template": EMBED_TEMPLATE, "embed_metadata": "[]"}
        for source in (stored, self.identity):
            known |= {name: value for name, value in source.items() if value is not None}
        return known

    @property
    def embed_template(self) -> str:
        """The template of the text that is encoded for a unit, without metadata."""
        return self.known_identity["embed_template"] or EMBED_TEMPLATE

    @property
    def embed_metadata(self) -> tuple[str, ...]:
        """The keys of metadata that are encoded before the text of a unit."""
        return metadata_keys(self.known_identity["embed_metadata"])

    @property
    def template(self) -> str:
        """The template of the text that is encoded for a unit, with metadata."""
        known = self.known_identity
        return with_metadata(known["embed_template"] or EMBED_TEMPLATE, metadata_keys(known["embed_metadata"]))

    @property
    def weights(self) -> Weights:
        """The default weights of a search: `Weights()`, unless set. They are kept in the store."""
        return self._settings.weights

    @weights.setter
    def weights(self, weights: Weights) -> None:
        self.connections.check_writable()
        self._settings = keep_settings(self.connections, weights=Weights(weights.passage, weights.lexical))

    def close(self) -> None:
        """Wait for running searches, write changed indexes, and close the store. Closing twice is harmless."""
        try:
            self.indexes.save()
        finally:
            self.indexes.alone(self.connections.close)

    def refresh(self, *, progress: bool | None = None) -> None:
        """Update the indexes and write them now, so that the next search finds them ready."""
        self.indexes.refresh(progress=progress)
        self.indexes.save()

    def add_documents(
        self,
        documents: Iterable[Document],
        *,
        propositionizer: Propositionizer | None = None,
        words: int = 100,
        min_words: int = 50,
        unsupported: Policy = "drop",
        sentences: SentenceSplitter | None = None,
        cache: PropositionCache | str | Path | None = None,
        source_key: str | Sequence[str] | None = None,
        progress: bool | None = None,
    ) -> AddReport:
        """Split, decompose, encode and commit documents, a few hundred passages at a time.

        A document replaces a stored one with the same id, and all its units. One that has not changed is skipped, unless a
        passage failed for a reason that another try may solve (a time-out). An interrupted call leaves only whole documents, and
        can be repeated. A store on disk caches the results of costly propositionizers (`costly = True`, the models): they only
        get what is new.

        Args:
            documents: Any iterable, read once.
            propositionizer: None for `SyntaxPropositionizer`.
            words: Maximum number of words in a passage.
            min_words: A paragraph's last passage with fewer words is merged into the one before.
            unsupported: What to do with propositions that their passage does not support, as in `factoid.propositions.decompose`.
            sentences: Finds the ends of sentences, as in `factoid.split_passages`; one with a `name` counts as changed by it.
            cache: Where to cache the propositions of any propositionizer instead: a file to share between stores, or the folder
                of another store.
            source_key: A key of the metadata that says where a document comes from, such as "source", for documents without ids.
                When the call ends, the documents that earlier calls added of the same sources, and that this one did not bring
                again, are deleted: so all documents of a source belong into one call. Documents with ids of their own are left
                alone. Several keys, as in ("source", "tenant"), keep apart what differs in one of them. "auto" for "source", else
                "file_path", where it is a file or an address, apart for each value of keys that name an owner, such as "tenant"
                or "user_id"; while a store is open, later calls may then bring further parts whose metadata differ, such as
                pages. None deletes nothing.
            progress: Show a progress bar over documents; None as the constructor says.

        Raises:
            InvalidInputError: Metadata does not survive JSON, an option is out of range, or a propositionizer lacks the `name`
                that a cache needs.
            StoreError: The store is closed or read-only, or writing fails.
        """
        sizes = {"words": words, "min_words": min_words, "sentences": sentences}
        recipe = self._recipe(propositionizer, cache, unsupported=unsupported, **sizes)
        progress = self.progress if progress is None else progress
        return ingest(self, documents, recipe, sources=self._sources_of(source_key), progress=progress)

    async def aadd_documents(self, documents: Iterable[Document], **options: Unpack[AddKwargs]) -> AddReport:
        """Do the same as `add_documents` without blocking the event loop; documents are read in threads."""
        check_names("UnitStore.aadd_documents", options, option_names(AddKwargs))
        sources, progress = self._sources_of(options.pop("source_key", None)), options.pop("progress", None)
        progress = self.progress if progress is None else progress
        recipe = await asyncio.to_thread(self._recipe, **options)
        return await aingest(self, documents, recipe, sources=sources, progress=progress)

    def add(
        self,
        units: Sequence[Unit],
        *,
        vectors: Sequence[Vectors | None] | Vectors | None = None,
        keep_children: bool = False,
        embed_metadata: Sequence[str] | None = None,
    ) -> list[str]:
        """Add units, and return their ids. A stored unit with the same id is replaced, a passage with all units under it.

        Args:
            units: Units of any granularity. Those of granularities that the store does not search are stored unencoded, unless a
                passage could not be found otherwise.
            vectors: Their vectors, shape (len(units), dim), with None for a unit that should be stored but not found. If the
                argument is None, the units for which `searches` is true are encoded, and passages without such units.
            keep_children: Replace only the units with these ids; the units under a replaced passage stay.
            embed_metadata: What was encoded with the texts of the given vectors, if that is known: as in the constructor.

        Raises:
            EncoderMismatchError: The vectors have another dimension than the store's, or other metadata in them.
            InvalidInputError: There are neither vectors nor an encoder, the number of vectors is wrong, or JSON cannot hold the
                metadata.
        """
        if vectors is not None and len(vectors) != len(units):
            raise InvalidInputError(f"got {len(vectors)} vectors for {len(units)} units: expected one each")
        for unit in units:
            check_unit(unit)
        known = self.encode(units, lone_units(self, units)) if vectors is None else dict(enumerate(vectors))
        with self.connections.transaction() as writing:
            stored = (StoredUnit(unit, known.get(position)) for position, unit in enumerate(units))
            writing.put_units(stored, under=not keep_children)
            self._identify(writing, self.embed_metadata if vectors is None else embed_metadata)
        return [unit.id for unit in units]

    def changed(self, batch: Sequence[Split]) -> list[Split]:
        """Return the documents that are not stored as given. A step of `factoid.ingest`."""
        with self.connections.reading() as snapshot:
            stored = snapshot.digests([split.document.id for split in batch])
        return [split for split in batch if stored.get(split.document.id) != split.digest]

    def reusable_vectors(self, batch: Sequence[Split]) -> dict[str, Vectors]:
        """Return the vectors of the texts in earlier versions of some documents, by text. A step of `factoid.ingest`.

        Only what `add_documents` added counts, by an encoder that has a name: another one may have made the other vectors.
        """
        if self.identity["encoder"] is None:
            return {}
        template = self.template
        with self.connections.reading() as snapshot:
            digests = snapshot.digests([split.document.id for split in batch])
            known = [document_id for document_id, recipe in digests.items() if recipe not in ("", INCOMPLETE)]
            stored = snapshot.stored_units(known) if known else ()
            return {encoded_text(unit, template): vector for unit, vector in stored if vector is not None}

    def replace_documents(self, batch: Sequence[Split], units: Sequence[Unit], vectors: Mapping[int, Vectors]) -> None:
        """Replace documents and their units by these. A step of `factoid.ingest`."""
        with self.connections.transaction() as writing:
            writing.remove(Selection(document_ids=[split.document.id for split in batch]))
            for split in batch:
                writing.put_document(split.document, split.digest)
            writing.insert(units, vectors)
            self._identify(writing, self.embed_metadata)

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        document_ids: Sequence[str] | None = None,
        unit_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> int:
        """Delete documents with all their units, or units with those under them; return how many units were deleted.

        The propositions that a costly propositionizer made of their passages stay in the store's cache, which `clear` also
        deletes. Token vectors stay until `compact`.

        Args:
            ids: Ids that mean the document that has them, and a unit only where no document does. Unknown ids are ignored.
            document_ids: Ids of documents alone, in place of ids, for callers who do not choose all ids themselves.
            unit_ids: Ids of units alone, in place of ids.
            filter: Delete the units whose metadata pass, in place of ids; a document is deleted with its last unit.

        Raises:
            InvalidInputError: None or several of the arguments are given, or the filter has no condition.
        """
        selected = Selection(ids=ids, document_ids=document_ids, unit_ids=unit_ids, filter=filter)
        with self.connections.transaction() as writing:
            return writing.remove(selected)

    def update_metadata(
        self,
        changes: Metadata,
        *,
        ids: Sequence[str] | None = None,
        document_ids: Sequence[str] | None = None,
        unit_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> int:
        """Set metadata keys of documents with all their units, or of units with those under them; return how many changed.

        Other keys stay unchanged. Ids and filter choose documents and units as in `delete`, whose errors are raised.

        Raises:
            InvalidInputError: JSON would change the metadata, they hold too much, or a key is one of `embed_metadata`.
        """
        selected = Selection(ids=ids, document_ids=document_ids, unit_ids=unit_ids, filter=filter)
        with self.connections.transaction() as writing:
            return writing.describe(selected, changes)

    def clear(self) -> None:
        """Delete everything, cached propositions and token vectors included; another encoder may then fill the store."""
        with self.connections.transaction() as writing:
            writing.clear()
        self.connections.sweep_vectors()
        if self.path is not None:
            TokenVectorCache(self.path).clear()

    def ids(self, filter: Filter | None = None) -> list[str]:  # noqa: A002 - as in search
        """Return the ids of all units, oldest first, or of those that a filter lets a search return."""
        if filter is None:
            with self.connections.reading() as snapshot:
                return snapshot.ids()
        return self.indexes.at([MIXED_PASSAGES], partial(allowed_ids, to_condition(filter), None))

    def get(
        self,
        ids: Sequence[str],
        *,
        filter: Filter | None = None,  # noqa: A002 - as in search
        documents: bool = False,
    ) -> list[Unit]:
        """Return the units with these ids, in this order, if a filter lets a search return them; unknown ids are skipped.

        With `documents`, an id means the document that has it, as a unit, and a unit only where there is no text of such a
        document, so that whatever a search returned is found by its id.
        """
        if filter is not None:
            work = partial(allowed_units, to_condition(filter), ids, documents)
            return self.indexes.at([MIXED_PASSAGES], work)
        with self.connections.reading() as snapshot:
            return stored_by_id(snapshot, ids, documents=documents)

    def searches(self, unit: Unit) -> bool:
        """Return whether a unit is encoded: its granularity is searched, and its text is more than white space."""
        return unit.granularity in self.granularities and bool(unit.text.strip())

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors of these units by id, leaving out units without one. Shape of each: (dim,)."""
        with self.connections.reading() as snapshot:
            return snapshot.vectors_by_id(ids)

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Return the documents with these ids that `add_documents` stored, in this order; unknown ids are skipped."""
        with self.connections.reading() as snapshot:
            documents = snapshot.documents_by_id(ids)
        return [documents[document_id][0] for document_id in ids if document_id in documents]

    def units_of(self, document_ids: Sequence[str]) -> list[Unit]:
        """Return all units of some documents, oldest first; unknown ids are skipped."""
        with self.connections.reading() as snapshot:
            return list(snapshot.units(snapshot.units_of_documents(document_ids).tolist()).values())

    def counts(self) -> dict[Granularity, int]:
        """Return the number of units of each granularity."""
        with self.connections.reading() as snapshot:
            return snapshot.counts()

    def search(self, query: str, k: int = 5, **options: Unpack[SearchKwargs]) -> list[Hit]:
        """Return the k best hits for a query, best first.

        Args:
            query: The question, as text.
            k: Number of distinct hits; fewer are returned only if the store has fewer.
            options: The options of `factoid.store.SearchOptions`.

        Raises:
            InvalidInputError: k is below 1, a granularity is unknown or not searched by the store, a filter is invalid, or an
                option is out of range. An unknown option is a TypeError.
            MissingDependencyError: FAISS is not installed.
        """
        return self._prepared([query], None, k, options)()[0]

    def search_batch(self, queries: Sequence[str], k: int = 5, **options: Unpack[SearchKwargs]) -> list[list[Hit]]:
        """Search several queries in one call, and return the hits of each; the options are those of `search`."""
        return self._prepared(queries, None, k, options)() if queries else []

    def search_by_vector(
        self, vector: Vectors, k: int = 5, *, text: str | None = None, **options: Unpack[SearchKwargs]
    ) -> list[Hit]:
        """Search with an encoded query, as `search` does; its words count only if its text is given. Shape: (dim,)."""
        texts = None if text is None else [text]
        return self.search_batch_by_vector(np.asarray(vector, np.float32).reshape(1, -1), k, texts=texts, **options)[0]

    def search_batch_by_vector(
        self, vectors: Vectors, k: int = 5, *, texts: Sequence[str] | None = None, **options: Unpack[SearchKwargs]
    ) -> list[list[Hit]]:
        """Search with several encoded queries, as `search_by_vector` does. Shape: (n, dim)."""
        queries = np.asarray(vectors, dtype=np.float32)
        if queries.ndim != 2 or len(queries) != len(queries if texts is None else texts):
            raise InvalidInputError(
                f"expected vectors of shape (n, dim), and n texts or None, got {queries.shape} and {texts!r}"
            )
        return self._prepared(texts, queries, k, options)()

    def retry_failures(self) -> int:
        """Forget failures, so that documents with failed passages are decomposed again when next added; return their number.

        Failures are kept like any result, since a model would usually fail again. For a shared cache, also call
        `PropositionCache.forget(failures=True)`.
        """
        with self.connections.transaction() as writing:
            count = writing.forget_failures()
        if self.path is not None:
            PropositionCache(self.path).forget(failures=True)
        return count

    def stats(self) -> dict[str, Any]:
        """Return what the store holds, and how; the names are mostly those of the constructor. In memory there are no bytes.

        `documents` are those whose texts are in the store; equal `vectors` and equal `metadata` count once; `embed_template` is
        None if the caller passed the vectors.
        """
        with self.connections.reading() as snapshot:
            settings = Settings.of(snapshot)
            units = {str(kind): count for kind, count in snapshot.counts().items()}
            content: dict[str, Any] = {**snapshot.totals(), "units": units}
            content |= {name: snapshot.meta.get(name) for name in ("encoder", "embed_template", "dim")}
            content["embed_metadata"] = list(snapshot.embed_metadata)
            content |= {"dtype": str(snapshot.dtype), "similarity": str(settings.similarity)}
            content["kinds"] = {str(granularity): kind for granularity, kind in settings.kinds.items()}
        if self.path is not None:
            sizes = {name: _size(index_files(self.path / name)) for name in INDEXES}
            content["bytes"] = _size([self.path / FILE, self.path / f"{FILE}-wal"])
            content["vector_bytes"] = _size(file for file in self.path.iterdir() if is_vector_file(file.name))
            content["index_bytes"] = {name: size for name, size in sizes.items() if size}
            content["token_bytes"] = _size([self.path / TOKENS, self.path / f"{TOKENS}-wal"])
        return content

    compact = compact
    encode = encode
    tune = tune
    tune_weights = tune_weights
    verify = verify
    export = export
    import_from = import_from
    merge = merge
    copy_to = copy_to
    save_to = save_to

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
        """Fetch a store that `save_to` sent into a new folder, and open it; see `factoid.store.transfer.remote.load_from`."""
        load_from(url, path, storage_options=storage_options)
        return cls(path, encoder=encoder, **options)

    def _prepared(
        self, texts: Sequence[str] | None, vectors: Vectors | None, k: int, options: Mapping[str, Any]
    ) -> Callable[[], list[list[Hit]]]:
        """Return a function that runs a checked search with encoded queries."""
        check_names("UnitStore.search", options, option_names(SearchKwargs))
        query = Query.of(self, texts, vectors, k, SearchOptions(**options))
        if query.options.by_tokens:
            return partial(answer_by_tokens, self, query)
        if query.options.rerank is not None:
            return partial(answer, self, query)
        return partial(self.indexes.at, query.indexes, partial(find, query))

    def _identify(self, writing: Transaction, embed_metadata: Sequence[str] | None) -> None:
        """Record what made the vectors; refuse others, since another process may have filled the store."""
        check_identity(writing, "was opened with", **self.identity)
        requested = self.identity["embed_metadata"]
        made = requested if embed_metadata is None else json.dumps(check_metadata_keys(embed_metadata))
        identity = {**self.identity, "embed_metadata": requested or made}
        if self.encoder is not None:
            identity["embed_template"] = self.requested_template or EMBED_TEMPLATE
        writing.identify(identity)
        check_identity(writing, "these vectors with", embed_metadata=made)

    def _sources_of(self, key: str | Sequence[str] | None) -> Sources | None:
        return None if key is None else Sources(key, self._known_sources)

    def _recipe(
        self,
        propositionizer: Propositionizer | None = None,
        cache: PropositionCache | str | Path | None = None,
        **options: Any,
    ) -> Recipe:
        self.connections.check_writable()  # before anything is needlessly decomposed and encoded
        makes_facts = Granularity.PROPOSITION in self.granularities
        maker = with_cache(propositionizer or SyntaxPropositionizer(), cache, store=self.path) if makes_facts else None
        return Recipe(self.granularities, maker, template=self.template, **options)


def _size(files: Iterable[Path]) -> int:
    """Return the total bytes of the files that exist."""
    return sum(file.stat().st_size for file in files if file.exists())
