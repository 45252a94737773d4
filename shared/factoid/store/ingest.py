"""Put documents into a store.

Split, decompose, encode and commit them in bounded batches, sync and async.
"""

from __future__ import annotations

import asyncio
import logging
import operator
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from factoid.encode import EMBED_TEMPLATE, AsyncEncoder, Vectors, encoded_text, to_matrix
from factoid.errors import InvalidInputError
from factoid.progress import Progress, progress_bar
from factoid.propositions import Decomposition, Propositionizer, Report, adecompose, decompose
from factoid.propositions.decompose import Policy
from factoid.sources import Sources
from factoid.split import seen_text, split_passages, split_sentences
from factoid.text.sentence_ends import SentenceSplitter
from factoid.units import Document, Granularity, Unit, child_unit, content_id

if TYPE_CHECKING:
    from factoid.store import UnitStore

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)

# passages decomposed, encoded and committed together: the most that an interrupted call has to do
# again
_BATCH = 256
_TEXTS = 2048  # encoded in one call of the encoder

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `UnitStore.add_documents` did."""

    documents: int = 0  # added or replaced
    unchanged: int = 0  # already in the store as given, and left alone
    units: Mapping[Granularity, int] = field(default_factory=dict)  # added
    # what became of the passages in the propositionizer
    decomposition: Report = field(default_factory=Report)
    removed: int = 0  # earlier documents of the same sources, if `source_key` is set


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become units (see `UnitStore.add_documents`).

    Part of a document's digest, as it changes the result.
    """

    granularities: Sequence[Granularity]  # besides passages, which are always made
    propositionizer: Propositionizer | None = None  # None makes no propositions
    words: int = 100
    min_words: int = 50
    unsupported: Policy = "drop"
    template: str = EMBED_TEMPLATE
    sentences: SentenceSplitter | None = None  # None for the rules of `factoid.text.sentence_ends`

    def digest(self, document: Document) -> str:
        """Return a digest of a document and of this recipe."""
        content = [
            document.id,
            document.text,
            document.title,
            document.section,
            dict(document.metadata),
        ]
        name = getattr(self.propositionizer, "name", type(self.propositionizer).__qualname__)
        making = [
            list(self.granularities),
            name,
            self.words,
            self.min_words,
            self.unsupported,
            self.template,
        ]
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
    progress: bool | None = None,
) -> AddReport:
    """Split, decompose, encode and commit documents, as `UnitStore.add_documents` does.

    The last of equal ids in a batch wins.

    Raises:
        InvalidInputError: An item is not a `Document`.
        EncoderMismatchError: The encoder did not return one vector for each text.
    """
    counts: Counter[str] = Counter()
    total = Report()
    with _bar(documents, progress) as bar:
        for batch in _changed(store, documents, recipe, counts, sources):
            passages = [passage for split in batch for passage in split.passages]
            decomposition = Decomposition()
            for block, propositionizer in _blocks(passages, recipe):
                decomposition += decompose(block, propositionizer, unsupported=recipe.unsupported)
                _tell(bar, counts, passages=len(block))
            units = assemble(passages, decomposition.units, recipe.granularities)
            vectors = encode(
                store,
                units,
                known=store.reusable_vectors(batch),
                progress=partial(_tell, bar, counts),
            )
            _put(store, batch, units, vectors, decomposition, counts)
            total += decomposition.report
            bar.reach(counts["read"])
        bar.reach(counts["read"])  # also where the last ones had not changed
    removed = 0 if sources is None else sources.delete_others(store)
    return _report(counts, total, removed)


