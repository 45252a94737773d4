"""Readers over the models of both frameworks: prompts, documents, batches, sync and async."""

from __future__ import annotations

import json
import threading

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
)
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import MockLLM
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.schema import NodeWithScore, TextNode

from factoid.readers.reader import Reader
from factoid.errors import InvalidInputError
from langchain_factoid import ChatModelReader
from llama_index_factoid import LLMReader
from tests.scripted_models import LangChainModel, LlamaIndexModel, Script

DOCUMENT = "Rouen lies on the Seine."


class AsyncLLM(LlamaIndexModel):
    async def acomplete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text=(await self.script.aanswer(prompt))["text"])


READERS = [(ChatModelReader, LangChainModel), (LLMReader, LlamaIndexModel), (LLMReader, AsyncLLM)]
each_reader = pytest.mark.parametrize(("reader_class", "model_class"), READERS)


@each_reader
async def test_prompts_and_threads(reader_class, model_class):
    script = Script({})
    llm = model_class(script=script)
    reader = reader_class(llm)
    assert isinstance(reader, Reader)
    prompt = (
        f"{DOCUMENT}\n\nAnother.\n\nBased on these texts, answer this question:\n"
        "Q: Which river?\nA:"
    )
    assert json.loads(reader.read("Which river?", [DOCUMENT, "Another."])) == [prompt]
    script.threads.clear()
    assert json.loads(await reader.aread("Which river?")) == [
        "Answer this question:\nQ: Which river?\nA:"
    ]
    # What cannot await does not block the event loop.
    assert (threading.get_ident() in script.threads) is (model_class is not LlamaIndexModel)


@each_reader
async def test_batches(reader_class, model_class):
    script = Script({}, seconds=0.01)
    reader = reader_class(model_class(script=script), batch_size=3)
    questions, contexts = (
        [f"Which {index}?" for index in range(9)],
        [["word"] * (index % 3) for index in range(9)],
    )
    expected = reader.read_batch(questions, contexts)
    assert [
        reader.read(*pair) for pair in zip(questions[:4], contexts[:4], strict=True)
    ] == expected[:4]
    script.peak = 0
    assert await reader.aread_batch(questions, contexts) == expected
    assert script.peak == (1 if model_class is LlamaIndexModel else 3)
    assert reader.read_batch([], []) == await reader.aread_batch([], []) == []


@each_reader
async def test_documents_as_retrievers_return_them(reader_class, model_class):
    reader = reader_class(model_class(script=Script({})))
    if reader_class is ChatModelReader:
        documents = [Document(DOCUMENT, metadata={"title": "Rouen"}), Document("Another.")]
    else:
        nodes = [
            TextNode(text=DOCUMENT, metadata={"title": "Rouen"}),
            LlamaDocument(text="Another."),
        ]
        documents = [NodeWithScore(node=nodes[0], score=0.5), nodes[1]]
    expected = reader.read("Which?", [DOCUMENT, "Another."])
    assert reader.read("Which?", documents) == await reader.aread("Which?", documents) == expected
    assert reader.read("Which?", documents[0]) == reader.read("Which?", DOCUMENT)


async def test_chains_and_fakes_of_the_frameworks():
    blocks = [
        {"type": "thinking", "thinking": "Loire?"},
        {"type": "text", "text": "Seine\nand more"},
    ]
    for llm in (
        FakeListChatModel(responses=["Seine"]) | StrOutputParser(),
        FakeListLLM(responses=["Seine"]),
        FakeListChatModel(responses=["Seine"]).bind(stop=["\n"]),
        RunnableLambda(lambda prompt: "Seine" if DOCUMENT in prompt else "none"),
        FakeMessagesListChatModel(responses=[AIMessage(content=blocks)]),
    ):
        reader = ChatModelReader(llm)
        assert (
            reader.read("Which?", DOCUMENT)
            == await reader.aread("Which?", [DOCUMENT, "Another."])
            == "Seine"
        )
    parsed = ChatModelReader(FakeListChatModel(responses=["{}"]) | JsonOutputParser())
    with pytest.raises(InvalidInputError, match="no output parser"):
        parsed.read("Which?")
    assert LLMReader(MockLLM(max_tokens=3)).read("Which?") == "text text text"
