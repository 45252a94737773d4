"""An open store, as the modules of `factoid.store` see it: `UnitStore` is its face for users."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factoid.encode import Encoder, span_encoder
from factoid.errors import InvalidInputError
from factoid.heading_template import (
    EMBED_TEMPLATE,
    check_metadata_keys,
    check_template,
    with_metadata,
)
from factoid.ranking import LEXICAL, Weights
from factoid.store.database.connections import Connections
from factoid.store.database.schema import local_folder
from factoid.store.database.snapshot import Snapshot, metadata_keys
from factoid.store.database.transaction import Transaction
from factoid.store.filter_wall import VARIED_PASSAGES
from factoid.store.indexes.build import (
    Builder,
    LexicalBuilder,
    VariedPassagesBuilder,
    VectorBuilder,
)
from factoid.store.indexes.live import LiveIndexes
from factoid.store.options import SearchOptions
from factoid.store.settings import (
    AUTO_TEMPLATE,
    DEFAULT_GRANULARITIES,
    GRANULARITIES,
    Settings,
    check_identity,
    keep_settings,
)
from factoid.store.sources import Source
from factoid.units import Granularity, Unit
from factoid.vectors import Similarity
from factoid.vectors.gpu import check_device


@dataclass(slots=True, eq=False)
class OpenedStore:
    """An open store: its connections, indexes and encoder, and what it does with vectors."""

    connections: Connections
    indexes: LiveIndexes
    encoder: Encoder | None
    granularities: tuple[Granularity, ...]  # those that are encoded and searched
    named_granularities: tuple[Granularity, ...]  # those that the caller named; none if none were
    vector_builder: VectorBuilder  # of their indexes
    settings: Settings
    requested_template: str | None  # None for that of the store
    requested_metadata: tuple[str, ...] | None  # None for those of the store
    requested_late_chunking: bool | None  # None for what the store does
    progress: bool | None
    named_language: bool = False  # whether the caller named one
    noticed_languages: set[str] = field(default_factory=set)  # of documents added
    # of the documents that calls of this object added
    known_sources: set[Source] = field(default_factory=set)

    @property
    def path(self) -> Path | None:
        """The folder; None in memory."""
        return self.connections.path

    @property
    def similarity(self) -> Similarity:
        """The similarity that scores measure."""
        return self.settings.similarity

    @property
    def weights(self) -> Weights:
        """The default weights of a search."""
        return self.settings.weights

    def keep_weights(self, weights: Weights) -> None:
        """Make weights the default of searches, and write them into the store."""
        self.connections.check_writable()
        copied = Weights(weights.passage, weights.lexical)
        self.settings = keep_settings(self.connections, weights=copied)

    def take_language(self, language: str) -> None:
        """Make this the language of the index of words of an empty store, unless one was named."""
        with self.connections.reading() as snapshot:
            if self.named_language or snapshot.meta["units"]:
                return
        self.settings = keep_settings(self.connections, language=language)
        self.indexes.replace(LEXICAL, LexicalBuilder(language))

    @property
    def identity(self) -> dict[str, str | None]:
        """What makes vectors here, by name.

        It is the encoder's name, template, metadata and late chunking; None if not named.
        """
        return _identity(
            self.encoder,
            self.requested_template,
            self.requested_metadata,
            self.requested_late_chunking,
        )

    @property
    def known_identity(self) -> dict[str, str | None]:
        """The identity, with what the store was filled with in place of what is not named.

        An empty store gives what it would be filled with.
        """
        with self.connections.reading() as snapshot:
            stored = {name: snapshot.meta.get(name) for name in self.identity}
        known: dict[str, str | None] = {
            "embed_template": EMBED_TEMPLATE,
            "embed_metadata": "[]",
            "late_chunking": "false",
        }
        for identity in (stored, self.identity):
            for name, value in identity.items():
                if value is not None:
                    known[name] = value
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
    def late_chunking(self) -> bool:
        """Whether units are encoded as parts of their passages."""
        return self.known_identity["late_chunking"] == "true"

    @property
    def template(self) -> str:
        """The template of the text that is encoded for a unit, with metadata."""
        known = self.known_identity
        template = known["embed_template"] or EMBED_TEMPLATE
        return with_metadata(template, metadata_keys(known["embed_metadata"]))

    def encodes(self, unit: Unit) -> bool:
        """Return whether a unit gets a vector.

        Its granularity is one of the store's, and its text is more than white space.
        """
        return unit.granularity in self.granularities and bool(unit.text.strip())

    def compared_by(
        self, options: SearchOptions, available: Sequence[Granularity] | None = None
    ) -> list[Granularity]:
        """Return the granularities that a search with these options compares.

        They are chosen from `available`, by default from all that the store encodes.

        Raises:
            InvalidInputError: One of them cannot be compared.
        """
        return options.compared_granularities(
            available or self.granularities, substitute=not self.named_granularities
        )

    def encode_also(self, granularities: Iterable[str]) -> None:
        """Encode units of further granularities, too, since some are being added.

        It does nothing if the store was opened with granularities by name.
        """
        names = {*granularities, *self.granularities} - {Granularity.DOCUMENT}
        if self.named_granularities or len(names) == len(self.granularities):
            return
        for name in names.difference(self.granularities):
            self.indexes.add(name, self.vector_builder)
        self.granularities = _in_order(names)

    @contextmanager
    def identified_transaction(self, embed_metadata: Sequence[str] | None) -> Iterator[Transaction]:
        """Commit all writes of the block as one generation, and record what made their vectors.

        Args:
            embed_metadata: What was encoded with the texts; None if that is not known.

        Raises:
            EncoderMismatchError: The store holds vectors of another encoder, template or metadata:
                another process may have filled it.
        """
        with self.connections.transaction() as transaction:
            yield transaction
            self._record_identity(transaction, embed_metadata)

    def _record_identity(
        self, transaction: Transaction, embed_metadata: Sequence[str] | None
    ) -> None:
        """Check or record what made the vectors; an error takes back the whole transaction."""
        opened_with = self.identity
        check_identity(transaction, "was opened with", **opened_with)

        # -- Record what made the vectors, where the store has no record yet --
        opened_keys = opened_with["embed_metadata"]  # of this open store
        vector_keys = opened_keys  # of the vectors in this transaction
        if embed_metadata is not None:
            vector_keys = json.dumps(check_metadata_keys(embed_metadata))
        record = {**opened_with, "embed_metadata": opened_keys or vector_keys}
        if self.encoder is not None:
            record["embed_template"] = self.requested_template or EMBED_TEMPLATE
            record["late_chunking"] = record["late_chunking"] or "false"
        transaction.identify(record)

        # -- Compare the keys of these vectors with the record, which may be new --
        check_identity(transaction, "these vectors with", embed_metadata=vector_keys)


def open_store(
    path: str | Path | None,
    encoder: Encoder | None,
    granularities: Sequence[str] | None,
    *,
    embed_metadata: Sequence[str] | None,
    embed_template: str | None,
    late_chunking: bool | None,
    index: str | Mapping[str, str] | None,
    similarity: str | None,
    language: str | None,
    dtype: str | None,
    device: str | Sequence[str],
    gpu_shard: bool,
    gpu_float16: bool,
    mmap: bool,
    read_only: bool,
    progress: bool | None,
) -> OpenedStore:
    """Open a store with the options of `UnitStore`, or make it; nothing is made if one is wrong."""
    # -- Options --
    named = _named_granularities(granularities)
    requested: dict[str, Any] = {"similarity": similarity, "index": index, "language": language}
    Settings().updated(**requested)
    if dtype not in (None, "float32", "float16"):
        raise InvalidInputError(f"dtype must be one of float32, float16, got {dtype!r}")
    template = None
    if embed_template != AUTO_TEMPLATE:
        template = check_template(embed_template)
    keys = None
    if embed_metadata is not None:
        keys = check_metadata_keys(embed_metadata)
    if encoder is not None and not isinstance(encoder, Encoder):
        raise InvalidInputError(
            f"expected an encoder, such as SentenceTransformerEncoder({encoder!r:.60}), or None"
        )
    if late_chunking and encoder is not None:
        span_encoder(encoder)  # refuses others
    check_device(device)

    # -- Database --
    folder = None
    if path is not None:
        folder = local_folder(path)
    connections = Connections(folder, read_only=read_only)
    try:
        with connections.reading() as snapshot:
            check_identity(
                snapshot, "was opened with", **_identity(encoder, template, keys, late_chunking)
            )
            encoded = named or _stored_granularities(snapshot, encoder)
        settings = keep_settings(connections, dtype=dtype, **requested)
    except BaseException:
        connections.close()
        raise

    # -- Indexes --
    vectors = VectorBuilder(settings, device, gpu_shard, gpu_float16, mmap)
    builders: dict[str, Builder] = dict.fromkeys(encoded, vectors)
    builders[VARIED_PASSAGES] = VariedPassagesBuilder()
    builders[LEXICAL] = LexicalBuilder(settings.language)
    opened: OpenedStore

    def check_vectors(snapshot: Snapshot) -> None:
        check_identity(snapshot, "was opened with", **opened.identity)

    indexes = LiveIndexes(connections, builders, check_vectors=check_vectors, progress=progress)
    opened = OpenedStore(
        connections=connections,
        indexes=indexes,
        encoder=encoder,
        granularities=encoded,
        named_granularities=named,
        vector_builder=vectors,
        settings=settings,
        requested_template=template,
        requested_metadata=keys,
        requested_late_chunking=late_chunking,
        progress=progress,
        named_language=language is not None,
    )
    return opened


def _named_granularities(granularities: Sequence[str] | None) -> tuple[Granularity, ...]:
    """Return the granularities that a store should search; none if they are up to the store."""
    if granularities is None:
        return ()
    named: tuple[Granularity, ...] = ()
    if not isinstance(granularities, str):
        named = tuple(map(Granularity, granularities))
    if not named or Granularity.DOCUMENT in named:
        raise InvalidInputError(
            f"granularities must be some of {', '.join(GRANULARITIES)}, got {granularities!r}"
        )
    return named


def _stored_granularities(snapshot: Snapshot, encoder: Encoder | None) -> tuple[Granularity, ...]:
    """Return the granularities of a store for which none are named, coarsest first."""
    default: tuple[Granularity, ...] = DEFAULT_GRANULARITIES
    if encoder is None:
        default = GRANULARITIES
    names = {*(snapshot.granularities or default), *snapshot.encoded_granularities()}
    return _in_order(names)


def _in_order(names: Collection[str]) -> tuple[Granularity, ...]:
    """Return granularities by name, coarsest first."""
    return tuple(granularity for granularity in GRANULARITIES if granularity in names)


def _identity(
    encoder: Encoder | None,
    template: str | None,
    metadata: tuple[str, ...] | None,
    late_chunking: bool | None,
) -> dict[str, str | None]:
    keys = None
    if metadata is not None:
        keys = json.dumps(metadata)
    return {
        "encoder": getattr(encoder, "name", None),
        "embed_template": template,
        "embed_metadata": keys,
        "late_chunking": None if late_chunking is None else json.dumps(bool(late_chunking)),
    }
