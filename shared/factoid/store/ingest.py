"""Put documents into a store.

Split, decompose, encode and commit them in bounded batches, sync and async.
"""

from __future__ import annotations

import asyncio
import logging
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, check_list
from factoid.progress import Progress, progress_bar
from factoid.propositions import Decomposition, Report, adecompose, decompose
from factoid.store.database.snapshot import NO_DIGEST
from factoid.store.database.transaction import Selection
from factoid.store.document_units import (
    SplitDocument,
    assemble,
    own_children,
    split_document,
    whole_passage,
    with_contexts,
)
from factoid.store.language import set_language
from factoid.store.opened import OpenedStore
from factoid.store.recipe import Recipe
from factoid.store.settings import GRANULARITIES
from factoid.store.sources import Sources
from factoid.store.unit_vectors import aencode, encode, reusable_vectors
from factoid.units import Document, Granularity, Unit

# Passages of one call of the propositionizer, and at which a batch of whole documents ends, which
# may have more with its last one. A batch is encoded and committed together.
_BATCH_PASSAGES = 256
# Documents whose digests are looked up together: as many as these, or as have these characters.
_LOOKUP_DOCUMENTS = 256
_LOOKUP_CHARACTERS = 1_000_000

logger = logging.getLogger(__name__)


# -- Records --


@dataclass(frozen=True, slots=True)
class AddReport:
    """The report of `UnitStore.add_documents`.

    Attributes:
        documents: Documents that were added or replaced.
        unchanged: Documents that were in the store as given, and left alone.
        units: Units that were added, by granularity.
        decomposition: What became of the passages in the propositionizer.
        removed: Earlier documents of the same sources that were removed, if `source_key` is set.
    """

    documents: int = 0
    unchanged: int = 0
    units: Mapping[Granularity, int] = field(default_factory=dict)
    decomposition: Report = field(default_factory=Report)
    removed: int = 0


class EncodedUnits(NamedTuple):
    """The units of a batch of documents.

    Attributes:
        units: Parents come before their children.
        vectors: By the position of their unit.
        decomposition: What became of the passages in the propositionizer.
    """

    units: list[Unit]
    vectors: Mapping[int, Vectors]
    decomposition: Decomposition


@dataclass(slots=True)
class _Tally:
    """Counts of what one call has done so far."""

    read: int = 0  # documents
    unchanged: int = 0  # documents among them that are stored as given
    passages: int = 0  # that the propositionizer is done with
    encoded_texts: int = 0
    documents: int = 0  # committed
    units: Counter[Granularity] = field(default_factory=Counter)  # committed
    decomposition: Report = field(default_factory=Report)  # of the committed documents

    def report(self, removed: int) -> AddReport:
        """Return the report of the call."""
        units: dict[Granularity, int] = {}
        if self.documents:
            units = {granularity: self.units[granularity] for granularity in GRANULARITIES}
        return AddReport(self.documents, self.unchanged, units, self.decomposition, removed)


@dataclass(slots=True)
class _Batch:
    """Split documents that are committed together; of equal ids the last one."""

    documents: dict[str, SplitDocument] = field(default_factory=dict)  # by id
    passages: int = 0  # also of documents that a later one has replaced

    @property
    def is_full(self) -> bool:
        return self.passages >= _BATCH_PASSAGES

    def put(self, split: SplitDocument) -> None:
        """Add a document, in place of an earlier one of its id."""
        document_id = split.document.id
        if document_id in self.documents:
            logger.warning(
                "two documents have the id %r: the later one replaces the other", document_id
            )
        self.documents[document_id] = split
        self.passages += len(split.passages)


# -- The way in --


def ingest(
    store: OpenedStore,
    documents: Iterable[Document],
    recipe: Recipe,
    *,
    sources: Sources | None = None,
    progress: bool | None = None,
) -> AddReport:
    """Split, decompose, encode and commit documents, as `UnitStore.add_documents` does.

    The last of equal ids wins.

    Raises:
        InvalidInputError: An item is not a `Document`.
        EncoderMismatchError: The encoder did not return one vector for each text.
    """
    tally = _Tally()
    with _bar(documents, progress) as bar:
        for batch in _batches(store, documents, recipe, tally, sources):
            encoded = make_units(
                store, batch, recipe, on_progress=partial(_show_progress, bar, tally)
            )
            _commit(store, batch, encoded, tally)
            bar.reach(tally.read)
        bar.reach(tally.read)  # also where the last ones had not changed
    removed = 0
    if sources is not None:
        removed = sources.delete_others(store.connections)
    return tally.report(removed)


