"""The runnable that cites: messages, annotations, chains, streams."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnableParallel, RunnablePassthrough
from pydantic import ValidationError

from factoid import PropCite
from factoid.errors import InvalidInputError
from factoid.testing import ScriptedPropositionizer
from langchain_factoid import PropCiteRunnable
from tests.late_interaction.word_vectors import WordVectors

OSLO = "Anna Berg was born in Oslo. She moved to Berlin."
PARIS = "Paris is the capital. It lies on a river."
DOCUMENTS = [
    Document(PARIS, metadata={"page": 1, "source": "a.pdf", "other": object}, id="paris"),
    Document(OSLO, metadata={"url": "https://example.org/anna", "title": "People"}, id="oslo"),
]
ANSWER = "Anna Berg was born in Oslo [1]. Paris is the capital."
CITED = "Anna Berg was born in Oslo [2]. Paris is the capital [1]."
SENTENCES = ["Anna Berg was born in Oslo [2].", " Paris is the capital [1]."]


def runnable(**options: Any) -> PropCiteRunnable:
    script = ScriptedPropositionizer(lambda unit: [unit.text])
    return PropCiteRunnable(citer=PropCite(WordVectors(), propositionizer=script), **options)


def without_ids(message: Any) -> list[dict[str, Any]]:
    """Return the annotations of the only block."""
    [block] = message.content_blocks
    return [{key: value for key, value in note.items() if key != "id"} for note in block["annotations"]]


def test_a_message_with_standard_annotations() -> None:
    message = runnable().invoke({"answer": ANSWER, "documents": DOCUMENTS})
    assert type(message) is AIMessage
    assert message.text == CITED
    first, second = without_ids(message)
    extras = first.pop("extras")
    assert first == {
        "type": "citation",
        "title": "People",
        "url": "https://example.org/anna",
        "start_index": 0,
        "end_index": 26,
        "cited_text": "Anna Berg was born in Oslo.",
    }
    assert (extras["number"], extras["document_id"], extras["claim"]) == (2, "oslo", "Anna Berg was born in Oslo.")
    assert OSLO[extras["cited_start_index"] : extras["cited_end_index"]] == first["cited_text"]
    assert extras.keys() == second["extras"].keys()
    assert second.keys() == first.keys() - {"title", "url"} | {"extras"}
    assert CITED[second["start_index"] : second["end_index"]] == "Paris is the capital"
    assert dumpd(message)["kwargs"]["content"] == message.content
    [only] = without_ids(runnable().invoke({"answer": "Anna Berg sang.", "documents": DOCUMENTS[1:]}))
    assert "margin" not in only["extras"]


async def test_every_way_to_call_gives_the_same() -> None:
    cite = runnable()
    given = {"answer": ANSWER, "documents": DOCUMENTS}
    message = cite.invoke(given)
    others = [await cite.ainvoke(given), runnable(documents=DOCUMENTS).invoke(ANSWER)]
    renamed = runnable(answer_key="result", documents_key="context")
    others.append(renamed.invoke({"result": AIMessage(ANSWER), "context": DOCUMENTS, "question": "?"}))
    encoder = cite.citer.ranker.encoder
    assert isinstance(encoder, WordVectors)
    encoder.threads.clear()
    astreamed = [chunk async for chunk in cite.astream(given)]
    assert threading.get_ident() not in encoder.threads  # which would block the event loop
    for parts in (list(cite.stream(given)), astreamed):
        assert [part.text for part in parts] == [*SENTENCES, ""]
        others.append(reduce(add, parts))
    for other in others:
        assert other.text == CITED
        assert without_ids(other) == without_ids(message)
        assert StrOutputParser().invoke(other) == CITED


def chain(answer: Any) -> Any:
    """Answer a question by a retriever's documents, as chains are written."""
    retriever = RunnableLambda(lambda question: DOCUMENTS)
    return (
        {"documents": retriever, "question": RunnablePassthrough()}
        | RunnablePassthrough.assign(answer=answer)
        | runnable()
    )


@pytest.mark.parametrize("parser", [True, False])
async def test_behind_a_chain(parser: bool) -> None:
    prompt = ChatPromptTemplate.from_template("{documents} {question}")
    words = FakeListChatModel(responses=[ANSWER])  # streams by character
    cited = chain(prompt | words | StrOutputParser() if parser else prompt | words)
    assert cited.invoke("Where was Anna born?").text == CITED
    assert (await cited.ainvoke("Where was Anna born?")).text == CITED
    assert "".join(chunk.text for chunk in cited.stream("Where was Anna born?")) == CITED
    chunks = [chunk async for chunk in cited.astream("Where was Anna born?")]
    assert [chunk.text for chunk in chunks if chunk.text] == SENTENCES
    assert "".join([text async for text in (cited | StrOutputParser()).astream("?")]) == CITED


