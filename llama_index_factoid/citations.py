"""A LlamaIndex query engine that adds citations to the answers of another one.

It cites sentence by sentence while they stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, closing
from typing import Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import (
    ChatMessage,
    CitationBlock,
    ContentBlock,
    MessageRole,
    TextBlock,
)
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.types import TokenAsyncGen, TokenGen

from factoid.framework import CitationFields, CitedSentence, Document, PropCite, citation_fields
from llama_index_factoid.convert import to_core

_LOCATION = ("number", "start_index", "end_index", "cited_start_index", "cited_end_index")


class PropCiteQueryEngine(BaseQueryEngine):
    """Adds citations of the source nodes to the answers of a query engine (PropCite: AGRaME, §4.3).

    Wraps any engine, streaming or not: `PropCiteQueryEngine(index.as_query_engine(streaming=True),
    citer=…)`. A stream yields a sentence with its citations as soon as the next one begins.

    Responses come back with their source nodes and metadata. Markers stand in the text, `[2]` for
    the second source node. In `metadata`, `citations` holds a dict for each citation: the claim's
    place in the response as `start_index` and `end_index`; `title` and `url` of the node's
    metadata; the supporting text as `cited_text`, with its place in the node's text as
    `cited_start_index` and `cited_end_index`; the node's `number` and `node_id`; and the `claim`,
    its `score` and `margin` (absent where there is one node). The list grows while a response
    streams.

    Args:
        query_engine: The engine whose answers are cited.
        citer: The core's PropCite, which holds the model and all options.
    """

    def __init__(self, query_engine: BaseQueryEngine, citer: PropCite) -> None:
        self._query_engine = query_engine
        self._citer = citer
        super().__init__(query_engine.callback_manager)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {"query_engine": self._query_engine}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return self._cited(self._query_engine.query(query_bundle))

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        return await asyncio.to_thread(self._cited, await self._query_engine.aquery(query_bundle))

    def _cited(self, response: RESPONSE_TYPE) -> RESPONSE_TYPE:
        metadata: dict[str, Any] = {**(response.metadata or {}), "citations": []}
        if isinstance(response, Response):
            cited = self._citer.cite(response.response or "", _passages(response))
            for sentence in cited.sentences:
                _add_citations(sentence, response.source_nodes, metadata)
            return Response(
                cited.text or response.response,
                source_nodes=response.source_nodes,
                metadata=metadata,
            )
        if isinstance(response, StreamingResponse):
            texts = self._texts(response, metadata)
            return StreamingResponse(texts, source_nodes=response.source_nodes, metadata=metadata)
        if not isinstance(response, AsyncStreamingResponse):
            raise TypeError(
                f"expected an answer in sentences to cite, got a {type(response).__name__}"
            )
        atexts = self._atexts(response, metadata)
        return AsyncStreamingResponse(atexts, source_nodes=response.source_nodes, metadata=metadata)

    def _texts(self, response: StreamingResponse, metadata: dict[str, Any]) -> TokenGen:
        with closing(self._citer.stream(response.response_gen, _passages(response))) as sentences:
            for sentence in sentences:
                _add_citations(sentence, response.source_nodes, metadata)
                yield sentence.text

    async def _atexts(
        self, response: AsyncStreamingResponse, metadata: dict[str, Any]
    ) -> TokenAsyncGen:
        async with aclosing(
            self._citer.astream(response.response_gen, _passages(response))
        ) as sentences:
            async for sentence in sentences:
                _add_citations(sentence, response.source_nodes, metadata)
                yield sentence.text


def cited_message(citer: PropCite, answer: str, nodes: Sequence[NodeWithScore]) -> ChatMessage:
    """Return an answer as a message with citations of its source nodes.

    The first block is the text with markers, `[2]` for the second node. A `CitationBlock` follows
    for each citation: the supporting text, the node's id as `source`, its title, and as
    `additional_location_info` the node's `number`, the claim's place in the text as `start_index`
    and `end_index`, and that of the supporting text in the node as `cited_start_index` and
    `cited_end_index`.

    Args:
        citer: The core's PropCite, which holds the model and all options.
        answer: The answer of any model or agent.
        nodes: Its sources, such as `nodes_of` returns of an agent's tools.
    """
    cited = citer.cite(answer, [to_core(source.node) for source in nodes])
    blocks: list[ContentBlock] = [TextBlock(text=cited.text)]
    for citation in cited.citations:
        node = nodes[citation.position].node
        fields = citation.fields(node.metadata)
        location = {}
        for key in _LOCATION:
            location[key] = fields[key]
        blocks.append(
            CitationBlock(
                cited_content=TextBlock(text=fields["cited_text"]),
                source=node.node_id,
                title=fields.get("title", ""),
                additional_location_info=location,
            )
        )
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=blocks)


def citations_of(response: RESPONSE_TYPE) -> list[CitationFields]:
    """Return the citations of a response of `PropCiteQueryEngine`.

    Of one that streams they are those that have arrived.
    """
    records = (response.metadata or {}).get("citations", [])
    return [citation_fields(record, record["node_id"]) for record in records]


def _passages(response: Response | StreamingResponse | AsyncStreamingResponse) -> list[Document]:
    return [to_core(source.node) for source in response.source_nodes]


def _add_citations(
    sentence: CitedSentence, nodes: Sequence[NodeWithScore], metadata: dict[str, Any]
) -> None:
    for citation in sentence.citations:
        node = nodes[citation.position].node
        metadata["citations"].append({"node_id": node.node_id, **citation.fields(node.metadata)})
