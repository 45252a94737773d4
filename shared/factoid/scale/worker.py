"""The worker of a build: its models are loaded once, and each call makes shards.

It is the same in this process and on Ray. Documents go through the steps of `factoid.store.ingest`:
one way in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from factoid.encode import Encoder
from factoid.errors import (
    EncoderMismatchError,
    FactoidError,
    InvalidInputError,
    MissingDependencyError,
    PropositionizerError,
    StoreError,
)
from factoid.propositions import Propositionizer, Report, SyntaxPropositionizer
from factoid.propositions.cached_propositionizer import with_cache
from factoid.propositions.decompose import Policy, check_policy
from factoid.scale.folders import Folder
from factoid.scale.inputs import Portion
from factoid.scale.retries import Attempts, attempt, leave_out_deadly
from factoid.scale.shards import Failure, write_shard
from factoid.store import UnitStore
from factoid.store.database.records import to_json
from factoid.store.database.snapshot import StoredUnit
from factoid.store.database.transaction import check_units
from factoid.store.document_units import SplitDocument, split_document
from factoid.store.ingest import EncodedUnits, make_units, with_kept_digests
from factoid.store.language import set_language
from factoid.store.recipe import Recipe
from factoid.units import Document, Granularity

Batch = dict[str, Any]
"""Columns by name, as Ray Data passes them: `portion` for the worker, and what it returns."""

_PASSAGES = 256  # in a batch of whole documents that are decomposed and encoded together

# Of the models or the machine: with these a build stops.
_NOT_A_DOCUMENTS_ERRORS = (
    EncoderMismatchError,
    MissingDependencyError,
    PropositionizerError,
    OSError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How documents become units with vectors, as `UnitStore` and `add_documents` take it.

    Attributes:
        encoder, propositionizer: An object, or a function that makes it in each worker.
    """

    encoder: Encoder | Callable[[], Encoder]
    propositionizer: Propositionizer | Callable[[], Propositionizer] | None
    granularities: Sequence[str]
    embed_template: str | None
    embed_metadata: Sequence[str] | None
    late_chunking: bool | None
    words: int
    min_words: int | None
    join_paragraphs: bool
    unsupported: Policy
    cache: str | Path | None = field(default=None, repr=False)

    def store(self) -> UnitStore:
        """Return an empty store in memory, which says what is encoded and how.

        Raises:
            InvalidInputError: An option is wrong.
        """
        check_policy(self.unsupported)
        encoder = self.encoder
        if not isinstance(encoder, Encoder):
            encoder = encoder()
        return UnitStore(
            encoder=encoder,
            granularities=self.granularities,
            embed_template=self.embed_template,
            embed_metadata=self.embed_metadata,
            late_chunking=self.late_chunking,
            progress=False,
        )

    def recipe(self, store: UnitStore) -> Recipe:
        """Return how documents become the units of a store."""
        propositionizer = None
        if Granularity.PROPOSITION in store.granularities:
            maker = self.propositionizer or SyntaxPropositionizer
            if not isinstance(maker, Propositionizer) or isinstance(maker, type):
                maker = maker()
            propositionizer = with_cache(maker, self.cache)
        return Recipe(
            store.granularities,
            propositionizer,
            words=self.words,
            min_words=self.min_words,
            join_paragraphs=self.join_paragraphs,
            unsupported=self.unsupported,
            template=store.opened.template,
        )


@dataclass(slots=True)
class _Content:
    """The content of a shard, as far as it is made."""

    failures: list[Failure]
    units: list[StoredUnit] = field(default_factory=list)
    documents: list[tuple[Document, str]] = field(default_factory=list)
    report: Report = field(default_factory=Report)

    def add(self, batch: Sequence[SplitDocument], encoded: EncodedUnits) -> None:
        """Add a batch of documents."""
        for split in with_kept_digests(batch, encoded.decomposition):
            self.documents.append((split.document, split.digest))
        for position, unit in enumerate(encoded.units):
            self.units.append(StoredUnit(unit, encoded.vectors.get(position)))
        self.report += encoded.decomposition.report


