"""Move documents with their units and vectors between a `UnitStore` and a vector store.

Both ways, some documents at a time. A document that is there as it is here is skipped, so that an
interrupted move goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError
from factoid.existing.collection import run
from factoid.existing.contract import DOCUMENT, GRANULARITY, PART, StoredDocument, is_unit, to_unit
from factoid.existing.search import stored_documents
from factoid.existing.store import ExistingStore
from factoid.existing.write import put_documents
from factoid.filters import All, Comparison, Operator
from factoid.heading_template import encoded_text
from factoid.progress import progress_bar
from factoid.store.document_units import SplitDocument
from factoid.store.ingest import replace_documents
from factoid.store.unit_store import UnitStore
from factoid.store.unit_vectors import TextPart, encode, lone_units
from factoid.units import Document, Granularity, Unit, content_id

_BATCH = 64  # documents that are moved together

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move did."""

    documents: int = 0  # that were written
    unchanged: int = 0  # that were there as they are here
    units: int = 0  # that were written


def move_to(
    store: UnitStore, existing: ExistingStore, *, progress: bool | None = None
) -> MoveReport:
    """Copy all documents of a store into a vector store, with the vectors that they have.

    A unit without a vector is encoded by the vector store's encoder, and so are all if it takes
    texts only.

    Raises:
        EncoderMismatchError: The stores have different encoders.
    """
    _check_encoders(store, existing)
    with store.opened.connections.reading() as snapshot:
        ids: list[str] = snapshot.values("SELECT id FROM documents ORDER BY row")
    moved = unchanged = units = 0
    with progress_bar(show=progress, unit=" documents", total=len(ids), desc="moving") as bar:
        for batch in _batches(ids):
            documents, below, vectors, digests = _of_store(store, batch)
            there = run(stored_documents(batch), existing.collection)
            changed = []
            for document in documents:
                is_there = document.id in there
                if not is_there or there[document.id].digest != digests[document.id]:
                    changed.append(document)
            names = {document.id for document in changed}
            chosen = [unit for unit in below if unit.document_id in names]
            steps = put_documents(existing.writer, changed, chosen, digests, there, vectors)
            run(steps, existing.collection)
            moved += len(changed)
            unchanged += len(batch) - len(changed)
            units += len(chosen)
            bar.update(len(batch))
    return MoveReport(moved, unchanged, units)


def _of_store(
    store: UnitStore, ids: Sequence[str]
) -> tuple[list[Document], list[Unit], dict[str, Sequence[float]], dict[str, str]]:
    """Return documents of a store with their units, vectors by unit, and digests by document."""
    units = []
    vectors: dict[str, Sequence[float]] = {}
    with store.opened.connections.reading() as snapshot:
        known = snapshot.documents_by_id(ids)
        for unit, vector in snapshot.stored_units(ids):
            units.append(unit)
            if vector is not None:
                vectors[unit.id] = vector.tolist()
    documents = []
    digests = {}
    for document_id in ids:
        names = sorted(unit.id for unit in units if unit.document_id == document_id)
        # Nodes of a framework may be stored without the text of their document.
        document, digest = known.get(document_id, (Document("", id=document_id), ""))
        documents.append(document)
        digests[document_id] = digest or content_id("moved", document.text, *names)
    return documents, units, vectors, digests


def move_from(
    existing: ExistingStore, store: UnitStore, *, progress: bool | None = None
) -> MoveReport:
    """Copy all documents of a vector store that follow the contract into a store.

    Vectors come along where the vector store lists them; else the store's encoder makes them again.

    Raises:
        EncoderMismatchError: The stores have different encoders.
        InvalidInputError: The vector store cannot list its rows.
    """
    _check_encoders(store, existing)
    ids = _document_ids(existing)
    moved = unchanged = count = 0
    with progress_bar(show=progress, unit=" documents", total=len(ids), desc="moving") as bar:
        for batch in _batches(ids):
            there = run(stored_documents(batch), existing.collection)
            with store.opened.connections.reading() as snapshot:
                digests = snapshot.digests(batch)
            changed = {}
            for name, stored in there.items():
                if not stored.digest or digests.get(name) != stored.digest:
                    changed[name] = stored
            units, vectors = _of_collection(existing, changed)
            _write(store, changed, units, vectors)
            moved += len(changed)
            unchanged += len(batch) - len(changed)
            count += len(units)
            bar.update(len(batch))
    return MoveReport(moved, unchanged, count)


def _document_ids(existing: ExistingStore) -> list[str]:
    kind = Comparison(GRANULARITY, Operator.EQ, Granularity.DOCUMENT.value)
    ids = []
    for row in existing.collection.scan(kind):
        is_document = row.metadata.get(GRANULARITY) == Granularity.DOCUMENT.value
        if is_document and int(row.metadata[PART]) == 0:
            ids.append(str(row.metadata[DOCUMENT]))
    return ids


def _of_collection(
    existing: ExistingStore, documents: Mapping[str, StoredDocument]
) -> tuple[list[Unit], dict[str, Vectors]]:
    """Return the units of documents, parents first, and the vectors that the store lists."""
    if not documents:
        return [], {}
    kinds = [kind.value for kind in Granularity if kind is not Granularity.DOCUMENT]
    condition = All(
        (
            Comparison(GRANULARITY, Operator.IN, kinds),
            Comparison(DOCUMENT, Operator.IN, list(documents)),
        )
    )
    units: dict[str, Unit] = {}
    vectors: dict[str, Vectors] = {}
    for row in existing.collection.scan(condition):
        if not is_unit(row) or row.metadata[DOCUMENT] not in documents:
            continue
        unit = to_unit(row)
        units[unit.id] = unit
        if row.vector is not None:
            vectors[unit.id] = np.asarray(row.vector, np.float32)
    passages = [unit for unit in units.values() if unit.granularity is Granularity.PASSAGE]
    others = [unit for unit in units.values() if unit.granularity is not Granularity.PASSAGE]
    ordered = sorted(passages, key=_place) + sorted(others, key=_place)
    return ordered, vectors


def _place(unit: Unit) -> tuple[str, int, int, str]:
    return (unit.document_id, unit.start, unit.end, unit.id)


def _write(
    store: UnitStore,
    documents: Mapping[str, StoredDocument],
    units: Sequence[Unit],
    vectors: Mapping[str, Vectors],
) -> None:
    known = {}
    for unit in units:
        if unit.id in vectors:
            known[TextPart(encoded_text(unit, store.opened.template))] = vectors[unit.id]
    whole = []
    for stored in documents.values():
        if stored.document.text:
            whole.append(SplitDocument(stored.document, stored.digest, []))
    names = {split.document.id for split in whole}
    of_whole = [unit for unit in units if unit.document_id in names]
    others = [unit for unit in units if unit.document_id not in names]
    if whole:
        replace_documents(
            store.opened, whole, of_whole, encode(store.opened, of_whole, known=known)
        )
    if others:
        lone = lone_units(store.opened, others)
        by_position = encode(store.opened, others, lone, known=known)
        store.add(others, vectors=[by_position.get(place) for place in range(len(others))])


def _check_encoders(store: UnitStore, existing: ExistingStore) -> None:
    """Refuse to mix the vectors of two encoders."""
    here = store.opened.identity["encoder"]
    there = getattr(existing.encoder, "name", None)
    if here and there and here != there:
        raise EncoderMismatchError(
            f"the store was filled by the encoder {here!r}, and the vector store has {there!r}: "
            "their vectors cannot be compared. Add the documents again instead"
        )


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
