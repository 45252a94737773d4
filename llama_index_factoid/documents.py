"""Clean LlamaIndex documents from the output of document intelligence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from os import PathLike
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, Field
from llama_index.core.llms import LLM, CustomLLM
from llama_index.core.node_parser import NodeParser
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import (
    BaseNode,
    Document,
    IndexNode,
    NodeRelationship,
    NodeWithScore,
    TextNode,
)
from llama_index.core.utils import get_tqdm_iterable

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
    clean_layout,
    read_layout,
    read_loaded,
    regions_in,
    summarize_tables,
)
from factoid.framework import Document as CoreDocument
from llama_index_factoid.convert import span_of, text_of

# Hidden from models: places, and how factoid treats a part.
_HIDDEN = ["kind", "pages", "offset", "table", "table_id", "layout", "propositions"]
_HIDDEN += ["table_count", "table_summaries", "table_summary_failures"]


class DocumentIntelligenceReader(BaseReader):
    """Reads results of document intelligence into clean documents: sections, tables and figures.

    Parts are those of `LayoutDocument.documents`; models get title and section with the text.

    Args:
        without: Names of cleaning rules that are not applied.
        kinds: Which parts to return, some of "text", "table", "figure" and "reference", which is
            left out by default.
        summarizer: An LLM. Each table is followed by a document with a summary, as in
            `DocumentIntelligenceNodeParser`.
        whole: Return one document, with its tables as Markdown, and their number in
            `metadata["table_count"]`; with a summarizer their summaries are the strings of
            `metadata["table_summaries"]`, in order. Models are shown neither.
        limits: Of the files that are read.
    """

    def __init__(
        self,
        *,
        without: Iterable[str] = (),
        kinds: Iterable[PartKind] = PART_KINDS,
        summarizer: LLM | None = None,
        whole: bool = False,
        limits: ReadLimits = DEFAULT_LIMITS,
    ) -> None:
        self._limits = limits
        self._without = tuple(without)
        self._kinds = tuple(kinds)
        self._summarizer = summarizer
        self._whole = whole

    def load_data(
        self, result: str | PathLike[str] | Any, extra_info: dict[str, Any] | None = None
    ) -> list[Document]:
        """Return the parts of a result that `read_layout` reads.

        All have `extra_info` in their metadata.
        """
        document = clean_layout(read_layout(result, limits=self._limits), without=self._without)
        summaries = _summaries(document, self._summarizer)
        parts = _parts_of(document, self._kinds, extra_info, summaries, whole=self._whole)
        return [Document(**_fields(part)) for part in parts]


class DocumentIntelligenceNodeParser(NodeParser):
    """Cuts the output of document intelligence into clean nodes: sections, tables and figures.

    Takes raw results in the metadata of documents, pages of a loader, and Markdown, also of other
    converters; put it before `MultiGranularNodeParser` in a pipeline. SOURCE is the document, or
    the first page. Character indices are None, since cleaning moves characters: `regions_of` finds
    the places of nodes.

    Attributes:
        without: As for `DocumentIntelligenceReader`, like the next two.
        kinds: Which parts to return.
        whole: Return one document, with its tables as Markdown.
        summarizer: An LLM. Each table is followed by an `IndexNode` with a summary, which points at
            the table's node: a search finds the summary, and a `RecursiveRetriever` returns the
            table. If the LLM raises, a log says so, and there is none.

    The fields of the framework's `NodeParser` are options, too.

    Raises:
        InvalidInputError: On use, if a document's metadata holds a damaged result.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    without: tuple[str, ...] = ()
    kinds: tuple[PartKind, ...] = PART_KINDS
    whole: bool = False
    summarizer: LLM | None = Field(default=None, exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return cls.__name__

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any
    ) -> list[BaseNode]:
        parts = list[BaseNode]()
        for loaded in get_tqdm_iterable(self._read(nodes), show_progress, "Cleaning documents"):
            summaries = _summaries(loaded.document, self.summarizer)
            parts += self._parts(nodes[loaded.position], loaded, summaries)
        return parts

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any
    ) -> list[BaseNode]:
        llm = self.summarizer
        parts = list[BaseNode]()
        for loaded in get_tqdm_iterable(
            await asyncio.to_thread(self._read, nodes), show_progress, "Cleaning documents"
        ):
            tables = loaded.document.tables
            summaries = await asummarize_tables(tables, partial(_acomplete, llm)) if llm else None
            parts += await asyncio.to_thread(self._parts, nodes[loaded.position], loaded, summaries)
        return parts

    def _read(self, nodes: Sequence[BaseNode]) -> list[Loaded]:
        return read_loaded(((text_of(node), node.metadata) for node in nodes), self.without)

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        """Leave the nodes as they are.

        The framework would look for clean texts in the raw document.
        """
        del parent_doc_map
        return nodes

    def _parts(
        self, node: BaseNode, loaded: Loaded, summaries: SummaryReport | None
    ) -> list[BaseNode]:
        source = (node.source_node or node.as_related_node_info()).model_copy(
            update={"metadata": loaded.metadata}
        )
        parts: list[BaseNode] = []
        for part in _parts_of(
            loaded.document, self.kinds, loaded.metadata, summaries, whole=self.whole
        ):
            table = part.metadata.get("table_id")
            fields = _fields(part) | {"relationships": {NodeRelationship.SOURCE: source}}
            if table:
                parts.append(IndexNode(**fields, index_id=table))
            else:
                parts.append(TextNode(**fields))
        return parts


def regions_of(node: BaseNode | NodeWithScore) -> list[Region]:
    """Return where on the pages a node stands, or a unit of one, line by line.

    It is a node of the reader or of the node parser.
    """
    node = node.node if isinstance(node, NodeWithScore) else node
    return regions_in(node.metadata, *(span_of(node) or (0, 0)))


def _summaries(document: LayoutDocument, llm: LLM | None) -> SummaryReport | None:
    """Return the summaries of a document's tables, None without a model."""
    if llm is None:
        return None
    return summarize_tables(document.tables, lambda prompt: llm.complete(prompt).text)


def _parts_of(
    document: LayoutDocument,
    kinds: Sequence[PartKind],
    metadata: dict[str, Any] | None,
    summaries: SummaryReport | None,
    *,
    whole: bool,
) -> list[CoreDocument]:
    """Return the parts of a document, or all of them as one."""
    if whole:
        return [document.whole_document(kinds, metadata=metadata, summaries=summaries)]
    return document.documents(kinds, metadata=metadata, summaries=summaries)


async def _acomplete(llm: LLM, prompt: str) -> str:
    if type(llm).acomplete == CustomLLM.acomplete:  # which blocks the event loop
        return (await asyncio.to_thread(llm.complete, prompt)).text
    return (await llm.acomplete(prompt)).text


def _fields(part: CoreDocument) -> dict[str, Any]:
    metadata = dict(part.metadata)
    heading = {}
    for key, value in (("title", part.title), ("section", part.section)):
        if value:
            heading[key] = value
    hidden = [key for key in _HIDDEN if key in metadata]
    return {
        "id_": part.id,
        "text": part.text,
        "metadata": heading | metadata,
        "excluded_embed_metadata_keys": hidden,
        "excluded_llm_metadata_keys": hidden,
    }