class ShardWorker:
    """Makes shards of documents.

    Its state are the models, which are loaded on the first call.

    Args:
        making: How documents become units.
        folder: Where the shards are written.
    """

    def __init__(self, making: Making, folder: Folder) -> None:
        self._making = making
        self._folder = folder
        self._has_noticed = False  # the language, of which is said once

    @cached_property
    def _store(self) -> UnitStore:
        return self._making.store()

    @cached_property
    def _recipe(self) -> Recipe:
        return self._making.recipe(self._store)

    def __call__(self, batch: Batch) -> Batch:
        """Make the shard of each portion, and return their manifests.

        An error that is not a document's is returned as its class and text: what the caller gets
        then is the same on Ray.
        """
        manifests = []
        errors = []
        for content in batch["portion"]:
            portion = Portion.from_json(content)
            manifest = error = ""
            try:
                with attempt(self._folder, portion.name) as attempts:
                    manifest = self.make(portion, attempts).decode()
            except (FactoidError, OSError) as problem:
                error = f"{type(problem).__name__}: {problem}"
            manifests.append(manifest)
            errors.append(error)
        return {"manifest": manifests, "error": errors}

    def make(self, portion: Portion, attempts: Attempts) -> bytes:
        """Make one shard, and return its manifest as JSON."""
        documents: dict[str, tuple[str, Document]] = {}
        for place, document in portion.documents:
            documents[document.id] = (place, document)  # the last of equal ids, as in a store
        replaced = len(portion.documents) - len(documents)
        content = _Content(list(portion.failures))
        if attempts.is_careful:
            leave_out_deadly(documents, content.failures, attempts, self._make_alone)
        for batch in self._batches(documents, content.failures):
            self._add(batch, documents, content)
        manifest = write_shard(
            self._folder,
            portion.name,
            content.units,
            content.documents,
            identity=self._store.opened.known_identity,
            failures=content.failures,
            details={
                "characters": portion.characters,
                "decomposition": asdict(content.report)
                | {"cached": 0},  # says nothing of the content
                "last": portion.is_last,
                "replaced": replaced,
            },
        )
        return manifest.to_json()

    def _make_alone(self, place: str, document: Document) -> None:
        """Make the units of one document; its errors are found when the shard is made."""
        for batch in self._batches({document.id: (place, document)}, []):
            self._problem_of(batch[0])

    def _batches(
        self, documents: Mapping[str, tuple[str, Document]], failures: list[Failure]
    ) -> Iterator[list[SplitDocument]]:
        """Yield split documents, some passages at a time, and note those that cannot be split."""
        batch: list[SplitDocument] = []
        size = 0
        for place, document in documents.values():
            try:
                digest = self._recipe.digest(document)
                split = SplitDocument(document, digest, split_document(document, self._recipe))
            except Exception as error:  # noqa: BLE001 (whatever a document causes is its failure)
                failures.append(_failure(place, document, error))
                continue
            batch.append(split)
            size += len(split.passages)
            if size >= _PASSAGES:
                yield batch
                batch = []
                size = 0
        if batch:
            yield batch

    def _add(
        self,
        batch: Sequence[SplitDocument],
        documents: Mapping[str, tuple[str, Document]],
        content: _Content,
    ) -> None:
        """Add the units of a batch; if that fails, without the documents that fail alone, too."""
        try:
            content.add(batch, self._units_of(batch))
        except _NOT_A_DOCUMENTS_ERRORS:
            raise
        except Exception as error:
            if problem := self._problem_of(self._plain):
                raise StoreError(
                    "the encoder or the propositionizer fails with any document: "
                    f"{_explained(problem)}"
                ) from problem
            sound = []
            for split in batch:
                if problem := self._problem_of(split):
                    place, document = documents[split.document.id]
                    content.failures.append(_failure(place, document, problem))
                else:
                    sound.append(split)
            if len(sound) == len(batch):
                raise StoreError(
                    f"{len(batch)} documents fail together, and none of them alone: "
                    f"{_explained(error)}"
                ) from error
            if sound:
                content.add(sound, self._units_of(sound))

    @cached_property
    def _plain(self) -> SplitDocument:
        """A document with which nothing can be wrong."""
        document = Document("The river rises in the hills. It flows into the sea.")
        return SplitDocument(document, "", split_document(document, self._recipe))

    def _problem_of(self, split: SplitDocument) -> Exception | None:
        """Return the error that a document causes alone, if it does."""
        try:
            self._units_of([split])
        except _NOT_A_DOCUMENTS_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 (as above)
            return error
        return None

    def _units_of(self, batch: Sequence[SplitDocument]) -> EncodedUnits:
        """Return the units of a batch, checked as a store would."""
        if not self._has_noticed:
            self._has_noticed = True
            passages = list(chain.from_iterable(split.passages for split in batch))
            set_language(self._store.opened, passages, self._recipe.propositionizer)
        encoded = make_units(self._store.opened, batch, self._recipe)
        check_units(encoded.units)
        for split in batch:
            to_json(split.document.metadata)
        for vector in encoded.vectors.values():
            if not np.isfinite(vector).all():
                raise InvalidInputError("a vector is not finite: the encoder failed")
        return encoded


def _failure(place: str, document: Document, error: Exception) -> Failure:
    return Failure(place, document.id, _explained(error))


def _explained(error: Exception) -> str:
    """Return an error in one line, as short as a record should be."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