async def aingest(
    store: UnitStore,
    documents: Iterable[Document],
    recipe: Recipe,
    *,
    sources: Sources | None = None,
    progress: bool | None = None,
) -> AddReport:
    """Do the same as `ingest` without blocking the event loop.

    What cannot be awaited runs in threads.
    """
    counts: Counter[str] = Counter()
    total = Report()
    with _bar(documents, progress) as bar:
        batches = _changed(store, documents, recipe, counts, sources)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            passages = [passage for split in batch for passage in split.passages]
            decomposition = Decomposition()
            for block, propositionizer in _blocks(passages, recipe):
                decomposition += await adecompose(
                    block, propositionizer, unsupported=recipe.unsupported
                )
                _tell(bar, counts, passages=len(block))
            units = await asyncio.to_thread(
                assemble, passages, decomposition.units, recipe.granularities
            )
            known = await asyncio.to_thread(store.reusable_vectors, batch)
            vectors = await _aencode(store, units, known, partial(_tell, bar, counts))
            await asyncio.to_thread(_put, store, batch, units, vectors, decomposition, counts)
            total += decomposition.report
            bar.reach(counts["read"])
        bar.reach(counts["read"])  # also where the last ones had not changed
    removed = 0 if sources is None else await asyncio.to_thread(sources.delete_others, store)
    return _report(counts, total, removed)


