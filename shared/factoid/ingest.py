"""Put documents into a store: split, decompose, encode and commit them in bounded batches, sync and async."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from factoid.encode import EMBED_TEMPLATE, AsyncEncoder, Encoder, Vectors, to_matrix, with_heading
from factoid.errors import InvalidInputError
from factoid.progress import progress
from factoid.propositions import Decomposition, Propositionizer, Report, adecompose, decompose
from factoid.propositions.decompose import Policy
from factoid.split import split_passages, split_sentences
from factoid.units import Document, Granularity, Unit, child_unit, content_id

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)

_BATCH = 256  # passages decomposed, encoded and committed together: the most that an interrupted call has to do again

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `UnitStore.add_documents` did. Reports can be added."""

    documents: int = 0  # added or replaced
    unchanged: int = 0  # already in the store as given, and left alone
    units: Mapping[Granularity, int] = field(default_factory=dict)  # added
    decomposition: Report = field(default_factory=Report)  # what became of the passages in the propositionizer

    def __add__(self, other: AddReport) -> AddReport:
        kinds = [kind for kind in Granularity if kind in self.units or kind in other.units]
        return AddReport(
            self.documents + other.documents,
            self.unchanged + other.unchanged,
            {kind: self.units.get(kind, 0) + other.units.get(kind, 0) for kind in kinds},
            self.decomposition + other.decomposition,
        )


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents become units (see `UnitStore.add_documents`). Part of a document's digest, as it changes the result."""

    granularities: Sequence[Granularity]  # besides passages, which are always made
    propositionizer: Propositionizer | None = None  # None makes no propositions
    words: int = 100
    min_words: int = 50
    unsupported: Policy = "drop"
    embed_template: str = EMBED_TEMPLATE

    def digest(self, document: Document) -> str:
        """Return a digest of a document and of this recipe."""
        content = [document.id, document.text, document.title, document.section, dict(document.metadata)]
        name = getattr(self.propositionizer, "name", type(self.propositionizer).__qualname__)
        making = [list(self.granularities), name, self.words, self.min_words, self.unsupported, self.embed_template]
        return content_id(*content, *making)


@dataclass(frozen=True, slots=True)
class Split:
    """A document, the digest of its content and recipe, and its passages."""

    document: Document
    digest: str
    passages: list[Unit]


class Target(Protocol):
    """The destination of documents: a `UnitStore`."""

    encoder: Encoder | None

    @property
    def embed_template(self) -> str:
        """The template of the text that is encoded for a unit."""

    def searches(self, unit: Unit) -> bool:
        """Return whether a unit is encoded."""

    def changed(self, batch: Sequence[Split]) -> list[Split]:
        """Return the documents that are not stored as given."""

    def replace_documents(self, batch: Sequence[Split], units: Sequence[Unit], vectors: Mapping[int, Vectors]) -> None:
        """Replace documents by these, with their units and the vectors of units by position."""


def ingest(target: Target, documents: Iterable[Document], recipe: Recipe, *, show_progress: bool = False) -> AddReport:
    """Split, decompose, encode and commit documents, as `UnitStore.add_documents` does; the last of equal ids in a batch wins.

    Raises:
        InvalidInputError: An item is not a `Document`.
        EncoderMismatchError: The encoder did not return one vector for each text.
    """
    total = AddReport()
    for batch in _batches(documents, recipe, show_progress=show_progress):
        changed = target.changed(batch)
        if changed:
            passages = [passage for split in changed for passage in split.passages]
            decomposition = Decomposition()
            if recipe.propositionizer is not None:
                decomposition = decompose(passages, recipe.propositionizer, unsupported=recipe.unsupported)
            units = assemble(passages, decomposition.units, recipe.granularities)
            total += _put(target, changed, units, encode(target, units), decomposition)
        total += AddReport(unchanged=len(batch) - len(changed))
    return total


async def aingest(
    target: Target, documents: Iterable[Document], recipe: Recipe, *, show_progress: bool = False
) -> AddReport:
    """Do the same as `ingest` without blocking the event loop: what cannot be awaited runs in threads."""
    total = AddReport()
    batches = _batches(documents, recipe, show_progress=show_progress)
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        changed = await asyncio.to_thread(target.changed, batch)
        if changed:
            passages = [passage for split in changed for passage in split.passages]
            decomposition = Decomposition()
            if recipe.propositionizer is not None:
                decomposition = await adecompose(passages, recipe.propositionizer, unsupported=recipe.unsupported)
            units = await asyncio.to_thread(assemble, passages, decomposition.units, recipe.granularities)
            vectors = await _aencode(target, units)
            total += await asyncio.to_thread(_put, target, changed, units, vectors, decomposition)
        total += AddReport(unchanged=len(batch) - len(changed))
    return total


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
        child_unit(passage, passage.text, kind, passage.start, passage.end)
        for kind in granularities
        if kind is not passage.granularity and passage.text.strip()
    ]


def whole_passage(document: Document) -> Unit:
    """Return a document as one passage."""
    return child_unit(document, document.text, Granularity.PASSAGE, 0, len(document.text))


def encode(target: Target, units: Sequence[Unit]) -> dict[int, Vectors]:
    """Return the vector of each searched unit by position; raise if the encoder does not return one each. Shape: (dim,)."""
    places = _places(target, units)
    if not places:
        return {}
    if target.encoder is None:
        raise InvalidInputError("this store has no encoder: give the vectors, or give UnitStore an encoder")
    return _by_position(places, target.encoder.encode_units(list(places)))


async def _aencode(target: Target, units: Sequence[Unit]) -> dict[int, Vectors]:
    if not isinstance(target.encoder, AsyncEncoder):
        return await asyncio.to_thread(encode, target, units)
    places = await asyncio.to_thread(_places, target, units)
    return _by_position(places, await target.encoder.aencode_units(list(places))) if places else {}


def _batches(documents: Iterable[Document], recipe: Recipe, *, show_progress: bool) -> Iterator[list[Split]]:
    batch: dict[str, Split] = {}
    size = 0
    if isinstance(documents, Document):
        raise InvalidInputError("expected a list of documents, got a single one")
    for document in progress(documents, show=show_progress, unit=" documents"):
        if not isinstance(document, Document):
            raise InvalidInputError(f"expected factoid.Document, got {type(document).__name__}")
        passages = split_passages(document, words=recipe.words, min_words=recipe.min_words)
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
    target: Target,
    batch: Sequence[Split],
    units: Sequence[Unit],
    vectors: Mapping[int, Vectors],
    decomposition: Decomposition,
) -> AddReport:
    # A document with a passage that failed, but might succeed on another try, is not skipped the next time.
    unfinished = {passage.document_id for passage in decomposition.retry}
    batch = [replace(split, digest="") if split.document.id in unfinished else split for split in batch]
    target.replace_documents(batch, units, vectors)
    counts = Counter([unit.granularity for unit in units])
    return AddReport(len(batch), 0, {kind: counts[kind] for kind in GRANULARITIES}, decomposition.report)


def _places(target: Target, units: Sequence[Unit]) -> dict[str, list[int]]:
    """Return the distinct texts to encode, each with the positions of its units."""
    template = target.embed_template  # read from the store once
    places: dict[str, list[int]] = {}
    for position, unit in enumerate(units):
        if target.searches(unit):
            places.setdefault(with_heading(unit, template), []).append(position)
    return places


def _by_position(places: Mapping[str, Sequence[int]], vectors: Vectors) -> dict[int, Vectors]:
    rows = zip(places.values(), to_matrix(vectors, len(places)), strict=True)
    return {position: vector for positions, vector in rows for position in positions}
