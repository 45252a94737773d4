"""Clean LangChain documents from the output of document intelligence, with tables and their summaries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.runnables import Runnable
from typing_extensions import override

from factoid.documents import CleaningOptions, LayoutDocument, Region, clean, read_layout
from factoid.documents.boxes import regions_in
from factoid.documents.document import KINDS, PartKind
from factoid.documents.ingest import parts_with_summaries
from factoid.documents.read import Loaded, read_loaded
from factoid.documents.summarize import SUMMARIES, SummaryReport
from factoid.documents.summarize import TableSummarizer as CoreTableSummarizer
from factoid.errors import InvalidInputError
from factoid.propositions.cache import Cache
from langchain_factoid.chat_model import ChatModelPropositionizer
from langchain_factoid.convert import stored_document


class TableSummarizer(CoreTableSummarizer, BaseDocumentTransformer):
    """Summarizes tables like `factoid.documents.TableSummarizer`, with a LangChain chat model or a runnable around one.

    Options are those of `ChatModelPropositionizer`, and `prompt`.
    """

    def __init__(self, llm: Runnable[Any, Any], *, cache: Cache = None, **options: Any) -> None:
        super().__init__(ChatModelPropositionizer(llm, task=SUMMARIES, **options), cache=cache)

    @override
    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return each loaded document, cleaned, with `table_count` and `table_summaries` in its metadata.

        Summaries are plain strings, in the order of the tables, "" where one failed (`table_summary_failures` says why).
        """
        return [_whole(loaded, self.summarize(loaded.document.tables)) for loaded in _read(documents)]

    @override
    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Do the same as `transform_documents`, and await the model."""
        return [
            _whole(loaded, await self.asummarize(loaded.document.tables))
            for loaded in await asyncio.to_thread(_read, documents)
        ]


class DocumentIntelligenceTransformer(BaseDocumentTransformer):
    """Turns the output of document intelligence into clean documents: sections, tables and figures.

    Takes the output of LangChain's `AzureAIDocumentIntelligenceLoader` in every mode, raw results (`transform_result`), and
    Markdown of other converters, such as Docling, Unstructured and pymupdf4llm. Parts are those of `LayoutDocument.documents`.

    Args:
        options: The cleaning rules; None for all of them.
        kinds: Which parts to return, some of "text", "table", "figure" and "reference", which is left out by default.
        summarizer: Gives each table a document of the kind "table summary" behind it, with the table's id under `doc_id`, as
            LangChain's `MultiVectorRetriever` wants it.

    Raises:
        InvalidInputError: On use, if a document's metadata holds a damaged result.
    """

    def __init__(
        self,
        *,
        options: CleaningOptions | None = None,
        kinds: Iterable[PartKind] = KINDS,
        summarizer: TableSummarizer | None = None,
    ) -> None:
        if summarizer is not None and not isinstance(summarizer, TableSummarizer):
            raise InvalidInputError(f"expected a langchain_factoid.TableSummarizer, got {type(summarizer).__name__}")
        self._options, self._kinds, self._summarizer = options, tuple(kinds), summarizer

    @override
    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the parts of loaded documents, in order."""
        parts = []
        for loaded in _read(documents, self._options):
            parts += self._parts(loaded.document, loaded.metadata, self._summarize(loaded.document))
        return parts

    @override
    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Do the same as `transform_documents`, and await the model of the summarizer."""
        parts: list[Document] = []
        for loaded in await asyncio.to_thread(_read, documents, self._options):
            tables = loaded.document.tables
            summaries = await self._summarizer.asummarize(tables) if self._summarizer else None
            parts += await asyncio.to_thread(self._parts, loaded.document, loaded.metadata, summaries)
        return parts

    def transform_result(
        self, result: str | PathLike[str] | Any, *, metadata: dict[str, Any] | None = None
    ) -> list[Document]:
        """Return the parts of a raw result: a JSON file, the parsed JSON, or an object of the service's package.

        Raises:
            UnreadableFileError: The file is missing, truncated or not JSON.
            InvalidInputError: The JSON is something else.
        """
        document = clean(read_layout(result), self._options)
        return self._parts(document, metadata or {}, self._summarize(document))

    def _summarize(self, document: LayoutDocument) -> SummaryReport | None:
        return self._summarizer.summarize(document.tables) if self._summarizer else None

    def _parts(
        self, document: LayoutDocument, metadata: dict[str, Any], summaries: SummaryReport | None
    ) -> list[Document]:
        documents = []
        for part, summary in parts_with_summaries(document, self._kinds, summaries, metadata):
            documents.append(stored_document(part))
            if summary:
                documents.append(stored_document(summary))
                documents[-1].metadata["doc_id"] = part.id
        return documents


def regions_of(document: Document) -> list[Region]:
    """Return where on the pages a part stands, or a unit of one that a splitter or search returned, line by line.

    Raises:
        InvalidInputError: The metadata is damaged.
    """
    start = document.metadata.get("start_index", 0)
    return regions_in(document.metadata, start, document.metadata.get("end_index", start + len(document.page_content)))


def _read(documents: Iterable[Document], options: CleaningOptions | None = None) -> list[Loaded]:
    pairs = []
    for document in documents:
        if not isinstance(document, Document):
            raise InvalidInputError(f"expected langchain_core.documents.Document, got {type(document).__name__}")
        pairs.append((document.page_content, document.metadata))
    return read_loaded(pairs, options)


def _whole(loaded: Loaded, summaries: SummaryReport) -> Document:
    title = {"title": loaded.document.title} if loaded.document.title else {}
    return Document(page_content=loaded.document.text, metadata=loaded.metadata | title | summaries.metadata())
