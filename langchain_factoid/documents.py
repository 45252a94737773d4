"""Clean LangChain documents from the output of document intelligence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import Runnable
from typing_extensions import override

from factoid.framework import (
    DEFAULT_LIMITS,
    PART_KINDS,
    LayoutDocument,
    Loaded,
    PartKind,
    ReadLimits,
    Region,
    SummaryReport,
    asummarize_tables,
    check_list,
    clean_layout,
    read_layout,
    read_loaded,
    regions_in,
    summarize_tables,
)
from langchain_factoid.convert import stored_document


class DocumentIntelligenceTransformer(BaseDocumentTransformer):
    """Turns the output of document intelligence into clean documents: sections, tables and figures.

    Takes the output of LangChain's `AzureAIDocumentIntelligenceLoader` in every mode, raw results
    (`transform_result`), and Markdown of other converters, such as Docling, Unstructured and
    pymupdf4llm. Parts are those of `LayoutDocument.documents`.

    Args:
        without: Names of cleaning rules that are not applied.
        kinds: Which parts to return, some of "text", "table", "figure" and "reference", which is
            left out by default.
        summarizer: A chat model that gives each table a document of the kind "table summary" behind
            it, with the table's id under `table_id`, for LangChain's `MultiVectorRetriever`. A
            table for which the model raises has none; a log says so.
        whole: Return one document for each result, with its tables as Markdown, and their number in
            `metadata["table_count"]`; with a summarizer their summaries are the strings of
            `metadata["table_summaries"]`, in order.
        limits: Of the files that `transform_result` reads.

    Raises:
        InvalidInputError: On use, if a document's metadata holds a damaged result, or there is no
            such rule.
    """

    def __init__(
        self,
        *,
        without: Iterable[str] = (),
        kinds: Iterable[PartKind] = PART_KINDS,
        summarizer: Runnable[Any, Any] | None = None,
        whole: bool = False,
        limits: ReadLimits = DEFAULT_LIMITS,
    ) -> None:
        self._limits = limits
        self._without = tuple(without)
        self._kinds = tuple(kinds)
        self._whole = whole
        self._summarizer = summarizer | StrOutputParser() if summarizer is not None else None

    @override
    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the parts of loaded documents, in order."""
        parts: list[Document] = []
        for loaded in self._read(documents):
            parts += self._parts(loaded.document, loaded.metadata, self._summarize(loaded.document))
        return parts

    @override
    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> list[Document]:
        """Do the same as `transform_documents`, and await the model of the summarizer."""
        parts: list[Document] = []
        for loaded in await asyncio.to_thread(self._read, documents):
            model = self._summarizer
            tables = loaded.document.tables
            summaries = await asummarize_tables(tables, model.ainvoke) if model else None
            parts += await asyncio.to_thread(
                self._parts, loaded.document, loaded.metadata, summaries
            )
        return parts

    def transform_result(
        self, result: str | PathLike[str] | Any, *, metadata: dict[str, Any] | None = None
    ) -> list[Document]:
        """Return the parts of a raw result.

        It is a JSON file, the parsed JSON, or an object of the service's package.
        """
        document = clean_layout(read_layout(result, limits=self._limits), without=self._without)
        return self._parts(document, metadata or {}, self._summarize(document))

    def _read(self, documents: Iterable[Document]) -> list[Loaded]:
        check_list(documents, "documents", Document)
        return read_loaded(
            ((document.page_content, document.metadata) for document in documents), self._without
        )

    def _summarize(self, document: LayoutDocument) -> SummaryReport | None:
        if self._summarizer:
            return summarize_tables(document.tables, self._summarizer.invoke)
        return None

    def _parts(
        self, document: LayoutDocument, metadata: Mapping[str, Any], summaries: SummaryReport | None
    ) -> list[Document]:
        if self._whole:
            parts = [document.whole_document(self._kinds, metadata=metadata, summaries=summaries)]
        else:
            parts = document.documents(self._kinds, metadata=metadata, summaries=summaries)
        return list(map(stored_document, parts))


def regions_of(document: Document) -> list[Region]:
    """Return where on the pages a part stands, line by line.

    Of a unit that a splitter or search returned it is the place of the unit.
    """
    start = document.metadata.get("start_index", 0)
    return regions_in(
        document.metadata,
        start,
        document.metadata.get("end_index", start + len(document.page_content)),
    )
