"""Retrieval as tools of LlamaIndex's agents: search, and read more around a result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, Field

from factoid.framework import (
    AROUND_FIELD,
    ID_FIELD,
    IS_DATA,
    QUESTION_FIELD,
    READ_DESCRIPTION,
    SEARCH_DESCRIPTION,
    START_FIELD,
    Document,
    InvalidInputError,
    as_text,
    flat_metadata,
    numbered_document,
    read_more,
    text_field,
)
from llama_index_factoid.convert import (
    HEADING,
    matches_of,
    restored_node,
    span_of,
    stored_node,
    text_of,
    to_tree,
)
from llama_index_factoid.retriever import MultiGranularRetriever
from llama_index_factoid.vector_store import MultiGranularFaissVectorStore, both_filters


class _Question(BaseModel):
    question: str = Field(description=QUESTION_FIELD)


class _Place(BaseModel):
    id: str = Field(description=ID_FIELD)
    around: int = Field(1, description=AROUND_FIELD)
    start: int = Field(0, description=START_FIELD)


class ReadNodes(list[NodeWithScore]):
    """The nodes that `read_tool` read, with their text for the model."""

    text: str


def search_tool(
    retriever: BaseRetriever,
    *,
    name: str = "search_documents",
    description: str = SEARCH_DESCRIPTION,
) -> FunctionTool:
    """Return a tool that searches with a retriever.

    The text for the model numbers the results from 1, `[1]`, with title, section, page and id, the
    facts that matched, and the passage behind ">". The `raw_output` of its `ToolOutput` is the
    list of nodes with their scores in the same order.

    Args:
        retriever: Any retriever; `MultiGranularRetriever` says which facts matched.
        name: Another name for each of several tools.
        description: Tells the model what the documents are about. That they are data is added.

    Raises:
        InvalidInputError: It is no retriever.
    """
    if not isinstance(retriever, BaseRetriever):
        raise InvalidInputError(
            f"search_tool takes a retriever, got {type(retriever).__name__}: give "
            "MultiGranularRetriever(index), or as_retriever() of an index"
        )

    def search(question: str) -> list[NodeWithScore]:
        return retriever.retrieve(question)

    async def asearch(question: str) -> list[NodeWithScore]:
        return await retriever.aretrieve(question)

    return FunctionTool.from_defaults(
        search,
        async_fn=asearch,
        name=name,
        description=description + IS_DATA,
        fn_schema=_Question,
        callback=nodes_text,
    )


def read_tool(
    retriever: MultiGranularRetriever,
    *,
    name: str = "read_more",
    description: str = READ_DESCRIPTION,
) -> FunctionTool:
    """Return a tool that reads more around a result of `search_tool`, by its id.

    It reads what the retriever may return: its filters and `document_ids` hold. Text and
    `raw_output` are as those of `search_tool`. An unknown id is an error that agents tell their
    model.
    """

    def read(id: str, around: int = 1, start: int = 0) -> ReadNodes:  # noqa: A002
        vector_store = retriever._vector_store
        # The retriever has checked that.
        assert isinstance(vector_store, MultiGranularFaissVectorStore)  # noqa: S101
        store = vector_store.client
        options: dict[str, Any] = retriever._kwargs
        wall = both_filters(options.get("filter"), to_tree(retriever._filters))
        document_ids = options.get("document_ids") or options.get("doc_ids") or retriever._doc_ids
        reading = read_more(
            store, id, around=around, start=start, filter=wall, document_ids=document_ids
        )
        ids = [passage.id for passage in reading.passages]
        nodes = ReadNodes()
        nodes.text = reading.text
        for unit in store.get(ids, filter=wall, documents=True):
            nodes.append(NodeWithScore(node=stored_node(unit)))
        return nodes

    async def aread(id: str, around: int = 1, start: int = 0) -> ReadNodes:  # noqa: A002
        return await asyncio.to_thread(partial(read, id, around, start))

    return FunctionTool.from_defaults(
        read,
        async_fn=aread,
        name=name,
        description=description + IS_DATA,
        fn_schema=_Place,
        callback=attrgetter("text"),
    )


def nodes_text(nodes: Iterable[NodeWithScore]) -> str:
    """Return nodes as the numbered text that `search_tool` gives to a model."""
    results = []
    for number, result in enumerate(nodes, start=1):
        node = result.node
        title, section = (text_field(node.metadata, key) for key in HEADING)
        document = Document(text_of(node), title, section, metadata=flat_metadata(node.metadata))
        start = None
        if span := span_of(node):
            start = span[0]
        results.append(
            numbered_document(
                number,
                document,
                unit_id=node.node_id,
                document_id=node.ref_doc_id or "",
                start=start,
                matches=matches_of(result),
                score=result.score or 0.0,
            )
        )
    return as_text(results) or "nothing was found"


def nodes_of(outputs: Iterable[Any]) -> list[NodeWithScore]:
    """Return the nodes that the tools of an agent brought, each once, in order.

    Args:
        outputs: What the tools returned: `ToolOutput`s, or the `ToolCallResult` events of an agent,
            also as the context of a workflow restores them. Other objects, such as other events of
            a stream, are ignored.
    """
    nodes: dict[str, NodeWithScore] = {}
    for output in outputs:
        raw = getattr(getattr(output, "tool_output", output), "raw_output", None)
        if not isinstance(raw, list):
            continue
        for item in raw:
            node = restored_node(item)
            if node is not None:
                nodes.setdefault(node.node.node_id, node)
    return list(nodes.values())