async def aingest(
    store: OpenedStore,
    documents: Iterable[Document],
    recipe: Recipe,
    *,
    sources: Sources | None = None,
    progress: bool | None = None,
) -> AddReport:
    """Do the same as `ingest` without blocking the event loop.

    What cannot be awaited runs in threads.
    """
    tally = _Tally()
    with _bar(documents, progress) as bar:
        batches = _batches(store, documents, recipe, tally, sources)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            encoded = await _amake_units(store, batch, recipe, partial(_show_progress, bar, tally))
            await asyncio.to_thread(_commit, store, batch, encoded, tally)
            bar.reach(tally.read)
        bar.reach(tally.read)  # also where the last ones had not changed
    removed = 0
    if sources is not None:
        removed = await asyncio.to_thread(sources.delete_others, store.connections)
    return tally.report(removed)


def _bar(documents: Iterable[Document], progress: bool | None) -> Progress:
    """Return the progress over documents; lazy iterables may tell their length, too."""
    total = operator.length_hint(documents) or None
    return progress_bar(show=progress, unit=" documents", total=total, desc="adding")


def _show_progress(bar: Progress, tally: _Tally, *, passages: int = 0, texts: int = 0) -> None:
    """Say what was done within a batch of documents."""
    tally.passages += passages
    tally.encoded_texts += texts
    bar.reach(bar.done, f"{tally.passages:,} passages, {tally.encoded_texts:,} texts encoded")


def make_units(
    store: OpenedStore,
    batch: Sequence[SplitDocument],
    recipe: Recipe,
    *,
    on_progress: Callable[..., None] | None = None,
) -> EncodedUnits:
    """Decompose and encode split documents, as the store is set to, without committing anything.

    Args:
        store: Says what is encoded and how. Its vectors of the same documents are used again.
        batch: The documents.
        recipe: How they become units.
        on_progress: Called with the number of `passages` that the propositionizer is done with, and
            of `texts` that were encoded, each time that there are some.
    """
    passages = _passages_of(batch)
    decomposition = Decomposition()
    for block in blocks_of(passages):
        if recipe.propositionizer is not None:
            decomposition += decompose(
                block, recipe.propositionizer, unsupported=recipe.unsupported
            )
        if on_progress is not None:
            on_progress(passages=len(block))
    units = _units_of(batch, decomposition, recipe)
    reusable = reusable_vectors(store, _ids(batch))
    vectors = encode(store, units, known=reusable, on_progress=on_progress)
    return EncodedUnits(units, vectors, decomposition)


async def _amake_units(
    store: OpenedStore,
    batch: Sequence[SplitDocument],
    recipe: Recipe,
    on_progress: Callable[..., None],
) -> EncodedUnits:
    """Do the same as `make_units` without blocking the event loop."""
    passages = _passages_of(batch)
    decomposition = Decomposition()
    for block in blocks_of(passages):
        if recipe.propositionizer is not None:
            decomposition += await adecompose(
                block, recipe.propositionizer, unsupported=recipe.unsupported
            )
        on_progress(passages=len(block))
    units = await asyncio.to_thread(_units_of, batch, decomposition, recipe)
    reusable = await asyncio.to_thread(reusable_vectors, store, _ids(batch))
    vectors = await aencode(store, units, reusable, on_progress)
    return EncodedUnits(units, vectors, decomposition)


