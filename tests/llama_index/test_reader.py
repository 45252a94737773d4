from __future__ import annotations

import threading

import pytest
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import CustomLLM, MockLLM

from factoid.entities.reader import Reader
from factoid.errors import InvalidInputError
from llama_index_factoid.reader import LLMReader

DOCUMENT = "Rouen lies on the Seine."


class Limited(CustomLLM):
    """Remembers what it was asked, where, and what it was allowed."""

    max_tokens: int | None = None
    asked: list = Field(default_factory=list)

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **kwargs):
        self.asked.append((prompt, self.max_tokens, threading.get_ident()))
        return CompletionResponse(text=" 'Seine'\nand more")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


class Awaiting(Limited):
    async def acomplete(self, prompt, formatted=False, **kwargs):
        return CompletionResponse(text="Seine, later")


async def test_prompts_limits_and_first_lines():
    llm = Limited()
    reader = LLMReader(llm)
    assert isinstance(reader, Reader)
    assert reader.read("Which river?", [DOCUMENT, "Another."]) == "Seine"
    assert await reader.aread("Which river?") == "Seine"
    (one, two), here = reader.llm.asked, threading.get_ident()
    assert one == (
        f"{DOCUMENT}\n\nAnother.\n\nBased on these texts, answer this question:\nQ: Which river?\nA:",
        10,
        here,
    )
    assert two[:2] == ("Answer this question:\nQ: Which river?\nA:", 10)
    assert two[2] != here  # what cannot await does not block the event loop
    assert llm.max_tokens is None  # the caller's LLM is left alone


async def test_an_llm_that_awaits():
    reader = LLMReader(Awaiting())
    assert await reader.aread("Which river?", DOCUMENT) == "Seine, later"
    assert reader.llm.asked == []


@pytest.mark.parametrize(("own", "asked", "expected"), [(None, 10, 10), (4, 10, 4), (500, 10, 10), (500, None, 500)])
def test_the_lower_limit_holds(own, asked, expected):
    assert LLMReader(Limited(max_tokens=own), max_tokens=asked).llm.max_tokens == expected


async def test_the_mock_of_llama_index():
    assert LLMReader(MockLLM(), max_tokens=3).read("Which?") == "text text text"
    reader = LLMReader(MockLLM(), max_tokens=None)  # echoes the prompt
    assert reader.read("Which?", [f'"{DOCUMENT}"']) == DOCUMENT
    assert await reader.aread("Which?", DOCUMENT) == DOCUMENT


def test_bad_input():
    with pytest.raises(InvalidInputError, match="expected a LlamaIndex LLM, got str"):
        LLMReader("gpt")
    with pytest.raises(InvalidInputError, match="max_tokens must be at least 1"):
        LLMReader(Limited(), max_tokens=0)
    with pytest.raises(InvalidInputError, match="expected a question"):
        LLMReader(Limited()).read("")
