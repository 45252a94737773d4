"""The query engine that cites: responses, streams, source nodes, blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.types import ChatMessage, CitationBlock, TextBlock
from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle, TextNode

from factoid import PropCite
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder, ScriptedPropositionizer
from llama_index_factoid import EncoderEmbedding, PropCiteQueryEngine
from tests.late_interaction.word_vectors import WordVectors

OSLO = "Anna Berg was born in Oslo. She moved to Berlin."
PARIS = "Paris is the capital. It lies on a river."
NODES = [
    NodeWithScore(node=TextNode(text=PARIS, id_="paris", metadata={"page": 1}), score=0.5),
    NodeWithScore(
        node=TextNode(text=OSLO, id_="oslo", metadata={"title": "People", "url": "https://example.org/anna"})
    ),
]
ANSWER = "Anna Berg was born in Oslo [1]. Paris is the capital."
CITED = "Anna Berg was born in Oslo [2]. Paris is the capital [1]."
SENTENCES = ["Anna Berg was born in Oslo [2].", " Paris is the capital [1]."]


def words() -> list[str]:
    return [word + " " for word in ANSWER.split(" ")[:-1]] + ["capital."]


class Engine(BaseQueryEngine):
    """Answers the same always."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.nodes = NODES
        super().__init__(None)

    def _get_prompt_modules(self) -> Any:
        return {}

    def _query(self, query_bundle: QueryBundle) -> Any:
        return self.response()

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        return self.response()

    def synthesize(self, query_bundle: QueryBundle, nodes: Any, additional_source_nodes: Any = None) -> Any:
        return Response(ANSWER, source_nodes=nodes)

    async def asynthesize(self, query_bundle: QueryBundle, nodes: Any, additional_source_nodes: Any = None) -> Any:
        return Response(ANSWER, source_nodes=nodes)

    def retrieve(self, query_bundle: QueryBundle) -> Any:
        return self.nodes


def cited_engine(response: Any = None) -> PropCiteQueryEngine:
    script = ScriptedPropositionizer(lambda unit: [unit.text])
    engine = Engine(response or (lambda: Response(ANSWER, source_nodes=NODES, metadata={"oslo": {"page": 2}})))
    return PropCiteQueryEngine(engine, PropCite(WordVectors(), propositionizer=script))


def check(response: Any) -> None:
    assert response.source_nodes == NODES
    assert response.metadata["oslo"] == {"page": 2}
    first, second = response.metadata["citations"]
    assert first.keys() - second.keys() == {"title", "url"}
    assert first["margin"] > 0
    assert {key: first[key] for key in ("number", "node_id", "title", "claim", "cited_text")} == {
        "number": 2,
        "node_id": "oslo",
        "title": "People",
        "claim": "Anna Berg was born in Oslo.",
        "cited_text": "Anna Berg was born in Oslo.",
    }
    assert CITED[first["start_index"] : first["end_index"]] == "Anna Berg was born in Oslo"
    assert CITED[second["start_index"] : second["end_index"]] == "Paris is the capital"
    for entry, block in zip((first, second), response.metadata["citation_blocks"], strict=True):
        node = next(scored.node for scored in NODES if scored.node.node_id == entry["node_id"])
        assert node.get_content()[entry["cited_start_index"] : entry["cited_end_index"]] == entry["cited_text"]
        assert isinstance(block, CitationBlock)
        assert (block.source, block.title) == (entry["node_id"], entry.get("title", ""))
        assert block.cited_content == TextBlock(text=entry["cited_text"])
        assert block.additional_location_info["start_index"] == entry["start_index"]
    blocks = [TextBlock(text=CITED), *response.metadata["citation_blocks"]]
    assert ChatMessage(role="assistant", blocks=blocks).content == CITED


async def test_a_response() -> None:
    engine = cited_engine()
    for response in (engine.query("?"), await engine.aquery("?")):
        assert type(response) is Response
        assert str(response) == CITED
        check(response)
    bundle = QueryBundle("?")
    assert engine.retrieve(bundle) is NODES
    for response in (engine.synthesize(bundle, NODES), await engine.asynthesize(bundle, NODES)):
        assert str(response) == CITED


@pytest.mark.parametrize("read_before", [False, True])
def test_a_streaming_response(read_before: bool) -> None:
    def answer() -> StreamingResponse:
        response = StreamingResponse(iter(words()), source_nodes=NODES, metadata={"oslo": {"page": 2}})  # type: ignore[arg-type]
        assert not read_before or str(response)
        return response

    response = cited_engine(answer).query("?")
    assert isinstance(response, StreamingResponse)
    assert response.metadata is not None
    counts = []
    texts = []
    for text in response.response_gen:
        texts.append(text)
        counts.append(len(response.metadata["citations"]))
    assert (texts, counts) == (SENTENCES, [1, 2])
    check(response)
    assert str(cited_engine(answer).query("?")) == CITED


