"""The runnable that cites: messages, annotations, chains, streams."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumpd
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import (
    RunnableGenerator,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
)

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
    return [
        {key: value for key, value in note.items() if key != "id"} for note in block["annotations"]
    ]


def test_a_message_with_standard_annotations() -> None:
    message = runnable().invoke({"answer": ANSWER, "documents": DOCUMENTS})
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
    assert (extras["number"], extras["document_id"], extras["claim"]) == (
        2,
        "oslo",
        "Anna Berg was born in Oslo.",
    )
    assert OSLO[extras["cited_start_index"] : extras["cited_end_index"]] == first["cited_text"]
    assert extras.keys() == second["extras"].keys()
    assert second.keys() == first.keys() - {"title", "url"} | {"extras"}
    assert CITED[second["start_index"] : second["end_index"]] == "Paris is the capital"
    assert dumpd(message)["kwargs"]["content"] == message.content
    [only] = without_ids(
        runnable().invoke({"answer": "Anna Berg sang.", "documents": DOCUMENTS[1:]})
    )
    assert "margin" not in only["extras"]


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

    cited = (
        RunnableParallel(
            answer=FakeListChatModel(responses=[ANSWER]), documents=RunnableLambda(slow)
        )
        | runnable()
    )
    assert "".join(chunk.text for chunk in cited.stream("?")) == CITED
    assert "".join([chunk.text async for chunk in cited.astream("?")]) == CITED


def test_no_documents_and_no_answer() -> None:
    cite = runnable()
    assert cite.invoke({"answer": ANSWER, "documents": []}).text == ANSWER.replace(" [1]", "")
    assert cite.invoke({"answer": "", "documents": DOCUMENTS}).text == ""
    assert [chunk.text for chunk in cite.stream({"answer": "", "documents": DOCUMENTS})] == [""]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"answer": ANSWER}, "got no 'documents': name another key"),
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


async def test_the_stream_of_the_model_is_closed_when_the_consumer_stops() -> None:
    closed = []

    def written() -> Iterator[str]:
        try:
            while True:
                yield "The tower leans. "
        finally:
            closed.append("sync")

    async def awritten() -> AsyncIterator[str]:
        try:
            while True:
                yield "The tower leans. "
        finally:
            closed.append("async")

    cite = runnable(documents=[Document("The tower leans.")])
    model = written()  # held here: nothing closes it by dropping it
    stream: Any = cite._cite(model)
    next(stream)
    stream.close()
    assert closed == ["sync"]
    amodel = awritten()
    astream: Any = cite._acite(amodel)
    await anext(astream)
    await astream.aclose()
    assert closed == ["sync", "async"]
