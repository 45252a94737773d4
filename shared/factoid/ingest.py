"""Put documents into a store: split, decompose, encode and commit them in bounded batches, sync and async."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from factoid.encode import EMBED_TEMPLATE, AsyncEncoder, Vectors, encoded_text, to_matrix
from factoid.errors import InvalidInputError
from factoid.progress import progress
from factoid.propositions import Decomposition, Propositionizer, Report, adecompose, decompose
from factoid.propositions.decompose import Policy
from factoid.sources import Sources
from factoid.split import seen_text, split_passages, split_sentences
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, Unit, child_unit, content_id

if TYPE_CHECKING:
    from factoid.store import UnitStore

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)

_BATCH = 256  # passages decomposed, encoded and committed together: the most that an interrupted call has to do again

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `UnitStore.add_documents` did."""

    documents: int = 0  # added or replaced
    unchanged: int = 0  # already in the store as given, and left alone
    units: Mapping[Granularity, int] = field(default_factory=dict)  # added
    decomposition: Report = field(default_factory=Report)  # what became of the passages in the propositionizer
    removed: int = 0  # earlier documents of the same sources, if `source_key` is set


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become units (see `UnitStore.add_documents`). Part of a document's digest, as it changes the result."""

    granularities: Sequence[Granularity]  # besides passages, which are always made
    propositionizer: Propositionizer | None = None  # None makes no propositions
    words: int = 100
    min_words: int = 50
    unsupported: Policy = "drop"
    template: str = EMBED_TEMPLATE
    sentences: SentenceSplitter | None = None  # None for the rules of `factoid.text.sentence_ends`

    def digest(self, document: Document) -> str:
        """Return a digest of a document and of this recipe."""
        content = [document.id, document.text, document.title, document.section, dict(document.metadata)]
        name = getattr(self.propositionizer, "name", type(self.propositionizer).__qualname__)
        making = [list(self.granularities), name, self.words, self.min_words, self.unsupported, self.template]
        if self.sentences is not None:
            making.append(getattr(self.sentences, "name", type(self.sentences).__qualname__))
        return content_id(*content, *making)


@dataclass(frozen=True, slots=True)
class Split:
    """A document, the digest of its content and recipe, and its passages."""

    document: Document
    digest: str
    passages: list[Unit]


def ingest(
    store: UnitStore,
    documents: Iterable[Document],
    recipe: Recipe,
    *,
    sources: Sources | None = None,
    show_progress: bool = False,
) -> AddReport:
    """Split, decompose, encode and commit documents, as `UnitStore.add_documents` does; the last of equal ids in a batch wins.

    Raises:
        InvalidInputError: An item is not a `Document`.
        EncoderMismatchError: The encoder did not return one vector for each text.
    """
    counts: Counter[str] = Counter()
    total = Report()
    for batch in _changed(store, documents, recipe, counts, sources, show_progress=show_progress):
        passages = [passage for split in batch for passage in split.passages]
        decomposition = Decomposition()
        if recipe.propositionizer is not None:
            decomposition = decompose(passages, recipe.propositionizer, unsupported=recipe.unsupported)
        units = assemble(passages, decomposition.units, recipe.granularities)
        _put(store, batch, units, encode(store, units), decomposition, counts)
        total += decomposition.report
    removed = 0 if sources is None else sources.delete_others(store)
    return _report(counts, total, removed)


async def aingest(
    store: UnitStore,
    documents: Iterable[Document],
    recipe: Recipe,
    *,
    sources: Sources | None = None,
    show_progress: bool = False,
) -> AddReport:
    """Do the same as `ingest` without blocking the event loop: what cannot be awaited runs in threads."""
    counts: Counter[str] = Counter()
    total = Report()
    batches = _changed(store, documents, recipe, counts, sources, show_progress=show_progress)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        passages = [passage for split in batch for passage in split.passages]
        decomposition = Decomposition()
        if recipe.propositionizer is not None:
            decomposition = await adecompose(passages, recipe.propositionizer, unsupported=recipe.unsupported)
        units = await asyncio.to_thread(assemble, passages, decomposition.units, recipe.granularities)
        await asyncio.to_thread(_put, store, batch, units, await _aencode(store, units), decomposition, counts)
        total += decomposition.report
    removed = 0 if sources is None else await asyncio.to_thread(sources.delete_others, store)
    return _report(counts, total, removed)


def assemble(
    passages: Sequence[Unit], propositions: Sequence[Unit], granularities: Sequence[Granularity]
) -> list[Unit]:
    """Return passages with the units under them, each id once; parents come before their children.

    A passage without a unit of a wanted granularity, such as a table, is its own child at that granularity, so that searches at
    it also find the passage.
    """
    units = {unit.id: unit for unit in passages}
    for kind in (Granularity.SENTENCE, Granularity.PROPOSITION):
        if kind not in granularities:
            continue
        children = propositions
        if kind is Granularity.SENTENCE:
            children = [sentence for passage in passages for sentence in split_sentences(passage)]
        units |= {unit.id: unit for unit in children}
        parents = {unit.parent_id for unit in children}
        childless = (passage for passage in passages if passage.id not in parents)
        units |= {unit.id: unit for passage in childless for unit in own_children(passage, [kind])}
    return list(units.values())


def own_children(passage: Unit, granularities: Sequence[Granularity]) -> list[Unit]:
    """Return a passage as a unit under itself at each of these granularities except its own; none for white space."""
    return [
        replace(child_unit(passage, passage.text, kind, passage.start, passage.end), visible=passage.visible)
        for kind in granularities
        if kind is not passage.granularity and passage.text.strip()
    ]


