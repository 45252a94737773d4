"""The query engine that cites: responses, streams, source nodes, blocks."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import MockLLM
from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle, TextNode

from factoid import PropCite
from factoid.testing import HashEncoder, ScriptedPropositionizer
from llama_index_factoid import EncoderEmbedding, PropCiteQueryEngine
from tests.langchain.test_citations import ANSWER, CITED, OSLO, PARIS, SENTENCES
from tests.late_interaction.word_vectors import WordVectors

NODES = [
    NodeWithScore(node=TextNode(text=PARIS, id_="paris", metadata={"page": 1}), score=0.5),
    NodeWithScore(
        node=TextNode(
            text=OSLO, id_="oslo", metadata={"title": "People", "url": "https://example.org/anna"}
        )
    ),
]
METADATA = {"oslo": {"page": 2}}


class Engine(BaseQueryEngine):
    """Answers the same always."""

    def __init__(self, response: Any) -> None:
        self.response = response
        super().__init__(None)

    def _get_prompt_modules(self) -> Any:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Any:
        return self.response

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        return self.response


def cited_engine(response: Any = None) -> PropCiteQueryEngine:
    """Cite a response, or one with the answer; without pronouns resolved, so that claims are as
    they stand.
    """
    script = ScriptedPropositionizer(lambda unit: [unit.text])
    engine = Engine(response or Response(ANSWER, source_nodes=NODES, metadata=METADATA))
    return PropCiteQueryEngine(engine, PropCite(WordVectors(), propositionizer=script))


class Writer:
    """Writes the answer word by word; says how far it came, and whether it was closed."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.closed = asyncio.Event()

    def write(self) -> Iterator[str]:
        try:
            for word in re.split(r"(?<= )", ANSWER):
                self.written.append(word)
                yield word
        finally:
            self.closed.set()

    async def awrite(self) -> AsyncIterator[str]:
        with closing(self.write()) as words:
            for word in words:
                yield word

    def response(self) -> StreamingResponse:
        return StreamingResponse(self.write(), source_nodes=NODES, metadata=METADATA)  # type: ignore[arg-type]

    def aresponse(self) -> AsyncStreamingResponse:
        return AsyncStreamingResponse(self.awrite(), source_nodes=NODES, metadata=METADATA)  # type: ignore[arg-type]


def check(response: Any) -> None:
    assert response.source_nodes == NODES
    assert response.metadata["oslo"] == {"page": 2}
    first, second = response.metadata["citations"]
    assert first.keys() - second.keys() == {"title", "url"}
    assert first.items() >= {"number": 2, "node_id": "oslo", "title": "People"}.items()
    assert CITED[first["start_index"] : first["end_index"]] == "Anna Berg was born in Oslo"


async def test_a_response() -> None:
    engine = cited_engine()
    encoder = engine._citer.ranker.encoder
    assert isinstance(encoder, WordVectors)
    awaited = await engine.aquery("?")
    assert threading.get_ident() not in encoder.threads  # which would block the event loop
    for response in (awaited, engine.query("?")):
        assert type(response) is Response
        assert str(response) == CITED
        check(response)


async def test_streaming_responses() -> None:
    response, aresponse = Writer().response(), Writer().aresponse()
    cited = cited_engine(response).query("?")
    assert isinstance(cited, StreamingResponse)
    assert cited.metadata is not None
    streamed = [(text, len(cited.metadata["citations"])) for text in cited.response_gen]
    assert streamed == [(SENTENCES[0], 1), (SENTENCES[1], 2)]
    check(cited)
    engine = cited_engine(aresponse)
    acited = await engine.aquery("?")
    assert isinstance(acited, AsyncStreamingResponse)
    assert [text async for text in acited.async_response_gen()] == SENTENCES
    assert threading.get_ident() not in engine._citer.ranker.encoder.threads  # type: ignore[attr-defined]
    check(acited)
    assert (await acited.get_response()).response == CITED


@pytest.mark.parametrize("streaming", [False, True])
async def test_around_an_engine_of_the_framework(streaming: bool) -> None:
    documents = [Document(text=OSLO, metadata={"title": "Anna"}), Document(text=PARIS)]
    index = VectorStoreIndex.from_documents(documents, embed_model=EncoderEmbedding(HashEncoder()))
    plain = index.as_query_engine(llm=MockLLM(), streaming=streaming, similarity_top_k=2)
    engine = PropCiteQueryEngine(plain, PropCite(WordVectors()))
    assert engine.callback_manager is plain.callback_manager
    assert any(name.startswith("query_engine:") for name in engine.get_prompts())
    response = engine.query("Where was Anna born?")
    text = str(response)  # the mock repeats its prompt
    assert "[1]" in text
    assert "[2]" in text
    other = await engine.aquery("Where was Anna born?")
    assert isinstance(other, AsyncStreamingResponse if streaming else Response)
    whole = await other.get_response() if isinstance(other, AsyncStreamingResponse) else other
    assert str(whole) == text
    assert len(response.source_nodes) == len(other.source_nodes) == 2
    assert response.metadata is not None
    assert other.metadata is not None
    assert response.metadata["citations"] == other.metadata["citations"]


async def test_the_first_sentence_leaves_before_the_model_has_finished() -> None:
    writer, awriter = Writer(), Writer()
    response = cited_engine(writer.response()).query("?")
    assert isinstance(response, StreamingResponse)
    assert next(response.response_gen) == SENTENCES[0]
    assert writer.written[-1] == "Paris "
    response.response_gen.close()
    assert writer.closed.is_set()
    other = await cited_engine(awriter.aresponse()).aquery("?")
    assert isinstance(other, AsyncStreamingResponse)
    assert await anext(other.async_response_gen()) == SENTENCES[0]
    assert awriter.written[-1] != "capital."
    await other.response_gen.aclose()
    assert awriter.closed.is_set()


def test_no_nodes_and_no_answer() -> None:
    for text in (None, "", "Empty Response"):
        response = cited_engine(Response(text)).query("?")
        assert isinstance(response, Response)
        assert (response.response, response.metadata) == (text, {"citations": []})
    image = NodeWithScore(node=ImageNode(image_path="a.png", id_="image"))
    response = cited_engine(Response(ANSWER, source_nodes=[image, *NODES])).query("?")
    assert str(response) == "Anna Berg was born in Oslo [3]. Paris is the capital [2]."


def test_an_answer_that_is_no_text() -> None:
    class Fields(BaseModel):
        name: str

    with pytest.raises(TypeError, match="got a PydanticResponse"):
        cited_engine(PydanticResponse(Fields(name="Anna"))).query("?")
