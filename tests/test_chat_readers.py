"""Readers over the models of both frameworks: prompts, limits, documents, batches, sync and async."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.schema import NodeWithScore, TextNode

from factoid.entities.reader import Reader
from factoid.errors import InvalidInputError
from langchain_factoid import ChatModelReader
from llama_index_factoid import LLMReader

DOCUMENT = "Rouen lies on the Seine."


class ChatModel(BaseChatModel):
    """Writes back what it was asked in one line, and notes its limit, its thread and how many requests it has."""

    max_tokens: int | None = None
    asked: list = []  # noqa: RUF012 - pydantic copies it
    running: list = []  # noqa: RUF012

    @property
    def _llm_type(self):
        return "echo"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append((self.max_tokens, threading.get_ident(), 1))
        echo = messages[0].content.replace("\n", "|")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=f" '{echo}'\nand more"))])

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        self.running.append(1)
        await asyncio.sleep(0.01)
        result = self._generate(messages)
        self.asked[-1] = (*self.asked[-1][:2], len(self.running))
        self.running.pop()
        return result


class SyncLLM(CustomLLM):
    """The same of LlamaIndex, without an async method of its own."""

    max_tokens: int | None = None
    asked: list = []  # noqa: RUF012
    running: list = []  # noqa: RUF012

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        self.asked.append((self.max_tokens, threading.get_ident(), 1))
        return CompletionResponse(text=" '" + prompt.replace("\n", "|") + "'\nand more")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


class AsyncLLM(SyncLLM):
    async def acomplete(self, prompt, formatted=False, **kwargs):
        self.running.append(1)
        await asyncio.sleep(0.01)
        result = self.complete(prompt)
        self.asked[-1] = (*self.asked[-1][:2], len(self.running))
        self.running.pop()
        return result


READERS = [(ChatModelReader, ChatModel), (LLMReader, SyncLLM), (LLMReader, AsyncLLM)]
each_reader = pytest.mark.parametrize(("reader_class", "model_class"), READERS)


@each_reader
async def test_prompts_limits_and_first_lines(reader_class, model_class):
    llm = model_class()
    reader = reader_class(llm)
    assert isinstance(reader, Reader)
    answer = f"{DOCUMENT}||Another.||Based on these texts, answer this question:|Q: Which river?|A:"
    assert reader.read("Which river?", [DOCUMENT, "Another."]) == answer
    assert await reader.aread("Which river?") == "Answer this question:|Q: Which river?|A:"
    (limit, thread, _), (_, other_thread, _) = reader.llm.asked
    assert (limit, thread) == (10, threading.get_ident())
    # What cannot await does not block the event loop.
    assert (other_thread == thread) is (model_class is not SyncLLM)
    assert llm.max_tokens is None  # the caller's model is left alone


@each_reader
def test_the_lower_limit_holds(reader_class, model_class):
    for limit, asked, expected in ((None, 10, 10), (4, 10, 4), (500, 10, 10), (500, None, 500)):
        assert reader_class(model_class(max_tokens=limit), max_tokens=asked).llm.max_tokens == expected


@each_reader
async def test_batches(reader_class, model_class):
    reader = reader_class(model_class(), batch_size=3)
    questions = [f"Which {index}?" for index in range(20)]
    contexts = [["word"] * (index % 3) for index in range(20)]
    expected = [reader.read(*pair) for pair in zip(questions, contexts, strict=True)]
    assert len(set(expected)) == 20
    assert reader.read_batch(questions, contexts) == expected
    reader.llm.asked.clear()
    assert await reader.aread_batch(questions, contexts) == expected
    assert max(running for *_, running in reader.llm.asked) == (1 if model_class is SyncLLM else 3)
    assert reader.read_batch([], []) == await reader.aread_batch([], []) == []


@each_reader
async def test_documents_as_retrievers_return_them(reader_class, model_class):
    reader = reader_class(model_class())
    if reader_class is ChatModelReader:
        documents = [Document(DOCUMENT, metadata={"title": "Rouen"}), Document("Another.")]
    else:
        nodes = [TextNode(text=DOCUMENT, metadata={"title": "Rouen"}), LlamaDocument(text="Another.")]
        documents = [NodeWithScore(node=nodes[0], score=0.5), nodes[1]]
    expected = reader.read("Which?", [DOCUMENT, "Another."])
    assert reader.read("Which?", documents) == await reader.aread("Which?", documents) == expected
    assert reader.read_batch(["Which?"], [documents]) == [expected]
    assert reader.read("Which?", documents[0]) == reader.read("Which?", DOCUMENT)


@each_reader
async def test_bad_input(reader_class, model_class):
    reader = reader_class(model_class())
    for context in ({"text": DOCUMENT}, [None]):
        with pytest.raises(InvalidInputError, match=r"expected (a list of documents|the text of each document)"):
            reader.read("Which?", context)
    with pytest.raises(InvalidInputError, match="got 1 for 2 questions"):
        await reader.aread_batch(["a", "b"], [[]])
    for options in ({"batch_size": 0}, {"max_tokens": 0}):
        with pytest.raises(InvalidInputError, match=r"(batch_size|max_tokens) must be at least 1"):
            reader_class(model_class(), **options)
    with pytest.raises(InvalidInputError, match="got str"):
        reader_class("gpt")


async def test_chains_and_fakes_of_the_frameworks():
    blocks = [{"type": "thinking", "thinking": "Loire?"}, {"type": "text", "text": "Seine"}]
    for llm in (
        FakeListChatModel(responses=["Seine"]) | StrOutputParser(),
        FakeListLLM(responses=["Seine"]),
        FakeListChatModel(responses=["Seine"]).bind(stop=["\n"]),
        RunnableLambda(lambda prompt: "Seine" if DOCUMENT in prompt else "none"),
        FakeMessagesListChatModel(responses=[AIMessage(content=blocks)]),
    ):
        reader = ChatModelReader(llm)
        assert reader.read("Which?", DOCUMENT) == "Seine"
        assert await reader.aread("Which?", [DOCUMENT, "Another."]) == "Seine"
    parsed = ChatModelReader(FakeListChatModel(responses=["{}"]) | JsonOutputParser())
    with pytest.raises(InvalidInputError, match="no output parser"):
        parsed.read("Which?")
    assert LLMReader(MockLLM(), max_tokens=3).read("Which?") == "text text text"
