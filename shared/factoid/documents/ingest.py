"""Clean documents into a store, with summaries of their tables as further ways to find a table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factoid.documents.boxes import LAYOUT
from factoid.documents.document import LayoutDocument, PartKind
from factoid.documents.summarize import SummaryReport
from factoid.errors import InvalidInputError
from factoid.ingest import AddReport
from factoid.propositions.decompose import LINES, PROPOSITIONS
from factoid.split import split_passages
from factoid.units import Document, Granularity, Unit, make_unit

if TYPE_CHECKING:
    from factoid.store import UnitStore

KINDS: tuple[PartKind, ...] = ("text", "table", "figure", "reference")
SUMMARY = "table summary"  # metadata["kind"] of a summary


def add_layout(
    store: UnitStore,
    document: LayoutDocument,
    *,
    kinds: Iterable[PartKind] = KINDS,
    summaries: SummaryReport | None = None,
    metadata: Mapping[str, Any] | None = None,
    **options: Any,
) -> AddReport:
    """Add the parts of a clean document to a store: sections, tables, figures and references.

    A table is a document of sentences about its values, which are propositions as they stand. A summary is one more proposition
    of the table's first passage, which holds the caption: who finds it gets the table. Its metadata says that it is generated
    (`generated_by`, `finish_reason`), and nothing is drawn from it.

    Args:
        store: The store.
        document: As `clean` returns it.
        kinds: Which parts to add.
        summaries: Of `document.tables`, in their order.
        metadata: More metadata for all parts, such as the file's name. Two files with equal parts need different ones.
        options: Those of `UnitStore.add_documents`.

    Raises:
        InvalidInputError: Another number of summaries than of tables, or an option that is out of range.
        StoreError: The store is closed or read-only, or the disk refuses.
    """
    documents = document.documents(kinds, metadata=metadata)
    units = _summary_units(document, summaries, documents, options)
    report = store.add_documents(documents, **options)
    store.add(units)
    return report + _added(units)


async def aadd_layout(
    store: UnitStore,
    document: LayoutDocument,
    *,
    kinds: Iterable[PartKind] = KINDS,
    summaries: SummaryReport | None = None,
    metadata: Mapping[str, Any] | None = None,
    **options: Any,
) -> AddReport:
    """Do as `add_layout`, without blocking the event loop."""
    documents = await asyncio.to_thread(document.documents, kinds, metadata=metadata)
    units = await asyncio.to_thread(_summary_units, document, summaries, documents, options)
    report = await store.aadd_documents(documents, **options)
    await asyncio.to_thread(store.add, units)
    return report + _added(units)


def _added(units: Sequence[Unit]) -> AddReport:
    return AddReport(units={Granularity.PROPOSITION: len(units)} if units else {})


def summary_documents(document: LayoutDocument, summaries: SummaryReport, tables: Iterable[Document]) -> list[Document]:
    """Return the summaries of tables as documents of their own, for stores that look a table up by `table_id`.

    Args:
        document: The document of the tables.
        summaries: Of `document.tables`, in their order.
        tables: The documents of the tables, as `document.documents` returns them.

    Returns:
        A document for each summary that did not fail. Its metadata are those of the table's document, without `layout`, with
        `table_id` (that document's id), `generated_by` and `finish_reason`.

    Raises:
        InvalidInputError: Another number of summaries than of tables.
    """
    return [
        Document(text, table.title, table.section, metadata=facts)
        for text, table, facts in _summaries(document, summaries, tables)
    ]


def _summaries(
    document: LayoutDocument, summaries: SummaryReport, documents: Iterable[Document]
) -> list[tuple[str, Document, dict[str, Any]]]:
    count, expected = len(summaries.summaries), len(document.tables)
    if count != expected:
        message = (
            f"got {count} summaries for {expected} tables: give those of TableSummarizer.summarize(document.tables)"
        )
        raise InvalidInputError(message)
    by_number = {part.metadata["table"]: part for part in documents if part.metadata.get("kind") == "table"}
    made = []
    for summary in summaries.summaries:
        table = by_number.get(summary.table)
        if summary.text and table:
            facts: dict[str, Any] = {key: value for key, value in table.metadata.items() if key != LAYOUT}
            facts |= {"kind": SUMMARY, PROPOSITIONS: LINES, "table_id": table.id}
            facts |= {"generated_by": summary.generated_by, "finish_reason": summary.finish_reason}
            made.append((summary.text, table, facts))
    return made


def _summary_units(
    document: LayoutDocument,
    summaries: SummaryReport | None,
    documents: Iterable[Document],
    options: Mapping[str, Any],
) -> list[Unit]:
    """Return summaries as propositions of the whole table, under its first passage."""
    cut = {key: options[key] for key in ("words", "min_words") if key in options}
    return [
        make_unit(
            text,
            Granularity.PROPOSITION,
            document_id=table.id,
            parent_id=split_passages(table, **cut)[0].id,
            start=0,
            end=len(table.text),
            title=table.title,
            section=table.section,
            metadata=facts | {key: table.metadata[key] for key in (LAYOUT,) if key in table.metadata},
        )
        for text, table, facts in (_summaries(document, summaries, documents) if summaries else [])
    ]
