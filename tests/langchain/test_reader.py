from __future__ import annotations

import threading

import pytest
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


async def test_bad_input():
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