def assemble(
    passages: Sequence[Unit], propositions: Sequence[Unit], granularities: Sequence[Granularity]
) -> list[Unit]:
    """Return passages with the units under them, each id once; parents come before their children.

    A passage without a unit of a wanted granularity, such as a table, is its own child at that
    granularity, so that searches at it also find the passage.
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
    """Return a passage as a unit under itself at each of these granularities except its own.

    None for white space.
    """
    return [
        replace(
            child_unit(passage, passage.text, kind, passage.start, passage.end),
            visible=passage.visible,
        )
        for kind in granularities
        if kind is not passage.granularity and passage.text.strip()
    ]


def whole_passage(document: Document) -> Unit:
    """Return a document as one passage."""
    passage = child_unit(document, document.text, Granularity.PASSAGE, 0, len(document.text))
    return replace(passage, visible=seen_text(document.text, document.metadata))


def encode(
    store: UnitStore,
    units: Sequence[Unit],
    others: Container[int] = (),
    *,
    known: Mapping[str, Vectors] = MappingProxyType({}),
    progress: Callable[..., None] | None = None,
) -> dict[int, Vectors]:
    """Return the vector of each searched unit, and of others, by position.

    Equal texts are encoded once. Shape: (dim,).

    Args:
        store: The store.
        units: The units.
        others: Positions of units that are encoded, too, though they are not searched.
        known: Vectors of texts that need not be encoded again.
        progress: Called with the number of `texts` each time that some were encoded.

    Raises:
        EncoderMismatchError: The encoder did not return one vector for each text.
    """
    places = _places(store, units, others)
    vectors = dict(known)
    for block in _new_texts(places, known):
        vectors |= zip(block, to_matrix(store.encoder.encode_units(block), len(block)), strict=True)  # type: ignore[union-attr]
        if progress is not None:
            progress(texts=len(block))
    return _by_position(places, vectors)


def lone_units(store: UnitStore, units: Sequence[Unit]) -> set[int]:
    """Return the positions of units without which a store of propositions or sentences would not find a passage at all.

    These are passages without a searched unit among the units, and units of granularities that are
    not searched whose passage is neither among the units nor stored.
    """
    if not {Granularity.SENTENCE, Granularity.PROPOSITION} & {*store.granularities}:
        return set()
    passages = {unit.id for unit in units if unit.granularity is Granularity.PASSAGE}
    represented = {unit.parent_id for unit in units if store.searches(unit)}
    others = [
        (place, unit)
        for place, unit in enumerate(units)
        if unit.text.strip() and not store.searches(unit)
    ]
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


async def _aencode(
    store: UnitStore,
    units: Sequence[Unit],
    known: Mapping[str, Vectors],
    progress: Callable[..., None],
) -> dict[int, Vectors]:
    if not isinstance(store.encoder, AsyncEncoder):
        return await asyncio.to_thread(encode, store, units, known=known, progress=progress)
    places = await asyncio.to_thread(_places, store, units)
    vectors = dict(known)
    for block in _new_texts(places, known):
        encoded = to_matrix(await store.encoder.aencode_units(block), len(block))
        vectors |= zip(block, encoded, strict=True)
        progress(texts=len(block))
    return _by_position(places, vectors)


def _new_texts(places: Iterable[str], known: Container[str]) -> Iterator[list[str]]:
    """Yield the texts that are not known, in lists for one call of an encoder."""
    texts = [text for text in places if text not in known]
    for start in range(0, len(texts), _TEXTS):
        yield texts[start : start + _TEXTS]


def _blocks(
    passages: Sequence[Unit], recipe: Recipe
) -> Iterator[tuple[Sequence[Unit], Propositionizer]]:
    """Yield the passages for one call of the propositionizer, and that.

    None if there is no propositionizer.
    """
    if recipe.propositionizer is not None:
        for start in range(0, len(passages), _BATCH):
            yield passages[start : start + _BATCH], recipe.propositionizer


def _bar(documents: Iterable[Document], progress: bool | None) -> Progress:
    """Return the progress over documents; lazy iterables may tell their length, too."""
    return progress_bar(
        show=progress,
        unit=" documents",
        total=operator.length_hint(documents) or None,
        desc="adding",
    )


def _tell(bar: Progress, counts: Counter[str], *, passages: int = 0, texts: int = 0) -> None:
    """Say what was done within a batch of documents."""
    counts["cut"] += passages
    counts["encoded"] += texts
    bar.reach(bar.done, f"{counts['cut']:,} passages, {counts['encoded']:,} texts encoded")


def _changed(
    store: UnitStore,
    documents: Iterable[Document],
    recipe: Recipe,
    counts: Counter[str],
    sources: Sources | None,
) -> Iterator[list[Split]]:
    """Yield batches of the documents that are not stored as given, and count the others, and all that were read."""
    for batch in _batches(documents, recipe, counts, sources):
        changed = store.changed(batch)
        counts["unchanged"] += len(batch) - len(changed)
        if changed:
            yield changed


def _batches(
    documents: Iterable[Document], recipe: Recipe, counts: Counter[str], sources: Sources | None
) -> Iterator[list[Split]]:
    batch: dict[str, Split] = {}
    size = 0
    if isinstance(documents, Document):
        raise InvalidInputError("expected a list of documents, got a single one")
    for document in documents:
        counts["read"] += 1
        if not isinstance(document, Document):
            raise InvalidInputError(f"expected factoid.Document, got {type(document).__name__}")
        if sources is not None:
            sources.note(document)
        sizes = {"words": recipe.words, "min_words": recipe.min_words}
        passages = split_passages(document, **sizes, sentences=recipe.sentences)
        if not passages and document.text.strip():
            # only headings or front matter: it can still be found
            passages = [whole_passage(document)]
        split = Split(document, recipe.digest(document), passages)
        if batch.get(document.id, split).digest != split.digest:
            logger.warning(
                "two documents have the id %r: the later one replaces the other", document.id
            )
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
    # A document with a passage that failed, but might succeed on another try, is not skipped the
    # next time.
    unfinished = {passage.document_id for passage in decomposition.retry}
    batch = [
        replace(split, digest="") if split.document.id in unfinished else split for split in batch
    ]
    store.replace_documents(batch, units, vectors)
    counts["documents"] += len(batch)
    counts.update(unit.granularity for unit in units)


def _report(counts: Counter[str], decomposition: Report, removed: int) -> AddReport:
    units = {kind: counts[kind] for kind in GRANULARITIES} if counts["documents"] else {}
    return AddReport(counts["documents"], counts["unchanged"], units, decomposition, removed)


def _places(
    store: UnitStore, units: Sequence[Unit], others: Container[int] = ()
) -> dict[str, list[int]]:
    """Return the distinct texts to encode, each with the positions of its units."""
    template = store.template  # read from the store once
    places: dict[str, list[int]] = {}
    for position, unit in enumerate(units):
        if position in others or store.searches(unit):
            places.setdefault(encoded_text(unit, template), []).append(position)
    if places and store.encoder is None:
        raise InvalidInputError(
            "this store has no encoder: give the vectors, or give UnitStore an encoder"
        )
    return places


def _by_position(
    places: Mapping[str, Sequence[int]], vectors: Mapping[str, Vectors]
) -> dict[int, Vectors]:
    return {position: vectors[text] for text, positions in places.items() for position in positions}