def blocks_of(passages: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
    """Yield passages in blocks, one for each call of the propositionizer.

    A batch is mostly one block, or two: it ends with the document that fills it. Only a long
    document has many, so that a call stays bounded and progress is shown.
    """
    for start in range(0, len(passages), _BATCH_PASSAGES):
        yield passages[start : start + _BATCH_PASSAGES]


def _units_of(
    batch: Sequence[SplitDocument], decomposition: Decomposition, recipe: Recipe
) -> list[Unit]:
    """Return the units of a batch, from the propositions of its passages."""
    units = assemble(_passages_of(batch), decomposition.units, recipe.granularities)
    return with_contexts(units, batch, recipe.contextualizer)


# -- Documents into passages --


def _batches(
    store: OpenedStore,
    documents: Iterable[Document],
    recipe: Recipe,
    tally: _Tally,
    sources: Sources | None,
) -> Iterator[list[SplitDocument]]:
    """Yield the batches of `_changed_batches`; before the first, give an empty store a language."""
    batches = _changed_batches(store, documents, recipe, tally, sources)
    for number, batch in enumerate(batches):
        if number == 0:
            set_language(store, _passages_of(batch), recipe.propositionizer)
        yield batch


def _changed_batches(
    store: OpenedStore,
    documents: Iterable[Document],
    recipe: Recipe,
    tally: _Tally,
    sources: Sources | None,
) -> Iterator[list[SplitDocument]]:
    """Yield the documents that are not stored as given, some `_BATCH_PASSAGES` passages at a time.

    Only these are split. Counts the others, and all that were read. Of equal ids the last one wins.
    Commit each batch before you ask for the next one: what it holds is looked up in the store.
    """
    batch = _Batch()
    for lookup in _lookups(documents, tally, sources):
        # The digest of the last version of each document, whether stored or in the batch.
        digests = _digests_after(store, lookup, batch.documents.values())
        unchanged: set[str] = set()  # ids: a document that is given twice counts once
        for document in lookup:
            digest = recipe.digest(document)
            if digests.get(document.id) == digest:
                if document.id not in batch.documents:
                    unchanged.add(document.id)
                continue
            unchanged.discard(document.id)  # of an earlier version in the same call
            digests[document.id] = digest
            batch.put(SplitDocument(document, digest, split_document(document, recipe)))
            if batch.is_full:
                yield list(batch.documents.values())
                batch = _Batch()
        tally.unchanged += len(unchanged)
    if batch.documents:
        yield list(batch.documents.values())


def _digests_after(
    store: OpenedStore, lookup: Iterable[Document], batch: Iterable[SplitDocument]
) -> dict[str, str]:
    """Return the digests of some documents, by id, as they will be once a batch is committed."""
    with store.connections.reading() as snapshot:
        digests = snapshot.digests([document.id for document in lookup])
    for split in batch:
        digests[split.document.id] = split.digest
    return digests


def _lookups(
    documents: Iterable[Document], tally: _Tally, sources: Sources | None
) -> Iterator[list[Document]]:
    """Yield documents in lists that are looked up in the store together."""
    check_list(documents, "documents", Document)
    lookup: list[Document] = []
    characters = 0
    for document in documents:
        tally.read += 1
        if not isinstance(document, Document):
            raise InvalidInputError(f"expected factoid.Document, got {type(document).__name__}")
        if sources is not None:
            sources.note(document)
        lookup.append(document)
        characters += len(document.text)
        if len(lookup) == _LOOKUP_DOCUMENTS or characters >= _LOOKUP_CHARACTERS:
            yield lookup
            lookup = []
            characters = 0
    if lookup:
        yield lookup


def _ids(batch: Iterable[SplitDocument]) -> list[str]:
    return [split.document.id for split in batch]


def _passages_of(batch: Iterable[SplitDocument]) -> list[Unit]:
    passages: list[Unit] = []
    for split in batch:
        passages += split.passages
    return passages


# -- The commit --


def _commit(
    store: OpenedStore,
    batch: Sequence[SplitDocument],
    encoded: EncodedUnits,
    tally: _Tally,
) -> None:
    documents = with_kept_digests(batch, encoded.decomposition)
    replace_documents(store, documents, encoded.units, encoded.vectors)
    tally.documents += len(batch)
    tally.units.update(unit.granularity for unit in encoded.units)
    tally.decomposition += encoded.decomposition.report


def with_kept_digests(
    batch: Iterable[SplitDocument], decomposition: Decomposition
) -> list[SplitDocument]:
    """Return documents with the digests that are kept.

    A document with a passage that failed, but might succeed on another try, gets one that is not
    skipped the next time.
    """
    unfinished = {passage.document_id for passage in decomposition.transient_failures}
    documents = []
    for split in batch:
        if split.document.id in unfinished:
            split = replace(split, digest=NO_DIGEST)
        documents.append(split)
    return documents


def replace_documents(
    store: OpenedStore,
    batch: Sequence[SplitDocument],
    units: Sequence[Unit],
    vectors: Mapping[int, Vectors],
) -> None:
    """Replace documents and their units by these; vectors are by the position of their unit."""
    with store.identified_transaction(store.embed_metadata) as transaction:
        transaction.remove(Selection(document_ids=[split.document.id for split in batch]))
        for split in batch:
            transaction.put_document(split.document, split.digest)
        transaction.insert(units, vectors)
        transaction.keep_granularities(store.granularities)


def add_embedded(
    store: OpenedStore, documents: Iterable[Document], vectors: Mapping[str, Vectors]
) -> None:
    """Add documents as `UnitStore.add_embedded` does."""
    batch: list[SplitDocument] = []
    units: list[Unit] = []
    for document in documents:
        if document.id not in vectors:
            raise InvalidInputError(f"there is no vector of the document {document.id!r}")
        batch.append(SplitDocument(document, NO_DIGEST, []))
        passage = whole_passage(document)
        units.append(passage)
        units += own_children(passage, store.granularities)
    by_position: dict[int, Vectors] = {}
    for position, unit in enumerate(units):
        if store.encodes(unit):
            by_position[position] = vectors[unit.document_id]
    replace_documents(store, batch, units, by_position)
