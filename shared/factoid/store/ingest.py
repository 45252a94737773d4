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
from factoid.errors import InvalidInputError
from factoid.heading_template import EMBED_TEMPLATE
from factoid.progress import Progress, progress_bar
from factoid.propositions import Decomposition, Propositionizer, Report, adecompose, decompose
from factoid.propositions.contextualizer import CONTEXT, Contextualizer, checked_contexts
from factoid.propositions.decompose import Policy
from factoid.split import MIN_WORDS, WORDS, seen_text, split_passages, split_sentences
from factoid.store.database.snapshot import NO_DIGEST
from factoid.store.database.transaction import Selection
from factoid.store.language import set_language
from factoid.store.opened import OpenedStore
from factoid.store.settings import GRANULARITIES
from factoid.store.sources import Sources
from factoid.store.unit_vectors import aencode, encode, reusable_vectors
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, Unit, child_unit, content_id

# Passages of one call of the propositionizer, and at which a batch of whole documents ends. A batch
# is encoded and committed together.
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


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become units (see `UnitStore.add_documents`).

    Part of a document's digest, as it changes the result.
    """

    granularities: Sequence[Granularity]  # besides passages, which are always made
    propositionizer: Propositionizer | None = None  # None makes no propositions
    words: int = WORDS
    min_words: int = MIN_WORDS
    join_paragraphs: bool = True
    unsupported: Policy = "drop"
    template: str = EMBED_TEMPLATE
    sentences: SentenceSplitter | None = None  # None for the rules of `factoid.text.sentence_ends`
    contextualizer: Contextualizer | None = None  # None writes no contexts

    def digest(self, document: Document) -> str:
        """Return a digest of a document and of this recipe."""
        content = [
            document.id,
            document.text,
            document.title,
            document.section,
            dict(document.metadata),
        ]
        options = [
            list(self.granularities),
            component_name(self.propositionizer),
            self.words,
            self.min_words,
            self.join_paragraphs,
            self.unsupported,
            self.template,
        ]
        if self.sentences is not None:
            options.append(component_name(self.sentences))
        if self.contextualizer is not None:
            options.append({"contextualizer": self.contextualizer.name})
        return content_id(*content, *options)


def component_name(component: object) -> str:
    """Return the name of a propositionizer or splitter, or that of its class."""
    return getattr(component, "name", type(component).__qualname__)


@dataclass(frozen=True, slots=True)
class SplitDocument:
    """A document, the digest of its content and recipe, and its passages."""

    document: Document
    digest: str
    passages: list[Unit]


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

    def report(self, decomposition: Report, removed: int) -> AddReport:
        """Return the report of the call."""
        units: dict[Granularity, int] = {}
        if self.documents:
            units = {granularity: self.units[granularity] for granularity in GRANULARITIES}
        return AddReport(self.documents, self.unchanged, units, decomposition, removed)


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
    total = Report()
    with _bar(documents, progress) as bar:
        batches = _changed_batches(store, documents, recipe, tally, sources)
        for batch in _after_setting_language(store, recipe, batches):
            encoded = make_units(
                store, batch, recipe, on_progress=partial(_show_progress, bar, tally)
            )
            _commit(store, batch, encoded, tally)
            total += encoded.decomposition.report
            bar.reach(tally.read)
        bar.reach(tally.read)  # also where the last ones had not changed
    removed = 0
    if sources is not None:
        removed = sources.delete_others(store.connections)
    return tally.report(total, removed)


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
    total = Report()
    with _bar(documents, progress) as bar:
        changed = _changed_batches(store, documents, recipe, tally, sources)
        batches = _after_setting_language(store, recipe, changed)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            encoded = await _amake_units(store, batch, recipe, partial(_show_progress, bar, tally))
            await asyncio.to_thread(_commit, store, batch, encoded, tally)
            total += encoded.decomposition.report
            bar.reach(tally.read)
        bar.reach(tally.read)  # also where the last ones had not changed
    removed = 0
    if sources is not None:
        removed = await asyncio.to_thread(sources.delete_others, store.connections)
    return tally.report(total, removed)


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
    for block, propositionizer in propositionizer_calls(passages, recipe):
        decomposition += decompose(block, propositionizer, unsupported=recipe.unsupported)
        if on_progress is not None:
            on_progress(passages=len(block))
    if recipe.propositionizer is None and on_progress is not None:
        on_progress(passages=len(passages))
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
    for block, propositionizer in propositionizer_calls(passages, recipe):
        decomposition += await adecompose(block, propositionizer, unsupported=recipe.unsupported)
        on_progress(passages=len(block))
    if recipe.propositionizer is None:
        on_progress(passages=len(passages))
    units = await asyncio.to_thread(_units_of, batch, decomposition, recipe)
    reusable = await asyncio.to_thread(reusable_vectors, store, _ids(batch))
    vectors = await aencode(store, units, reusable, on_progress)
    return EncodedUnits(units, vectors, decomposition)


def _units_of(
    batch: Sequence[SplitDocument], decomposition: Decomposition, recipe: Recipe
) -> list[Unit]:
    """Return the units of a batch, from the propositions of its passages."""
    units = assemble(_passages_of(batch), decomposition.units, recipe.granularities)
    return with_contexts(units, batch, recipe.contextualizer)


# -- Documents into passages --


def _after_setting_language(
    store: OpenedStore, recipe: Recipe, batches: Iterator[list[SplitDocument]]
) -> Iterator[list[SplitDocument]]:
    """Yield batches; before the first one, give an empty store its language."""
    first = next(batches, None)
    if first is None:
        return
    set_language(store, _passages_of(first), recipe.propositionizer)
    yield first
    yield from batches


def _changed_batches(
    store: OpenedStore,
    documents: Iterable[Document],
    recipe: Recipe,
    tally: _Tally,
    sources: Sources | None,
) -> Iterator[list[SplitDocument]]:
    """Yield the documents that are not stored as given, some `_BATCH_PASSAGES` passages at a time.

    Only these are split. Counts the others, and all that were read. Of equal ids the last one wins.
    """
    batch: dict[str, SplitDocument] = {}  # by the document's id
    size = 0  # passages, also of documents that a later one of the batch has replaced
    for lookup in _lookups(documents, tally, sources):
        with store.connections.reading() as snapshot:
            digests = snapshot.digests([document.id for document in lookup])
        # Those of the batch are not stored yet, but will be before what comes now.
        for split in batch.values():
            digests[split.document.id] = split.digest
        unchanged: set[str] = set()  # ids: a document that is given twice counts once
        for document in lookup:
            digest = recipe.digest(document)
            if digests.get(document.id) == digest:
                if document.id not in batch:
                    unchanged.add(document.id)
                continue
            unchanged.discard(document.id)  # this is a later version, which replaces it
            if document.id in batch:
                logger.warning(
                    "two documents have the id %r: the later one replaces the other", document.id
                )
            batch[document.id] = SplitDocument(document, digest, split_document(document, recipe))
            digests[document.id] = digest
            size += len(batch[document.id].passages)
            if size >= _BATCH_PASSAGES:
                yield list(batch.values())
                batch = {}
                size = 0
        tally.unchanged += len(unchanged)
    if batch:
        yield list(batch.values())


def _lookups(
    documents: Iterable[Document], tally: _Tally, sources: Sources | None
) -> Iterator[list[Document]]:
    """Yield documents in lists that are looked up in the store together."""
    if isinstance(documents, Document):
        raise InvalidInputError("expected a list of documents, got a single one")
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


def split_document(document: Document, recipe: Recipe) -> list[Unit]:
    """Return the passages of a document."""
    passages = split_passages(
        document,
        words=recipe.words,
        min_words=recipe.min_words,
        join_paragraphs=recipe.join_paragraphs,
        sentences=recipe.sentences,
    )
    if not passages and document.text.strip():
        passages = [whole_passage(document)]  # only headings or front matter: it can still be found
    return passages


def _ids(batch: Iterable[SplitDocument]) -> list[str]:
    return [split.document.id for split in batch]


def _passages_of(batch: Iterable[SplitDocument]) -> list[Unit]:
    passages: list[Unit] = []
    for split in batch:
        passages += split.passages
    return passages


# -- Passages into units --


def propositionizer_calls(
    passages: Sequence[Unit], recipe: Recipe
) -> Iterator[tuple[Sequence[Unit], Propositionizer]]:
    """Yield the passages of each call of the propositionizer, with the propositionizer.

    There are no calls if the recipe has none.
    """
    if recipe.propositionizer is not None:
        for start in range(0, len(passages), _BATCH_PASSAGES):
            yield passages[start : start + _BATCH_PASSAGES], recipe.propositionizer


def assemble(
    passages: Sequence[Unit], propositions: Sequence[Unit], granularities: Sequence[Granularity]
) -> list[Unit]:
    """Return passages with the units under them, each id once; parents come before their children.

    A passage without a unit of a wanted granularity, such as a table, is its own child at that
    granularity, so that searches at it also find the passage.
    """
    units = {unit.id: unit for unit in passages}
    for granularity in (Granularity.SENTENCE, Granularity.PROPOSITION):
        if granularity not in granularities:
            continue
        children = list(propositions)
        if granularity is Granularity.SENTENCE:
            children = []
            for passage in passages:
                children += split_sentences(passage)
        parents = {unit.parent_id for unit in children}
        for passage in passages:
            if passage.id not in parents:
                children += own_children(passage, [granularity])
        for unit in children:
            units[unit.id] = unit
    return list(units.values())


def with_contexts(
    units: Sequence[Unit], batch: Iterable[SplitDocument], contextualizer: Contextualizer | None
) -> list[Unit]:
    """Return units, the passages among them with their contexts in the metadata."""
    if contextualizer is None:
        return list(units)
    contexts: dict[str, str] = {}
    for split in batch:
        texts = checked_contexts(contextualizer, split.document, split.passages)
        for passage, text in zip(split.passages, texts, strict=True):
            contexts[passage.id] = text
    contextual = []
    for unit in units:
        if contexts.get(unit.id):
            unit = replace(unit, metadata={**unit.metadata, CONTEXT: contexts[unit.id]})
        contextual.append(unit)
    return contextual


def own_children(passage: Unit, granularities: Sequence[Granularity]) -> list[Unit]:
    """Return a passage as a unit under itself at each of these granularities except its own.

    White space has none.
    """
    if not passage.text.strip():
        return []
    children = []
    for granularity in granularities:
        if granularity is not passage.granularity:
            child = child_unit(
                passage,
                passage.text,
                granularity,
                passage.start,
                passage.end,
                visible=passage.visible,
            )
            children.append(child)
    return children


def whole_passage(document: Document) -> Unit:
    """Return a document as one passage."""
    return child_unit(
        document,
        document.text,
        Granularity.PASSAGE,
        0,
        len(document.text),
        visible=seen_text(document.text, document.metadata),
    )


def lone_units(store: OpenedStore, units: Sequence[Unit]) -> set[int]:
    """Return the positions of units that have to be encoded, or their passage could not be found.

    In a store of propositions or sentences these are passages without a unit that the store encodes
    among the units, and units of other granularities whose passage is neither among the units nor
    stored.
    """
    if not {Granularity.SENTENCE, Granularity.PROPOSITION} & {*store.granularities}:
        return set()
    passages = {unit.id for unit in units if unit.granularity is Granularity.PASSAGE}
    represented = {unit.parent_id for unit in units if store.encodes(unit)}
    others: list[tuple[int, Unit]] = []
    above: set[str] = set()
    for position, unit in enumerate(units):
        if unit.text.strip() and not store.encodes(unit):
            others.append((position, unit))
            if unit.granularity is not Granularity.PASSAGE:
                above.add(unit.parent_id)
    with store.connections.reading() as snapshot:
        stored = {unit.id for unit in snapshot.units_by_id(sorted(above - passages))}
    lone = set()
    for position, unit in others:
        if unit.granularity is Granularity.PASSAGE:
            is_lone = unit.id not in represented
        else:
            is_lone = unit.parent_id not in passages | stored
        if is_lone:
            lone.add(position)
    return lone


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
