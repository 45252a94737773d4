"""LangChain documents into a store: each is one passage, the parent of its sentences and propositions.

A LangChain document is what its user retrieves, so it is never cut. Passages of a hundred words are made inside it all
the same, since propositionizers and sentence rules want that size, with title and section; what comes of them is then
put under the document.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from langchain_core.documents import Document

from factoid.encode import Vectors
from factoid.errors import StoreError
from factoid.progress import Bar, progress_bar
from factoid.propositions import Decomposition, Report
from factoid.split import split_passages, split_sentences
from factoid.store import UnitStore
from factoid.units import Document as CoreDocument
from factoid.units import Granularity, Unit, make_unit
from langchain_factoid.decomposer import Decomposer
from langchain_factoid.embeddings import EmbeddingsEncoder
from langchain_factoid.streaming import batches, check

_CHILDREN = (Granularity.SENTENCE, Granularity.PROPOSITION)


@dataclass(slots=True)
class Indexer:
    """What it takes to index documents: decompose, embed and store; and the account of the latest call that has ended."""

    store: UnitStore
    encoder: EmbeddingsEncoder
    decomposer: Decomposer
    last_report: Report | None = None

    def add(
        self,
        documents: Iterable[Document],
        ids: Iterable[str | None] | None,
        *,
        batch_size: int,
        show_progress: bool = False,
    ) -> list[str]:
        """Add documents batch by batch; return one id for each."""
        self._check_writable()
        check(documents, ids)
        given, report = [], Report()
        with _bar(documents, show_progress) as bar:
            for batch in batches(documents, ids, batch_size):
                distinct = _distinct(batch)
                passages = _passages(distinct)
                propositions = self.decomposer.decompose(passages) if self._decomposes else Decomposition()
                units = families(distinct, passages, propositions.units, self.store.granularities)
                texts = [unit.text for unit in units if self.store.searches(unit)]
                self._put(units, self.encoder.encode_units(texts))
                report += propositions.report
                given += [document.id for document in batch]
                bar.update(len(batch))
        self.last_report = report
        return given

    async def aadd(
        self,
        documents: Iterable[Document],
        ids: Iterable[str | None] | None,
        *,
        batch_size: int,
        show_progress: bool = False,
    ) -> list[str]:
        """Do as `add`, without blocking the event loop: the documents are read in threads, too."""
        self._check_writable()
        await asyncio.to_thread(check, documents, ids)
        given, report = [], Report()
        coming = batches(documents, ids, batch_size)
        with _bar(documents, show_progress) as bar:
            while batch := await asyncio.to_thread(next, coming, None):
                distinct = _distinct(batch)
                passages = await asyncio.to_thread(_passages, distinct)
                propositions = await self.decomposer.adecompose(passages) if self._decomposes else Decomposition()
                units = await asyncio.to_thread(
                    families, distinct, passages, propositions.units, self.store.granularities
                )
                texts = [unit.text for unit in units if self.store.searches(unit)]
                await asyncio.to_thread(self._put, units, await self.encoder.aencode_units(texts))
                report += propositions.report
                given += [document.id for document in batch]
                bar.update(len(batch))
        self.last_report = report
        return given

    @property
    def _decomposes(self) -> bool:
        return Granularity.PROPOSITION in self.store.granularities

    def _check_writable(self) -> None:
        """Refuse before anything is decomposed and embedded in vain."""
        if self.store.read_only:
            message = f"the store at {self.store.path} was opened with read_only=True: open it without to add to it"
            raise StoreError(message)

    def _put(self, units: Sequence[Unit], vectors: Vectors) -> None:
        each = iter(vectors)
        self.store.add(units, vectors=[next(each) if self.store.searches(unit) else None for unit in units])


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
    sentences: list[Unit] = []
    if Granularity.SENTENCE in granularities:
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


def _distinct(documents: Sequence[CoreDocument]) -> list[CoreDocument]:
    """Of equal ids only the last document."""
    return list({document.id: document for document in documents}.values())


def _bar(documents: Iterable[Document], show: bool) -> Bar:
    total = len(documents) if isinstance(documents, Sequence) else None
    return progress_bar(show=show, unit=" documents", total=total)