async def test_the_first_sentence_leaves_before_the_model_has_finished() -> None:
    written: list[str] = []

    def write(given: Iterator[Any]) -> Iterator[str]:
        list(given)
        for word in ANSWER.split(" "):
            written.append(word)
            yield word + " "

    async def awrite(given: AsyncIterator[Any]) -> AsyncIterator[str]:
        for word in write(iter([given])):
            yield word

    answer = RunnableGenerator(write, awrite)
    for cited in (answer | runnable(documents=DOCUMENTS), chain(answer)):
        astream, stream = cited.astream("?"), cited.stream("?")
        assert (await anext(astream)).text == SENTENCES[0]
        assert written[-1] == "Paris"
        await astream.aclose()
        written.clear()
        assert next(stream).text == SENTENCES[0]
        assert written[-1] == "Paris"
        stream.close()
        written.clear()


async def test_an_answer_that_is_quicker_than_its_documents() -> None:
    def slow(question: str) -> list[Document]:
        time.sleep(0.2)
        return DOCUMENTS

    cited = RunnableParallel(answer=FakeListChatModel(responses=[ANSWER]), documents=RunnableLambda(slow)) | runnable()
    assert "".join(chunk.text for chunk in cited.stream("?")) == CITED
    assert "".join([chunk.text async for chunk in cited.astream("?")]) == CITED


async def test_a_message_keeps_what_is_not_text() -> None:
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    answer = AIMessage(ANSWER, id="run-1", usage_metadata=usage, response_metadata={"model_provider": "openai"})  # type: ignore[arg-type]
    cite = runnable(documents=DOCUMENTS)
    message = cite.invoke(answer)
    assert (message.text, message.id, message.usage_metadata) == (CITED, "run-1", usage)
    assert message.response_metadata == {"model_provider": "openai", "output_version": "v1"}
    assert len(without_ids(message)) == 2
    assert answer.content == ANSWER

    def write(given: Iterator[Any]) -> Iterator[AIMessageChunk]:
        list(given)
        yield AIMessageChunk(ANSWER[:30], id="run-1")
        yield AIMessageChunk(ANSWER[30:], id="run-1")
        yield AIMessageChunk("", id="run-1", usage_metadata=usage, chunk_position="last")  # type: ignore[arg-type]

    merged = reduce(add, (RunnableGenerator(write) | cite).stream("?"))
    assert (merged.text, merged.id, merged.usage_metadata) == (CITED, "run-1", usage)
    assert without_ids(merged) == without_ids(message)


def test_a_model_that_cannot_stream_loses_nothing() -> None:
    answer = AIMessage(
        [{"type": "reasoning", "reasoning": "Look it up."}, {"type": "text", "text": ANSWER}],
        tool_calls=[{"name": "look_up", "args": {"name": "Anna"}, "id": "c1"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model": "m"},
        id="m1",
    )
    chain = FakeMessagesListChatModel(responses=[answer]) | runnable(documents=DOCUMENTS)
    for message in (chain.invoke("?"), reduce(add, chain.stream("?"))):
        assert {block["type"] for block in message.content_blocks} == {"reasoning", "tool_call", "text"}
        assert message.text == CITED
        assert message.tool_calls == answer.tool_calls
        assert message.usage_metadata == answer.usage_metadata
        assert (message.id, message.response_metadata["model"]) == ("m1", "m")


async def test_closing_a_stream_closes_the_models() -> None:
    closed = asyncio.Event()

    async def write(given: AsyncIterator[Any]) -> AsyncIterator[str]:
        try:
            yield "Anna sang. Berlin "
            await asyncio.sleep(60)
        finally:
            closed.set()

    stream = (RunnableGenerator(write) | runnable(documents=DOCUMENTS)).astream("?")
    assert (await anext(stream)).text.startswith("Anna sang")
    await stream.aclose()
    async with asyncio.timeout(5):
        await closed.wait()


def test_no_documents_and_no_answer() -> None:
    cite = runnable()
    assert cite.invoke({"answer": ANSWER, "documents": []}).text == ANSWER.replace(" [1]", "")
    assert cite.invoke({"answer": "", "documents": DOCUMENTS}).text == ""
    assert [chunk.text for chunk in cite.stream({"answer": "", "documents": DOCUMENTS})] == [""]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"answer": ANSWER}, "got no 'documents': name other keys"),
        (ANSWER, "got no 'documents'"),
        ({"documents": DOCUMENTS}, "got no 'answer'"),
        ({"answer": 3, "documents": DOCUMENTS}, "a text or a message, got int"),
    ],
)
async def test_input_that_cannot_be(given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        runnable().invoke(given)
    with pytest.raises(InvalidInputError, match=message):
        list(runnable().stream(given))
    with pytest.raises(InvalidInputError, match=message):
        [chunk async for chunk in runnable().astream(given)]


@pytest.mark.parametrize("options", [{"citer": "colbert"}, {"method": "sentence"}, {"documents": "text"}])
def test_fields_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PropCiteRunnable(**{"citer": PropCite(WordVectors()), **options})
