"""LangChain documents into a store: each is one passage, the parent of its sentences and propositions.

A LangChain document is what its user retrieves, so it is never cut. Passages of a hundred words are made inside it all
the same, since propositionizers and sentence rules want that size, with title and section; what comes of them is then
put under the document.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from langchain_core.documents import Document

from factoid.database import to_json
from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.propositions import Decomposition, Report
from factoid.split import split_passages, split_sentences
from factoid.store import UnitStore
from factoid.units import Document as CoreDocument
from factoid.units import Granularity, Unit, make_unit
from langchain_factoid.convert import check_count, to_core
from langchain_factoid.decomposer import Decomposer
from langchain_factoid.embeddings import EmbeddingsEncoder

_CHILDREN = (Granularity.SENTENCE, Granularity.PROPOSITION)


@dataclass(slots=True)
class Indexer:
    """What it takes to index documents: decompose, embed and store; and the account of the latest call that has ended."""

    store: UnitStore
    encoder: EmbeddingsEncoder
    decomposer: Decomposer
    last_report: Report | None = None

    def add(self, documents: Sequence[Document], ids: Sequence[str | None] | None, *, batch_size: int) -> list[str]:
        """Add documents batch by batch; return one id for each."""
        given = checked(documents, ids)
        report = Report()
        for batch in _batches(given, batch_size):
            passages = _passages(batch)
            propositions = self.decomposer.decompose(passages) if self._decomposes else Decomposition()
            report += propositions.report
            units = families(batch, passages, propositions.units, self.store.granularities)
            texts = [unit.text for unit in units if self.store.searches(unit)]
            self._put(units, self.encoder.encode_units(texts))
        self.last_report = report
        return [document.id for document in given]

    async def aadd(
        self, documents: Sequence[Document], ids: Sequence[str | None] | None, *, batch_size: int
    ) -> list[str]:
        """Do as `add`, without blocking the event loop."""
        given = await asyncio.to_thread(checked, documents, ids)
        report = Report()
        for batch in _batches(given, batch_size):
            passages = await asyncio.to_thread(_passages, batch)
            propositions = await self.decomposer.adecompose(passages) if self._decomposes else Decomposition()
            report += propositions.report
            units = await asyncio.to_thread(families, batch, passages, propositions.units, self.store.granularities)
            texts = [unit.text for unit in units if self.store.searches(unit)]
            await asyncio.to_thread(self._put, units, await self.encoder.aencode_units(texts))
        self.last_report = report
        return [document.id for document in given]

    @property
    def _decomposes(self) -> bool:
        return Granularity.PROPOSITION in self.store.granularities

    def _put(self, units: Sequence[Unit], vectors: Vectors) -> None:
        each = iter(vectors)
        self.store.add(units, vectors=[next(each) if self.store.searches(unit) else None for unit in units])


def checked(documents: Sequence[Document], ids: Sequence[str | None] | None) -> list[CoreDocument]:
    """Return documents as the core takes them, or refuse them before any work is done.

    Raises:
        InvalidInputError: Not documents, another number of ids, lone surrogates, or metadata that JSON would change.
    """
    documents = list(documents)
    given = [
        to_core(document, own) for document, own in zip(documents, check_count("ids", ids, len(documents)), strict=True)
    ]
    for document in given:
        to_json(document.metadata)
    return given


def families(
    documents: Sequence[CoreDocument],
    passages: Sequence[Unit],
    propositions: Sequence[Unit],
    granularities: Sequence[Granularity],
) -> list[Unit]:
    """Return documents as passage units, each followed by its children of the granularities wanted.

    A document without any child of a granularity, for example one that is all front matter, is its own child there, so
    that it can be found; one of white space only has no children.

    Args:
        documents: With distinct ids.
        passages: What lies inside the documents.
        propositions: Propositions of these passages.
        granularities: Kinds of units wanted.
    """
    sentences = [unit for passage in passages for unit in split_sentences(passage)]
    below: dict[tuple[str, Granularity], dict[str, Unit]] = defaultdict(dict)
    for unit in (*sentences, *propositions):
        below[unit.document_id, unit.granularity][unit.id] = replace(unit, parent_id=unit.document_id)
    titles = {passage.document_id: passage.title for passage in passages}
    units = []
    for document in documents:
        title = titles.get(document.id, document.title)
        units.append(replace(_whole(document, Granularity.PASSAGE, title), id=document.id))
        for kind in _CHILDREN:
            if kind in granularities and document.text.strip():
                units += below[document.id, kind].values() or [_whole(document, kind, title)]
    return units


def _whole(document: CoreDocument, granularity: Granularity, title: str) -> Unit:
    """Return all of a document as one unit."""
    return make_unit(
        document.text,
        granularity,
        document_id=document.id,
        parent_id=document.id,
        start=0,
        end=len(document.text),
        title=title,
        section=document.section,
        metadata=document.metadata,
    )


def _passages(documents: Sequence[CoreDocument]) -> list[Unit]:
    return [passage for document in documents for passage in split_passages(document)]


def _batches(documents: Sequence[CoreDocument], size: int) -> Iterator[list[CoreDocument]]:
    """Yield the documents in batches; of equal ids only the last document."""
    if size < 1:
        message = f"batch_size must be at least 1, got {size}"
        raise InvalidInputError(message)
    distinct = list({document.id: document for document in documents}.values())
    for start in range(0, len(distinct), size):
        yield distinct[start : start + size]