def whole_passage(document: Document) -> Unit:
    """Return a document as one passage."""
    passage = child_unit(document, document.text, Granularity.PASSAGE, 0, len(document.text))
    return replace(passage, visible=seen_text(document.text, document.metadata))


def encode(store: UnitStore, units: Sequence[Unit], others: Container[int] = ()) -> dict[int, Vectors]:
    """Return the vector of each searched unit, and of others, by position. Shape: (dim,).

    Raises:
        EncoderMismatchError: The encoder did not return one vector for each text.
    """
    places = _places(store, units, others)
    return _by_position(places, store.encoder.encode_units(list(places))) if store.encoder and places else {}


def lone_units(store: UnitStore, units: Sequence[Unit]) -> set[int]:
    """Return the positions of units without which a store of propositions or sentences would not find a passage at all.

    These are passages without a searched unit among the units, and units of granularities that are not searched whose passage is
    neither among the units nor stored.
    """
    if not {Granularity.SENTENCE, Granularity.PROPOSITION} & {*store.granularities}:
        return set()
    passages = {unit.id for unit in units if unit.granularity is Granularity.PASSAGE}
    represented = {unit.parent_id for unit in units if store.searches(unit)}
    others = [(place, unit) for place, unit in enumerate(units) if unit.text.strip() and not store.searches(unit)]
    above = {unit.parent_id for _, unit in others if unit.granularity is not Granularity.PASSAGE}
    stored = {unit.id for unit in store.get(sorted(above - passages))}
    lone = set()
    for place, unit in others:
        if unit.granularity is Granularity.PASSAGE:
            is_lone = unit.id not in represented
        else:
            is_lone = unit.parent_id not in passages | stored
        if is_lone:
            lone.add(place)
    return lone


async def _aencode(store: UnitStore, units: Sequence[Unit]) -> dict[int, Vectors]:
    if not isinstance(store.encoder, AsyncEncoder):
        return await asyncio.to_thread(encode, store, units)
    places = await asyncio.to_thread(_places, store, units)
    return _by_position(places, await store.encoder.aencode_units(list(places))) if places else {}


def _changed(
    store: UnitStore,
    documents: Iterable[Document],
    recipe: Recipe,
    counts: Counter[str],
    sources: Sources | None,
    *,
    show_progress: bool,
) -> Iterator[list[Split]]:
    """Yield batches of the documents that are not stored as given, and count the others."""
    for batch in _batches(documents, recipe, sources, show_progress=show_progress):
        changed = store.changed(batch)
        counts["unchanged"] += len(batch) - len(changed)
        if changed:
            yield changed


def _batches(
    documents: Iterable[Document], recipe: Recipe, sources: Sources | None, *, show_progress: bool
) -> Iterator[list[Split]]:
    batch: dict[str, Split] = {}
    size = 0
    if isinstance(documents, Document):
        raise InvalidInputError("expected a list of documents, got a single one")
    for document in progress(documents, show=show_progress, unit=" documents"):
        if not isinstance(document, Document):
            raise InvalidInputError(f"expected factoid.Document, got {type(document).__name__}")
        if sources is not None:
            sources.note(document)
        sizes = {"words": recipe.words, "min_words": recipe.min_words}
        passages = split_passages(document, **sizes, sentences=recipe.sentences)
        if not passages and document.text.strip():
            passages = [whole_passage(document)]  # only headings or front matter: it can still be found
        split = Split(document, recipe.digest(document), passages)
        if batch.get(document.id, split).digest != split.digest:
            logger.warning("two documents have the id %r: the later one replaces the other", document.id)
        batch[document.id] = split
        size += len(passages)
        if size >= _BATCH:
            yield list(batch.values())
            batch, size = {}, 0
    if batch:
        yield list(batch.values())


def _put(
    store: UnitStore,
    batch: Sequence[Split],
    units: Sequence[Unit],
    vectors: Mapping[int, Vectors],
    decomposition: Decomposition,
    counts: Counter[str],
) -> None:
    # A document with a passage that failed, but might succeed on another try, is not skipped the next time.
    unfinished = {passage.document_id for passage in decomposition.retry}
    batch = [replace(split, digest="") if split.document.id in unfinished else split for split in batch]
    store.replace_documents(batch, units, vectors)
    counts["documents"] += len(batch)
    counts.update(unit.granularity for unit in units)


def _report(counts: Counter[str], decomposition: Report, removed: int) -> AddReport:
    units = {kind: counts[kind] for kind in GRANULARITIES} if counts["documents"] else {}
    return AddReport(counts["documents"], counts["unchanged"], units, decomposition, removed)


def _places(store: UnitStore, units: Sequence[Unit], others: Container[int] = ()) -> dict[str, list[int]]:
    """Return the distinct texts to encode, each with the positions of its units."""
    template = store.template  # read from the store once
    places: dict[str, list[int]] = {}
    for position, unit in enumerate(units):
        if position in others or store.searches(unit):
            places.setdefault(encoded_text(unit, template), []).append(position)
    if places and store.encoder is None:
        raise InvalidInputError("this store has no encoder: give the vectors, or give UnitStore an encoder")
    return places


def _by_position(places: Mapping[str, Sequence[int]], vectors: Vectors) -> dict[int, Vectors]:
    rows = zip(places.values(), to_matrix(vectors, len(places)), strict=True)
    return {position: vector for positions, vector in rows for position in positions}
