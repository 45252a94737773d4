"""Summarize tables with the caller's model.

A search finds the summary, and the reader gets its table.
A summary is generated text and may be wrong: it is marked as such, and nothing is drawn from it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from factoid.documents.document import (
    KINDS,
    SUMMARY,
    LayoutDocument,
    PartKind,
    SummaryReport,
)
from factoid.documents.tables import Table
from factoid.errors import InvalidInputError
from factoid.split import split_passages
from factoid.store.ingest import AddReport
from factoid.units import Document, Granularity, Unit, child_unit

if TYPE_CHECKING:
    from factoid.store import UnitStore

PROMPT = (
    "Summarize the table below in two to five sentences, for somebody who searches for what "
    "it says. Tell what it is about, what\nits rows and columns are, and its most important "
    "values with what they belong to. State only what the table says, and call a\nvalue the "
    "highest or lowest only after comparing it with all others of its column. Answer with "
    "the summary alone."
)

logger = logging.getLogger(__name__)


def summarize_tables(
    tables: Sequence[Table],
    model: Callable[[str], str | None],
    *,
    prompt: str = PROMPT,
    max_concurrency: int = 8,
) -> SummaryReport:
    """Ask a model for a summary of each table, several at a time.

    A table that fails loses only its own summary.

    Args:
        tables: The tables, as `clean(...).tables` holds them.
        model: A function from a prompt to an answer, None or "" for none. Retries and limits are
            its own.
        prompt: Instructions in place of factoid's own.
        max_concurrency: The number of threads that call the function.

    Raises:
        InvalidInputError: The function returns something other than a string.
    """

    def ask(text: str) -> object:
        try:
            if text:
                return model(text)
            return None
        except Exception as error:  # noqa: BLE001 - it is logged, and costs one table
            return error

    with ThreadPoolExecutor(max_concurrency) as pool:
        return _report(pool.map(ask, _prompts(tables, prompt)))


async def asummarize_tables(
    tables: Sequence[Table],
    model: Callable[[str], Awaitable[str | None]],
    *,
    prompt: str = PROMPT,
    max_concurrency: int = 8,
) -> SummaryReport:
    """Do the same as `summarize_tables` with a function that is awaited."""
    limit = asyncio.Semaphore(max_concurrency)

    async def ask(text: str) -> object:
        async with limit:
            if text:
                return await model(text)
            return None

    return _report(
        await asyncio.gather(*map(ask, _prompts(tables, prompt)), return_exceptions=True)
    )


def add_layout(
    store: UnitStore,
    document: LayoutDocument,
    *,
    kinds: Iterable[PartKind] = KINDS,
    summaries: SummaryReport | None = None,
    metadata: Mapping[str, Any] | None = None,
    **options: Any,
) -> AddReport:
    """Add the parts of a clean document to a store, with summaries as further ways to find a table.

    A summary is one more proposition of the table's first passage, which holds the caption: a
    search that finds it returns the table. Arguments are those of `LayoutDocument.documents`;
    options are those of `UnitStore.add_documents`.

    Raises:
        InvalidInputError: The numbers of summaries and tables differ, or an option is out of range.
        StoreError: The store is closed or read-only, or writing fails.
    """
    sizes = {}
    for key in ("words", "min_words"):
        if key in options:
            sizes[key] = options[key]
    parts: dict[str, Document] = {}
    units: list[Unit] = []
    for part in document.documents(kinds, metadata=metadata, summaries=summaries):
        if part.metadata["kind"] == SUMMARY:
            table = parts[part.metadata["table_id"]]
            unit = child_unit(
                split_passages(table, **sizes)[0],
                part.text,
                Granularity.PROPOSITION,
                0,
                len(table.text),
            )
            units.append(replace(unit, metadata=part.metadata))
        else:
            parts[part.id] = part
    report = store.add_documents(parts.values(), **options)
    store.add(units)
    kind = Granularity.PROPOSITION
    if units:
        return replace(report, units={**report.units, kind: report.units.get(kind, 0) + len(units)})
    return report


async def aadd_layout(store: UnitStore, document: LayoutDocument, **options: Any) -> AddReport:
    """Do the same as `add_layout` in a thread."""
    return await asyncio.to_thread(add_layout, store, document, **options)


def _prompts(tables: Sequence[Table], instructions: str) -> list[str]:
    """Return a prompt for each table, "" for one without text."""
    prompts = []
    for table in tables:
        places = (("Document", table.title), ("Section", table.section))
        place = "".join(f"{label}: {' '.join(text.split())}\n" for label, text in places if text)
        prompt = f"{instructions.rstrip()}\n\n{place}Table:\n\n{table.to_markdown()}\n\nSummary:"
        if not any(cell.text.strip() for cell in table.cells):
            prompt = ""
        prompts.append(prompt)
    return prompts


def _report(answers: Iterable[object]) -> SummaryReport:
    texts: list[str] = []
    failures: dict[int, str] = {}
    for place, answer in enumerate(answers):
        if isinstance(answer, Exception):
            logger.warning("a table has no summary", exc_info=answer)
            failures[place] = f"the model raised {type(answer).__name__}"
        elif not isinstance(answer, str | None):
            raise InvalidInputError(f"the model must return a string, got {type(answer).__name__}")
        text = ""
        if isinstance(answer, str):
            text = " ".join(answer.split())
        texts.append(text)
        if not text:
            failures.setdefault(place, "empty answer")
    return SummaryReport(tuple(texts), failures)
