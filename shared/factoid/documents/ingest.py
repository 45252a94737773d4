"""Put clean documents into a store, with summaries of their tables as further ways to find a table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from factoid.documents.boxes import LAYOUT
from factoid.documents.document import KINDS, LayoutDocument, PartKind
from factoid.documents.summarize import SummaryReport
from factoid.errors import InvalidInputError
from factoid.ingest import AddReport
from factoid.split import split_passages
from factoid.units import LINES, PROPOSITIONS, Document, Granularity, Unit, make_unit

if TYPE_CHECKING:
    from factoid.store import UnitStore

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
    """Add the parts of a clean document to a store: sections, tables and figures.

    A table is a document of sentences about its values, which already are propositions. A summary is one more proposition of the
    table's first passage, which holds the caption: a search that finds it returns the table. Its metadata marks it as generated
    (`generated_by`, `finish_reason`), and nothing is drawn from it.

    Args:
        store: The store.
        document: The clean document.
        kinds: Which parts to add, some of "text", "table", "figure" and "reference", which is left out by default.
        summaries: Summaries of `document.tables`, in their order.
        metadata: More metadata for all parts, such as the file's name. Two files with equal parts need different metadata.
        options: The options of `UnitStore.add_documents`.

    Raises:
        InvalidInputError: The numbers of summaries and tables differ, or an option is out of range.
        StoreError: The store is closed or read-only, or writing fails.
    """
    parts, units = _parts_and_units(document, kinds, summaries, metadata, options)
    report = store.add_documents(parts, **options)
    store.add(units)
    return _with_units(report, units)


async def aadd_layout(
    store: UnitStore,
    document: LayoutDocument,
    *,
    kinds: Iterable[PartKind] = KINDS,
    summaries: SummaryReport | None = None,
    metadata: Mapping[str, Any] | None = None,
    **options: Any,
) -> AddReport:
    """Do the same as `add_layout` without blocking the event loop."""
    parts, units = await asyncio.to_thread(_parts_and_units, document, kinds, summaries, metadata, options)
    report = await store.aadd_documents(parts, **options)
    await asyncio.to_thread(store.add, units)
    return _with_units(report, units)


def summary_documents(document: LayoutDocument, summaries: SummaryReport, tables: Iterable[Document]) -> list[Document]:
    """Return the summaries of tables as documents of their own, for stores that look up a table by `table_id`.

    Their metadata is that of the table's document without `layout`, plus `table_id` (that document's id), `generated_by` and
    `finish_reason`. A failed summary has no document.

    Args:
        document: The document of the tables.
        summaries: Summaries of `document.tables`, in their order.
        tables: The documents of the tables, as `document.documents` returns them.

    Raises:
        InvalidInputError: The numbers of summaries and tables differ.
    """
    count, expected = len(summaries.summaries), len(document.tables)
    if count != expected:
        raise InvalidInputError(
            f"got {count} summaries for {expected} tables: give those of TableSummarizer.summarize(document.tables)"
        )
    by_number = {part.metadata["table"]: part for part in tables if part.metadata.get("kind") == "table"}
    documents = []
    for summary in summaries.summaries:
        table = by_number.get(summary.table)
        if summary.text and table:
            metadata = {key: value for key, value in table.metadata.items() if key != LAYOUT}
            metadata |= {"kind": SUMMARY, PROPOSITIONS: LINES, "table_id": table.id}
            metadata |= {"generated_by": summary.generated_by, "finish_reason": summary.finish_reason}
            documents.append(Document(summary.text, table.title, table.section, metadata=metadata))
    return documents


def parts_with_summaries(
    document: LayoutDocument,
    kinds: Iterable[PartKind],
    summaries: SummaryReport | None,
    metadata: Mapping[str, Any] | None = None,
) -> list[tuple[Document, Document | None]]:
    """Return the parts of a document, each with its summary if it is a table with one."""
    parts = document.documents(kinds, metadata=metadata)
    documents = summary_documents(document, summaries, parts) if summaries else []
    by_table = {summary.metadata["table_id"]: summary for summary in documents}
    return [(part, by_table.get(part.id)) for part in parts]


def _parts_and_units(
    document: LayoutDocument,
    kinds: Iterable[PartKind],
    summaries: SummaryReport | None,
    metadata: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> tuple[list[Document], list[Unit]]:
    """Return the parts, and summaries as propositions of the whole table, under its first passage."""
    pairs = parts_with_summaries(document, kinds, summaries, metadata)
    sizes = {key: options[key] for key in ("words", "min_words") if key in options}
    units = [
        make_unit(
            summary.text,
            Granularity.PROPOSITION,
            document_id=table.id,
            parent_id=split_passages(table, **sizes)[0].id,
            start=0,
            end=len(table.text),
            title=table.title,
            section=table.section,
            metadata={key: table.metadata[key] for key in (LAYOUT,) if key in table.metadata} | dict(summary.metadata),
        )
        for table, summary in pairs
        if summary
    ]
    return [part for part, _ in pairs], units


def _with_units(report: AddReport, units: Sequence[Unit]) -> AddReport:
    kind = Granularity.PROPOSITION
    return replace(report, units={**report.units, kind: report.units.get(kind, 0) + len(units)}) if units else report
