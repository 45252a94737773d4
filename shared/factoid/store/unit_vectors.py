r"""Make the vectors of the units that are added: each text encoded once, and none that is known.

A sentence or proposition is encoded as a text under its heading; with late chunking, as a part of
its passage, in one pass with it. Then its span in the document becomes one in the text that the
encoder reads, by way of two other texts. Here for the sentence "It is old.":

    in            text                                     span
    the document  # Pisa\n\nThe tower *leans*. It is old.  [27, 37)
    the source    The tower *leans*. It is old.            [19, 29)  the passage as written
    what is seen  The tower leans. It is old.              [17, 27)  the passage as a reader sees it
    the encoded   Pisa: The tower leans. It is old.        [23, 33)  its heading, and what is seen
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factoid.encode import AsyncEncoder, Encoder, Vectors, span_encoder, to_matrix
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.heading_template import encoded_text, placed_text, seen_unit
from factoid.split import sentences_in, visible_text
from factoid.store.database.snapshot import INCOMPLETE, NO_DIGEST
from factoid.store.opened import OpenedStore
from factoid.units import Granularity, Unit

_TEXTS = 2048  # encoded in one call of the encoder


# The text that is encoded for a passage, and the passage's own: passages with equal ones are alike
# to the encoder.
PassageTexts = tuple[str, str]


class TextPart(NamedTuple):
    """What a vector stands for: an encoded text, or a part of it. Equal parts have equal vectors.

    Attributes:
        text: What the encoder reads: a unit, or the passage around it, under its heading.
        source: Text of the passage, if the unit is encoded as a part of it; else "".
        start, end: Span of the unit in the source. `_spans` finds it in `text`, where it differs:
            the heading comes before it, and only what a reader sees of the source is encoded.
    """

    text: str
    source: str = ""
    start: int = 0
    end: int = 0

    @property
    def passage_texts(self) -> PassageTexts:
        """Both texts of the passage around the unit."""
        return self.text, self.source


class _Plan(NamedTuple):
    """Which parts are to be encoded, each with the positions of its units, and their passages."""

    positions: dict[TextPart, list[int]]
    passages: dict[PassageTexts, Unit]  # around units that are parts


def encode(
    store: OpenedStore,
    units: Sequence[Unit],
    others: Container[int] = (),
    *,
    known: Mapping[TextPart, Vectors] = MappingProxyType({}),
    on_progress: Callable[..., None] | None = None,
) -> dict[int, Vectors]:
    """Return the vector of each searched unit, and of others, by position.

    Equal texts are encoded once. Shape: (dim,).

    Args:
        store: The store.
        units: The units.
        others: Positions of units that are encoded, too, though they are not searched.
        known: Vectors that need not be made again.
        on_progress: Called with the number of `texts` each time that some were encoded.

    Raises:
        InvalidInputError: There is something to encode, and no encoder, or it cannot encode parts
            of a text as late chunking needs.
        EncoderMismatchError: The encoder did not return one vector for each text.
    """
    plan = _plan(store, units, others)
    vectors = dict(known)
    for block in _new_texts(plan.positions, known):
        vectors |= _encoded(store, block, plan.passages)
        if on_progress is not None:
            on_progress(texts=len(block))
    return _by_position(plan.positions, vectors)


async def aencode(
    store: OpenedStore,
    units: Sequence[Unit],
    known: Mapping[TextPart, Vectors],
    on_progress: Callable[..., None],
) -> dict[int, Vectors]:
    """Do the same as `encode` without blocking the event loop."""
    if store.late_chunking or not isinstance(store.encoder, AsyncEncoder):
        return await asyncio.to_thread(encode, store, units, known=known, on_progress=on_progress)
    plan = await asyncio.to_thread(_plan, store, units)
    vectors = dict(known)
    for block in _new_texts(plan.positions, known):
        encoded = await store.encoder.aencode_units(list(block))
        vectors |= _by_whole_text(block, encoded)
        on_progress(texts=len(block))
    return _by_position(plan.positions, vectors)


def reusable_vectors(store: OpenedStore, document_ids: Sequence[str]) -> dict[TextPart, Vectors]:
    """Return the vectors of earlier versions of some documents, by what they are made of.

    Only what `add_documents` added counts, by an encoder that has a name: another one may have made
    the other vectors.
    """
    if store.identity["encoder"] is None:
        return {}
    stored: list[Unit] = []
    vectors: list[Vectors | None] = []
    with store.connections.reading() as snapshot:
        complete = []
        for document_id, digest in snapshot.digests(document_ids).items():
            if digest not in (NO_DIGEST, INCOMPLETE):
                complete.append(document_id)
        if complete:
            for unit, vector in snapshot.stored_units(complete):
                stored.append(unit)
                vectors.append(vector)
    reusable: dict[TextPart, Vectors] = {}
    for part, positions in _parts(store, stored, range(len(stored))).positions.items():
        for position in positions:
            vector = vectors[position]
            if vector is not None:
                reusable[part] = vector
    return reusable


# -- What is encoded --


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


def _plan(store: OpenedStore, units: Sequence[Unit], others: Container[int] = ()) -> _Plan:
    wanted = []
    for position, unit in enumerate(units):
        if position in others or store.encodes(unit):
            wanted.append(position)
    if wanted:
        encoder_of(store)  # a missing one is an error even where all vectors are known
    return _parts(store, units, wanted)


def _parts(store: OpenedStore, units: Sequence[Unit], wanted: Iterable[int]) -> _Plan:
    """Return what the vectors of some units are made of."""
    template = store.template  # read from the store once
    passages: dict[str, Unit] = {}
    if store.late_chunking:
        passages = _passages(store, units)
    plan = _Plan({}, {})
    texts: dict[str, str] = {}  # of passages, by id
    for position in wanted:
        unit = units[position]
        part = TextPart(encoded_text(unit, template))
        passage = passages.get(unit.parent_id)
        if passage is not None and _is_part(unit, passage):
            if passage.id not in texts:
                texts[passage.id] = encoded_text(passage, template)
            text = texts[passage.id]
            is_whole = part.text == text  # a passage that is its own child has the passage's vector
            if not is_whole:
                start = unit.start - passage.start
                end = unit.end - passage.start
                part = TextPart(text, passage.text, start, end)
                plan.passages.setdefault(part.passage_texts, passage)
        plan.positions.setdefault(part, []).append(position)
    return plan


def _passages(store: OpenedStore, units: Sequence[Unit]) -> dict[str, Unit]:
    """Return the passages of units, among them or stored, by id."""
    passages = {}
    missing = set()
    for unit in units:
        if unit.granularity is Granularity.PASSAGE:
            passages[unit.id] = unit
        else:
            missing.add(unit.parent_id)
    missing -= passages.keys()
    if missing:
        with store.connections.reading() as snapshot:
            for unit in snapshot.units_by_id(sorted(missing)):
                if unit.granularity is Granularity.PASSAGE:
                    passages[unit.id] = unit
    return passages


def _is_part(unit: Unit, passage: Unit) -> bool:
    """Return whether a unit lies in a passage, which it may name although it does not."""
    return (
        unit.granularity is not Granularity.PASSAGE
        and unit.document_id == passage.document_id
        and passage.start <= unit.start < unit.end <= passage.end
    )


def _new_texts(
    parts: Iterable[TextPart], known: Container[TextPart]
) -> Iterator[dict[str, list[TextPart]]]:
    """Yield the texts that are encoded for parts that are not known, each with these parts.

    They come in lots for one call of an encoder.
    """
    texts: dict[str, list[TextPart]] = {}
    for part in parts:
        if part not in known:
            texts.setdefault(part.text, []).append(part)
    names = list(texts)
    for start in range(0, len(names), _TEXTS):
        yield {text: texts[text] for text in names[start : start + _TEXTS]}


# -- Vectors --


def encoder_of(store: OpenedStore) -> Encoder:
    """Return the encoder of a store.

    Raises:
        InvalidInputError: It has none.
    """
    if store.encoder is None:
        raise InvalidInputError(
            "this store has no encoder: give the vectors, or give UnitStore an encoder"
        )
    return store.encoder


def _encoded(
    store: OpenedStore,
    texts: Mapping[str, Sequence[TextPart]],
    passages: Mapping[PassageTexts, Unit],
) -> dict[TextPart, Vectors]:
    """Return the vectors of the parts of some texts."""
    whole_texts = {}
    divided_texts = {}
    for text, parts in texts.items():
        if any(part.source for part in parts):
            divided_texts[text] = parts
        else:
            whole_texts[text] = parts
    vectors: dict[TextPart, Vectors] = {}
    if whole_texts:
        encoded = encoder_of(store).encode_units(list(whole_texts))
        vectors |= _by_whole_text(whole_texts, encoded)
    if divided_texts:
        vectors |= _pooled(store, divided_texts, passages)
    return vectors


def _by_whole_text(
    texts: Mapping[str, Sequence[TextPart]], encoded: Vectors
) -> dict[TextPart, Vectors]:
    """Return the vectors of whole texts by their only part."""
    vectors = to_matrix(encoded, len(texts))
    return {parts[0]: vector for parts, vector in zip(texts.values(), vectors, strict=True)}


def _pooled(
    store: OpenedStore,
    texts: Mapping[str, Sequence[TextPart]],
    passages: Mapping[PassageTexts, Unit],
) -> dict[TextPart, Vectors]:
    """Return the vectors of parts of texts."""
    template = store.template
    spans = [_spans(parts, passages, template) for parts in texts.values()]
    encoded = span_encoder(encoder_of(store)).encode_spans(list(texts), spans)
    if len(encoded) != len(texts):
        raise EncoderMismatchError(
            f"encode_spans returned vectors of {len(encoded)} texts for {len(texts)}"
        )
    vectors: dict[TextPart, Vectors] = {}
    for parts, matrix in zip(texts.values(), encoded, strict=True):
        whole, *of_parts = to_matrix(matrix, 1 + len(parts))
        for part, vector in zip(parts, of_parts, strict=True):
            if part.source:
                vectors[part] = vector
            else:
                vectors[part] = whole
    return vectors


def _spans(
    parts: Sequence[TextPart], passages: Mapping[PassageTexts, Unit], template: str
) -> list[tuple[int, int]]:
    """Return the spans of units in the text that is encoded for their passage, from the source.

    One is empty for the passage itself, and for what no reader sees of it. See the module.
    """
    spans = []
    # By source: where what is seen begins in the encoded text, and where each of its characters is
    # in the source.
    seen_texts: dict[str, tuple[int, NDArray[np.int64]]] = {}
    for part in parts:
        if not part.source:
            spans.append((0, 0))
            continue
        if part.source not in seen_texts:
            passage = passages[part.passage_texts]
            _, seen_start = placed_text(seen_unit(passage), template)
            source_places = _document_places(passage) - passage.start
            seen_texts[part.source] = seen_start, source_places
        seen_start, source_places = seen_texts[part.source]
        is_in_part = (source_places >= part.start) & (source_places < part.end)
        seen = np.flatnonzero(is_in_part)
        span = (0, 0)
        if len(seen):
            span = (seen_start + int(seen[0]), seen_start + int(seen[-1]) + 1)
        spans.append(span)
    return spans


def _document_places(passage: Unit) -> NDArray[np.int64]:
    """Return the place in the document of each character that a reader sees of a passage.

    It is -1 for what is written between, as the names of a table's columns, and for all where the
    passage's `visible` is not what is read of its text. Shape: (characters of `search_text`,).
    """
    seen = passage.search_text
    if not passage.visible:
        return np.arange(passage.start, passage.start + len(seen))
    sentences = sentences_in(passage)
    places = np.full(len(seen), -1, np.int64)
    if visible_text(sentences) == seen:
        at = 0
        if sentences and sentences[0].block.kind == "row":
            at = len(" | ".join(sentences[0].block.names))
        for sentence in sentences:  # in order, with white space between
            at = seen.index(sentence.visible.text, at)
            offsets = sentence.visible.offsets
            places[at : at + len(offsets)] = offsets
            at += len(offsets)
    return places


def _by_position(
    positions: Mapping[TextPart, Sequence[int]], vectors: Mapping[TextPart, Vectors]
) -> dict[int, Vectors]:
    by_position: dict[int, Vectors] = {}
    for part, places in positions.items():
        for place in places:
            by_position[place] = vectors[part]
    return by_position
