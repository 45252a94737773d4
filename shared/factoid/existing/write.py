"""Write documents and their units into a store of any make, and take them out again.

Documents go through the steps of `factoid.store.ingest`: one way in. A document's own row names the
rows of its units, with those that it had before, until these are gone: whenever a process is
killed, the next call finds all that there is to replace.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from factoid.encode import AsyncEncoder, Encoder, to_matrix
from factoid.errors import InvalidInputError, StoreFormatError
from factoid.existing.collection import Collection, Put, Remove, Steps
from factoid.existing.contract import (
    DOCUMENT,
    GRANULARITY,
    KEYS,
    PASSAGE,
    Row,
    StoredDocument,
    document_row_id,
    document_rows,
    row_id,
    to_document,
    to_unit,
    unit_row,
)
from factoid.existing.search import stored_documents
from factoid.existing.words import Words
from factoid.filters import Comparison, Operator
from factoid.progress import progress_bar
from factoid.propositions import Decomposition, Propositionizer, Report, adecompose, decompose
from factoid.propositions.decompose import Policy
from factoid.store.document_units import assemble, split_document
from factoid.store.ingest import AddReport, blocks_of
from factoid.store.recipe import Recipe
from factoid.units import Document, Granularity, Unit

_BATCH = 64  # documents that are written together

logger = logging.getLogger(__name__)


# -- Requests besides those to the store --


@dataclass(frozen=True, slots=True)
class Decompose:
    """Ask for the propositions of passages."""

    passages: Sequence[Unit]
    propositionizer: Propositionizer
    unsupported: Policy

    def run(self, _collection: Collection) -> Decomposition:
        """Return them."""
        return decompose(self.passages, self.propositionizer, unsupported=self.unsupported)

    async def arun(self, _collection: Collection) -> Decomposition:
        """Return them without blocking the event loop."""
        return await adecompose(self.passages, self.propositionizer, unsupported=self.unsupported)


@dataclass(frozen=True, slots=True)
class Encode:
    """Ask for the rows with their vectors; equal texts are encoded once."""

    rows: Sequence[Row]
    encoder: Encoder

    def run(self, _collection: Collection) -> list[Row]:
        """Return the rows."""
        texts = self._texts()
        return self._with_vectors(texts, self.encoder.encode_units(texts))

    async def arun(self, collection: Collection) -> list[Row]:
        """Return the rows without blocking the event loop."""
        if not isinstance(self.encoder, AsyncEncoder):
            return await asyncio.to_thread(self.run, collection)
        texts = self._texts()
        return self._with_vectors(texts, await self.encoder.aencode_units(texts))

    def _texts(self) -> list[str]:
        missing = [row.text for row in self.rows if row.vector is None]
        return list(dict.fromkeys(missing))

    def _with_vectors(self, texts: Sequence[str], encoded: Any) -> list[Row]:
        vectors = {}
        if texts:
            vectors = dict(zip(texts, to_matrix(encoded, len(texts)).tolist(), strict=True))
        rows = []
        for row in self.rows:
            if row.vector is None:
                row = replace(row, vector=vectors[row.text])
            rows.append(row)
        return rows


# -- Adding --


@dataclass(frozen=True, slots=True)
class Writer:
    """How documents are written into one store."""

    recipe: Recipe
    lists: bool  # whether the store takes lists among metadata
    encoder: Encoder | None = None  # None where the store embeds texts itself
    words: Words | None = None  # kept in step, if they were read


def add(
    writer: Writer, documents: Iterable[Document], progress: bool | None = None
) -> Steps[AddReport]:
    """Split, decompose, encode and write documents, some at a time.

    A document replaces the one with its id. One that has not changed is skipped.
    """
    counts: Counter[str] = Counter()
    total = Report()
    with progress_bar(show=progress, unit=" documents", total=None, desc="adding") as bar:
        for batch in _batches(documents):
            digests = {document.id: writer.recipe.digest(document) for document in batch}
            stored = yield from known_documents(list(digests))
            changed = []
            for document in batch:
                before = stored.get(document.id)
                if before is not None and before.digest == digests[document.id]:
                    counts["unchanged"] += 1
                else:
                    changed.append(document)
            passages: list[Unit] = []
            for document in changed:
                passages += split_document(document, writer.recipe)
            decomposition = Decomposition()
            propositionizer = writer.recipe.propositionizer
            if propositionizer is not None:
                for block in blocks_of(passages):
                    decomposition += yield Decompose(
                        block, propositionizer, writer.recipe.unsupported
                    )
            units = assemble(passages, decomposition.units, writer.recipe.granularities)
            unfinished = {passage.document_id for passage in decomposition.transient_failures}
            finished = {}
            for name, digest in digests.items():
                finished[name] = "" if name in unfinished else digest
            yield from put_documents(writer, changed, units, finished, stored)
            counts["documents"] += len(changed)
            counts.update(unit.granularity for unit in units)
            total += decomposition.report
            bar.update(len(batch))
    by_kind: Mapping[Granularity, int] = {}
    if counts["documents"]:
        by_kind = {kind: counts[kind] for kind in Granularity if kind is not Granularity.DOCUMENT}
    return AddReport(counts["documents"], counts["unchanged"], by_kind, total)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    if isinstance(documents, Document):
        raise InvalidInputError("expected a list of documents, got a single one")
    batch: dict[str, Document] = {}
    for document in documents:
        if not isinstance(document, Document):
            raise InvalidInputError(f"expected factoid.Document, got {type(document).__name__}")
        if document.id in batch:
            logger.warning(
                "two documents have the id %r: the later one replaces the other", document.id
            )
        batch[document.id] = document
        if len(batch) == _BATCH:
            yield list(batch.values())
            batch = {}
    if batch:
        yield list(batch.values())


def known_documents(ids: Sequence[str]) -> Steps[dict[str, StoredDocument]]:
    """Return stored documents by id; one whose rows are not whole counts as unknown."""
    try:
        documents = yield from stored_documents(ids)
    except StoreFormatError:
        documents = {}
        for document_id in ids:
            try:
                documents |= yield from stored_documents([document_id])
            except StoreFormatError as error:
                logger.warning("%s", error)
    return documents


def put_documents(
    writer: Writer,
    documents: Sequence[Document],
    units: Sequence[Unit],
    digests: Mapping[str, str],
    before: Mapping[str, StoredDocument],
    vectors: Mapping[str, Sequence[float]] | None = None,
) -> Steps[None]:
    """Write documents with their units in place of those that they had.

    Args:
        writer: How they are written.
        documents: The documents.
        units: All units of theirs.
        digests: What tells whether a document has changed, by id.
        before: The documents that they replace, by id.
        vectors: Of units, by id, that need not be encoded.
    """
    template = writer.recipe.template
    passages: Counter[str] = Counter()
    for unit in units:
        if unit.granularity is Granularity.PASSAGE:
            passages[unit.document_id] += 1
    rows: dict[str, list[Row]] = {document.id: [] for document in documents}
    for unit in units:
        row = unit_row(unit, passages[unit.document_id], template=template, lists=writer.lists)
        if vectors is not None and unit.id in vectors:
            row = replace(row, vector=vectors[unit.id])
        rows[unit.document_id].append(row)

    # -- First what the documents will have and had, so that nothing can be left behind --
    opened: list[Row] = []
    closed: list[Row] = []
    stale: list[str] = []
    for document in documents:
        ids = list(dict.fromkeys(row.id for row in rows[document.id]))
        earlier: list[str] = []
        if document.id in before:
            old = before[document.id]
            earlier = [name for name in old.unit_ids if name not in {*ids}]
            old_rows = document_rows(old)
            now = document_rows(StoredDocument(document, digests[document.id], ids))
            stale += [row.id for row in old_rows[len(now) :]]
        stale += earlier
        begun = StoredDocument(document, "", [*ids, *earlier])
        ended = StoredDocument(document, digests[document.id], ids)
        vector = _first_vector(rows[document.id])
        for stored, into in ((begun, opened), (ended, closed)):
            for row in document_rows(stored, lists=writer.lists):
                into.append(replace(row, vector=vector))
    yield from _put(writer, opened)

    # -- Then the units, and what is no longer there --
    all_rows: dict[str, Row] = {}
    for of_document in rows.values():
        all_rows |= {row.id: row for row in of_document}
    yield from _put(writer, list(all_rows.values()))
    extra = {row.id for row in opened} - {row.id for row in closed}
    yield Remove(list(dict.fromkeys([*stale, *sorted(extra)])))
    yield from _put(writer, closed)
    if writer.words is not None:
        of_passages = []
        for row in all_rows.values():
            if row.metadata[GRANULARITY] == Granularity.PASSAGE.value:
                of_passages.append(row)
        writer.words.replace_documents(list(rows), of_passages)


def _first_vector(rows: Sequence[Row]) -> Sequence[float] | None:
    """Return the vector that a document's own rows have: they are never searched by it."""
    for row in rows:
        if row.vector is not None:
            return row.vector
    return None


