"""Clean LlamaIndex documents and nodes from the output of document intelligence, with tables and their summaries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, Field
from llama_index.core.llms import LLM
from llama_index.core.node_parser import NodeParser
from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import BaseNode, Document, IndexNode, NodeRelationship, NodeWithScore, TextNode
from llama_index.core.utils import get_tqdm_iterable

from factoid.documents import CleaningOptions, LayoutDocument, Region, clean, read_layout
from factoid.documents.boxes import LAYOUT, regions_in
from factoid.documents.document import KINDS, PartKind
from factoid.documents.ingest import parts_with_summaries
from factoid.documents.read import Loaded, read_loaded
from factoid.documents.summarize import SUMMARIES, SummaryReport
from factoid.documents.summarize import TableSummarizer as CoreTableSummarizer
from factoid.propositions.cache import Cache
from factoid.units import Document as CoreDocument
from llama_index_factoid.convert import span_of, text_of
from llama_index_factoid.llm import LLMPropositionizer

# Hidden from models: places, and how factoid treats a part.
_HIDDEN = ["kind", "pages", "offset", "table", "table_id", "layout", "propositions", "generated_by", "finish_reason"]


class TableSummarizer(CoreTableSummarizer):
    """Summarizes tables like `factoid.documents.TableSummarizer`, with a LlamaIndex LLM.

    Options are those of `LLMPropositionizer`, and `prompt`.
    """

    def __init__(self, llm: LLM, *, cache: Cache = None, **options: Any) -> None:
        super().__init__(LLMPropositionizer(llm, task=SUMMARIES, **options), cache=cache)


class DocumentIntelligenceReader(BaseReader):
    """Reads results of document intelligence into clean documents: sections, tables and figures.

    Parts are those of `LayoutDocument.documents`; models get title and section with the text.

    Args:
        options: The cleaning rules; None for all of them.
        kinds: Which parts to return, some of "text", "table", "figure" and "reference", which is left out by default.
    """

    def __init__(self, *, options: CleaningOptions | None = None, kinds: Iterable[PartKind] = KINDS) -> None:
        self._options, self._kinds = options, tuple(kinds)

    def load_data(self, result: str | PathLike[str] | Any, extra_info: dict[str, Any] | None = None) -> list[Document]:
        """Return the parts of a result that `factoid.documents.read_layout` reads, with `extra_info` in the metadata of all.

        Raises:
            UnreadableFileError: The file is missing, truncated or not JSON.
            InvalidInputError: The JSON is something else.
        """
        document = clean(read_layout(result), self._options)
        return [Document(**_fields(part)) for part in document.documents(self._kinds, metadata=extra_info)]


class DocumentIntelligenceNodeParser(NodeParser):
    """Cuts the output of document intelligence into clean nodes: sections, tables and figures.

    Takes raw results in the metadata of documents, pages of a loader, and Markdown, also of other converters; put it before
    `MultiGranularNodeParser` in a pipeline. SOURCE is the document, or the first page. Character indices count its text. They
    are None for tables, for parts in which cleaning moved characters, and for parts with boxes: `regions_of` finds these.

    Args:
        options, kinds: As for `DocumentIntelligenceReader`.
        summarizer: Adds an `IndexNode` with its summary after each table, which points at the table's node: a search finds the
            summary, and a `RecursiveRetriever` returns the table.
        fields: Those of the framework's `NodeParser`.

    Raises:
        InvalidInputError: On use, if a document's metadata holds a damaged result.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    options: CleaningOptions | None = Field(default=None, exclude=True)
    kinds: tuple[PartKind, ...] = KINDS
    summarizer: TableSummarizer | None = Field(default=None, exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which the framework saves this class."""
        return cls.__name__

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any) -> list[BaseNode]:
        parts: list[BaseNode] = []
        for loaded in get_tqdm_iterable(_read(nodes, self.options), show_progress, "Cleaning documents"):
            summaries = self.summarizer.summarize(loaded.document.tables) if self.summarizer else None
            parts += self._parts(nodes[loaded.position], loaded, summaries)
        return parts

    async def _aparse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **_: Any) -> list[BaseNode]:
        parts: list[BaseNode] = []
        documents = await asyncio.to_thread(_read, nodes, self.options)
        for loaded in get_tqdm_iterable(documents, show_progress, "Cleaning documents"):
            summaries = await self.summarizer.asummarize(loaded.document.tables) if self.summarizer else None
            parts += await asyncio.to_thread(self._parts, nodes[loaded.position], loaded, summaries)
        return parts

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        """Leave the nodes as they are: the framework would look for clean texts in the raw document."""
        del parent_doc_map
        return nodes

    def _parts(self, node: BaseNode, loaded: Loaded, summaries: SummaryReport | None) -> list[BaseNode]:
        parts: list[BaseNode] = []
        for part, summary in parts_with_summaries(loaded.document, self.kinds, summaries, loaded.metadata):
            start, end = _span_in(text_of(node), loaded.document, part)
            parts.append(TextNode(**_fields(part), start_char_idx=start, end_char_idx=end))
            if summary:
                parts.append(IndexNode(**_fields(summary), index_id=part.id))
        source = (node.source_node or node.as_related_node_info()).model_copy(update={"metadata": loaded.metadata})
        for part_node in parts:
            part_node.relationships[NodeRelationship.SOURCE] = source
        return parts


def regions_of(node: BaseNode | NodeWithScore) -> list[Region]:
    """Return where on the pages a node of the reader or the node parser stands, or a unit of one, line by line.

    Raises:
        InvalidInputError: The metadata is damaged.
    """
    node = node.node if isinstance(node, NodeWithScore) else node
    return regions_in(node.metadata, *(span_of(node) or (0, 0)))


def _read(nodes: Iterable[BaseNode], options: CleaningOptions | None) -> list[Loaded]:
    return read_loaded(((text_of(node), node.metadata) for node in nodes), options)


def _span_in(source: str, document: LayoutDocument, part: CoreDocument) -> tuple[int, int] | tuple[None, None]:
    """Return where a part stands in the source, or twice None if it is no longer the same words at the same distances."""
    offset = part.metadata.get("offset")
    if offset is None or LAYOUT in part.metadata:  # boxes count the characters of the part
        return None, None
    runs = document.traced.cut(offset, offset + len(part.text)).runs
    start = runs[0].origin - runs[0].start if len({run.origin - run.start for run in runs}) == 1 else -1
    end = start + len(part.text)
    return (start, end) if start >= 0 and source[start:end].split() == part.text.split() else (None, None)


def _fields(part: CoreDocument) -> dict[str, Any]:
    metadata = dict(part.metadata)
    heading = {key: value for key, value in (("title", part.title), ("section", part.section)) if value}
    hidden = [key for key in _HIDDEN if key in metadata]
    return {
        "id_": part.id,
        "text": part.text,
        "metadata": heading | metadata,
        "excluded_embed_metadata_keys": hidden,
        "excluded_llm_metadata_keys": hidden,
    }
