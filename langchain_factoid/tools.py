"""Retrieval as tools of LangChain's agents: search, and read more around a result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, Field, ValidationError

from factoid.framework import (
    AROUND_FIELD,
    ID_FIELD,
    IS_DATA,
    QUESTION_FIELD,
    READ_DESCRIPTION,
    SEARCH_DESCRIPTION,
    START_FIELD,
    InvalidInputError,
    as_text,
    flat_metadata,
    numbered_document,
    read_more,
)
from langchain_factoid.convert import found_document, matches_of, to_core
from langchain_factoid.retriever import MultiGranularRetriever

# What `Document.model_dump` writes under "type".
_DOCUMENT_TYPE = "Document"


class _Question(BaseModel):
    question: str = Field(description=QUESTION_FIELD)


class _Place(BaseModel):
    id: str = Field(description=ID_FIELD)
    around: int = Field(1, description=AROUND_FIELD)
    start: int = Field(0, description=START_FIELD)


def search_tool(
    retriever: BaseRetriever,
    *,
    name: str = "search_documents",
    description: str = SEARCH_DESCRIPTION,
) -> StructuredTool:
    """Return a tool that searches with a retriever.

    The text for the model numbers the results from 1, `[1]`, with title, section, page and id, the
    facts that matched, and the passage behind ">". The artifact of its `ToolMessage` is the list
    of documents in the same order.

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
            "MultiGranularRetriever(store=…), or as_retriever() of a vector store"
        )

    def search(question: str) -> tuple[str, list[Document]]:
        documents = retriever.invoke(question)
        return documents_text(documents), documents

    async def asearch(question: str) -> tuple[str, list[Document]]:
        documents = await retriever.ainvoke(question)
        return documents_text(documents), documents

    return StructuredTool.from_function(
        search,
        asearch,
        name=name,
        description=description + IS_DATA,
        args_schema=_Question,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def read_tool(
    retriever: MultiGranularRetriever,
    *,
    name: str = "read_more",
    description: str = READ_DESCRIPTION,
) -> StructuredTool:
    """Return a tool that reads more around a result of `search_tool`, by its id.

    It reads what the retriever may return: its `filter` and `document_ids` hold. Text and artifact
    are as those of `search_tool`. An unknown id is an error that the model is told.

    Raises:
        InvalidInputError: The retriever is over a vector store of another make.
    """
    if retriever.store is None:
        raise InvalidInputError(
            "read_tool reads from a MultiGranularFAISS: this retriever was made with vectorstore=…"
        )
    store = retriever.store.store

    def read(id: str, around: int = 1, start: int = 0) -> tuple[str, list[Document]]:  # noqa: A002
        options = retriever._options({})
        try:
            reading = read_more(
                store,
                id,
                around=around,
                start=start,
                filter=options["filter"],
                document_ids=options["document_ids"],
            )
        except InvalidInputError as error:
            raise ToolException(str(error)) from error
        ids = [passage.id for passage in reading.passages]
        units = store.get(ids, filter=options["filter"], documents=True)
        return reading.text, list(map(found_document, units))

    async def aread(
        id: str,  # noqa: A002
        around: int = 1,
        start: int = 0,
    ) -> tuple[str, list[Document]]:
        return await asyncio.to_thread(partial(read, id, around, start))

    return StructuredTool.from_function(
        read,
        aread,
        name=name,
        description=description + IS_DATA,
        args_schema=_Place,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def documents_text(documents: Iterable[Document]) -> str:
    """Return documents as the numbered text that `search_tool` gives to a model."""
    results = []
    for number, document in enumerate(documents, start=1):
        metadata = document.metadata
        results.append(
            numbered_document(
                number,
                to_core(Document(document.page_content, metadata=flat_metadata(metadata))),
                unit_id=document.id or "",
                document_id=str(metadata.get("parent_id") or ""),
                start=metadata.get("start_index", 0),
                matches=matches_of(document),
                score=float(metadata.get("score") or 0.0),
            )
        )
    return as_text(results) or "nothing was found"


def documents_of(messages: Sequence[BaseMessage]) -> list[Document]:
    """Return the documents that the tools of an agent brought, each once, in order.

    They are the sources of its answer: `PropCiteRunnable(citer=…, documents=documents_of(…))`.
    The messages may come from a checkpoint or a stored chat history.
    """
    documents: dict[tuple[str | None, str], Document] = {}
    for message in messages:
        if not isinstance(message, ToolMessage) or not isinstance(message.artifact, list):
            continue
        for item in message.artifact:
            document = _restored(item)
            if document is not None:
                documents.setdefault((document.id, document.page_content), document)
    return list(documents.values())


def _restored(item: object) -> Document | None:
    """Return an item of an artifact as a document; None if it is something else.

    Checkpointers and chat histories keep the documents of an artifact as dicts of their fields.
    """
    if isinstance(item, Document):
        return item
    if not isinstance(item, dict) or item.get("type") != _DOCUMENT_TYPE:
        return None
    if "page_content" not in item:
        return None
    try:
        return Document.model_validate(item)
    except ValidationError:
        return None