def _put(writer: Writer, rows: Sequence[Row]) -> Steps[None]:
    if rows and writer.encoder is not None:
        rows = yield Encode(rows, writer.encoder)
    yield Put(rows)


# -- Deleting --


def delete(ids: Sequence[str], words: Words | None) -> Steps[int]:
    """Delete documents with all their units; unknown ids are ignored. Return how many there were.

    The document's own row goes last, so that an interrupted call can be repeated.
    """
    documents = yield from stored_documents(ids)
    units: list[str] = []
    row_ids: list[str] = []
    for name, stored in documents.items():
        units += stored.unit_ids
        for number in range(len(document_rows(stored))):
            row_ids.append(document_row_id(name, number))
    yield Remove(units)
    yield Remove(row_ids)
    if words is not None:
        words.replace_documents(list(documents), [])
    return len(documents)


# -- Checking --


def verify(collection: Collection) -> list[str]:
    """Return what does not follow the metadata contract, one sentence each; [] if all is well.

    Raises:
        InvalidInputError: The store cannot list its rows.
    """
    problems = []
    seen: dict[str, Row] = {}
    parts: dict[str, list[Row]] = {}
    condition = Comparison(GRANULARITY, Operator.IN, [kind.value for kind in Granularity])
    for row in collection.scan(condition):
        kind = row.metadata.get(GRANULARITY)
        if not kind:
            continue  # of the user's own
        missing = sorted(KEYS - row.metadata.keys())
        if missing:
            problems.append(f"row {row.id}: it has no {', '.join(missing)}")
            continue
        if kind == Granularity.DOCUMENT.value:
            parts.setdefault(str(row.metadata[DOCUMENT]), []).append(row)
            continue
        try:
            to_unit(row)
        except (StoreFormatError, InvalidInputError) as error:
            problems.append(str(error))
            continue
        seen[row.id] = row
    named: set[str] = set()
    for document_id, rows in parts.items():
        try:
            stored = to_document(rows)
        except StoreFormatError as error:
            problems.append(str(error))
            continue
        if not stored.digest:
            problems.append(
                f"document {document_id!r}: it was not written to its end: add it again"
            )
        absent = [name for name in stored.unit_ids if name not in seen]
        if absent:
            problems.append(f"document {document_id!r}: {len(absent)} of its units are missing")
        named.update(stored.unit_ids)
    for name, row in seen.items():
        if row_id(str(row.metadata[PASSAGE])) not in seen:
            problems.append(f"row {name}: its passage {row.metadata[PASSAGE]!r} is missing")
        if name not in named:
            problems.append(f"row {name}: no document names it, {row.metadata[DOCUMENT]!r} should")
    return problems
