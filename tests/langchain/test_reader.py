from __future__ import annotations

import asyncio
import threading

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
)
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from factoid.entities.reader import Reader
from factoid.errors import InvalidInputError
from langchain_factoid.reader import ChatModelReader

DOCUMENT = "Rouen lies on the Seine."


class Limited(BaseChatModel):
    """Writes back what it was asked, word by word, and what it was allowed."""

    max_tokens: int | None = None
    asked: list = []  # noqa: RUF012 - pydantic copies it
    threads: list = []  # noqa: RUF012

    @property
    def _llm_type(self):
        return "limited"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append((messages[0].content, self.max_tokens, "sync", threading.get_ident()))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=" 'Seine'\nand more"))])

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        self.asked.append((messages[0].content, self.max_tokens, "async", threading.get_ident()))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="Seine, later"))])


async def test_prompts_limits_and_first_lines():
    llm = Limited()
    reader = ChatModelReader(llm)
    assert isinstance(reader, Reader)
    assert reader.read("Which river?", [DOCUMENT]) == "Seine"
    assert await reader.aread("Which river?") == "Seine, later"
    here = threading.get_ident()
    assert reader.llm.asked == [
        (f"{DOCUMENT}\n\nBased on this text, answer this question:\nQ: Which river?\nA:", 10, "sync", here),
        ("Answer this question:\nQ: Which river?\nA:", 10, "async", here),
    ]
    assert llm.max_tokens is None  # the caller's model is left alone


@pytest.mark.parametrize(("own", "asked", "expected"), [(None, 10, 10), (4, 10, 4), (500, 10, 10), (500, None, 500)])
def test_the_lower_limit_holds(own, asked, expected):
    assert ChatModelReader(Limited(max_tokens=own), max_tokens=asked).llm.max_tokens == expected


async def test_fakes_chains_and_models_of_texts():
    assert ChatModelReader(GenericFakeChatModel(messages=iter(["Seine\nLoire"]))).read("Which?", DOCUMENT) == "Seine"
    for llm in (
        FakeListChatModel(responses=["Seine"]),
        FakeListChatModel(responses=["Seine"]) | StrOutputParser(),
        FakeListLLM(responses=["Seine"]),
        FakeListChatModel(responses=["Seine"]).bind(stop=["\n"]),
        RunnableLambda(lambda prompt: "Seine" if DOCUMENT in prompt else "none"),
    ):
        reader = ChatModelReader(llm)
        assert reader.read("Which?", DOCUMENT) == "Seine"
        assert await reader.aread("Which?", [DOCUMENT, "Another."]) == "Seine"


def test_content_in_blocks():
    blocks = [{"type": "thinking", "thinking": "Loire?"}, {"type": "text", "text": "Seine"}]
    reader = ChatModelReader(FakeMessagesListChatModel(responses=[AIMessage(content=blocks)]))
    assert reader.read("Which?") == "Seine"


def echo(prompt):
    return prompt.replace("\n", "|")


async def test_batches_answer_as_one_by_one():
    reader = ChatModelReader(RunnableLambda(echo))
    questions = [f"Which {index}?" for index in range(20)]
    contexts = [["word"] * (index % 3) for index in range(20)]
    expected = [reader.read(*each) for each in zip(questions, contexts, strict=True)]
    assert len(set(expected)) == 20
    assert reader.read_batch(questions, contexts) == expected
    assert await reader.aread_batch(questions, contexts) == expected
    assert reader.read_batch([], []) == await reader.aread_batch([], []) == []
    llm = Limited()
    assert ChatModelReader(llm, max_tokens=5).read_batch(["Which?"], [DOCUMENT]) == ["Seine"]
    assert await ChatModelReader(llm).aread_batch(["Which?"], [DOCUMENT]) == ["Seine, later"]


async def test_batches_ask_no_more_at_a_time_than_they_may():
    now, most = 0, 0

    async def slow(prompt):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return "Seine"

    reader = ChatModelReader(RunnableLambda(lambda prompt: "Seine", afunc=slow), batch_size=3)
    assert await reader.aread_batch(["Which?"] * 10, [[]] * 10) == ["Seine"] * 10
    assert most == 3


async def test_documents_as_retrievers_return_them():
    reader = ChatModelReader(RunnableLambda(echo))
    found = [Document(page_content=DOCUMENT, metadata={"title": "Rouen"}), Document(page_content="Another.")]
    expected = reader.read("Which?", [DOCUMENT, "Another."])
    assert reader.read("Which?", found) == await reader.aread("Which?", found) == expected
    assert reader.read_batch(["Which?"], [found]) == await reader.aread_batch(["Which?"], [found]) == [expected]
    assert reader.read("Which?", found[0]) == reader.read("Which?", found[:1]) == reader.read("Which?", DOCUMENT)


async def test_bad_input():
    for context in (None, 3, {"text": DOCUMENT}, [None], [{"page_content": DOCUMENT}], [[Document(page_content="")]]):
        with pytest.raises(InvalidInputError, match=r"expected (a list of documents|the text of each document)"):
            ChatModelReader(Limited()).read("Which?", context)
    with pytest.raises(InvalidInputError, match="expected a list of questions, got str"):
        ChatModelReader(Limited()).read_batch("ab", [[], []])
    with pytest.raises(InvalidInputError, match="got 1 for 2 questions"):
        await ChatModelReader(Limited()).aread_batch(["a", "b"], [[]])
    with pytest.raises(InvalidInputError, match="batch_size must be at least 1"):
        ChatModelReader(Limited(), batch_size=0)
    with pytest.raises(InvalidInputError, match="expected a LangChain chat model, got str"):
        ChatModelReader("gpt")
    with pytest.raises(InvalidInputError, match="max_tokens must be at least 1"):
        ChatModelReader(Limited(), max_tokens=0)
    parsed = ChatModelReader(FakeListChatModel(responses=["{}"]) | JsonOutputParser())
    with pytest.raises(InvalidInputError, match="no output parser"):
        parsed.read("Which?")
    with pytest.raises(InvalidInputError, match="no output parser"):
        await parsed.aread("Which?")
    with pytest.raises(InvalidInputError, match="expected a question"):
        ChatModelReader(Limited()).read("")