@pytest.mark.parametrize("read_before", [False, True])
async def test_an_async_streaming_response(read_before: bool) -> None:
    async def write() -> AsyncIterator[str]:
        for word in words():
            yield word

    response = AsyncStreamingResponse(write(), source_nodes=NODES, metadata={"oslo": {"page": 2}})  # type: ignore[arg-type]
    if read_before:
        await response.get_response()
    cited = await cited_engine(lambda: response).aquery("?")
    assert isinstance(cited, AsyncStreamingResponse)
    assert [text async for text in cited.async_response_gen()] == SENTENCES
    check(cited)
    assert (await cited.get_response()).response == CITED


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
    written: list[str] = []
    closed: list[bool] = []

    def write() -> Iterator[str]:
        try:
            for word in words():
                written.append(word)
                yield word
        finally:
            closed.append(True)

    async def awrite() -> AsyncIterator[str]:
        try:
            for word in words():
                written.append(word)
                yield word
        finally:
            closed.append(True)

    response = cited_engine(lambda: StreamingResponse(write(), source_nodes=NODES)).query("?")  # type: ignore[arg-type]
    assert isinstance(response, StreamingResponse)
    assert next(response.response_gen) == SENTENCES[0]
    assert written[-1] == "Paris "
    response.response_gen.close()
    assert closed
    written.clear()
    closed.clear()
    answer = AsyncStreamingResponse(awrite(), source_nodes=NODES)  # type: ignore[arg-type]
    other = await cited_engine(lambda: answer).aquery("?")
    assert isinstance(other, AsyncStreamingResponse)
    stream = other.async_response_gen()
    assert await anext(stream) == SENTENCES[0]
    assert len(written) < len(words())
    await other.response_gen.aclose()
    assert closed


async def test_async_encodes_in_another_thread() -> None:
    async def write() -> AsyncIterator[str]:
        yield ANSWER

    whole = Response(ANSWER, source_nodes=NODES)
    streaming = AsyncStreamingResponse(write(), source_nodes=NODES)  # type: ignore[arg-type]
    for answer in (whole, streaming):
        encoder = WordVectors()
        response = await PropCiteQueryEngine(Engine(lambda answer=answer: answer), PropCite(encoder)).aquery("?")
        if isinstance(response, AsyncStreamingResponse):
            await response.get_response()
        assert encoder.threads
        assert threading.get_ident() not in encoder.threads


async def test_cancelling() -> None:
    closed = asyncio.Event()

    async def write() -> AsyncIterator[str]:
        try:
            yield "Anna sang. Berlin "
            await asyncio.sleep(60)
        finally:
            closed.set()

    read_one = asyncio.Event()

    async def read() -> None:
        answer = AsyncStreamingResponse(write(), source_nodes=NODES)  # type: ignore[arg-type]
        response = await cited_engine(lambda: answer).aquery("?")
        async for _ in response.async_response_gen():  # type: ignore[union-attr]
            read_one.set()

    before = asyncio.all_tasks()
    task = asyncio.ensure_future(read())
    await read_one.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(5):
        await closed.wait()
    assert asyncio.all_tasks() <= before


def test_no_nodes_and_no_answer() -> None:
    for text in (None, "", "Empty Response"):
        response = cited_engine(lambda text=text: Response(text)).query("?")
        assert isinstance(response, Response)
        assert (response.response, response.metadata) == (text, {"citations": [], "citation_blocks": []})
    image = NodeWithScore(node=ImageNode(image_path="a.png", id_="image"))
    response = cited_engine(lambda: Response(ANSWER, source_nodes=[image, *NODES])).query("?")
    assert str(response) == "Anna Berg was born in Oslo [3]. Paris is the capital [2]."


def test_an_answer_that_is_no_text() -> None:
    class Fields(BaseModel):
        name: str

    with pytest.raises(InvalidInputError, match="got a PydanticResponse: leave output_cls out"):
        cited_engine(lambda: PydanticResponse(Fields(name="Anna"))).query("?")


def test_a_custom_engine() -> None:
    class Mine(CustomQueryEngine):
        def custom_query(self, query_str: str) -> Response:
            return Response(ANSWER, source_nodes=NODES)

    script = ScriptedPropositionizer(lambda unit: [unit.text])
    engine = PropCiteQueryEngine(Mine(), PropCite(WordVectors(), propositionizer=script))
    assert str(engine.query("?")) == CITED
