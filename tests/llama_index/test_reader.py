from __future__ import annotations

import asyncio
import threading

import pytest
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.schema import Document, NodeWithScore, TextNode

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


class Echo(Limited):
    """Writes what it was asked in one line."""

    def complete(self, prompt, formatted=False, **kwargs):
        self.asked.append((prompt, self.max_tokens, threading.get_ident()))
        return CompletionResponse(text=prompt.replace("\n", "|"))


class AwaitingEcho(Echo):
    """Remembers how many requests it had at a time."""

    async def acomplete(self, prompt, formatted=False, **kwargs):
        self.asked.append(1)
        await asyncio.sleep(0.01)
        answer = CompletionResponse(text=f"{prompt} {len(self.asked)}".replace("\n", "|"))
        self.asked.pop()
        return answer


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


@pytest.mark.parametrize("kind", [Echo, AwaitingEcho])
async def test_batches_answer_as_one_by_one(kind):
    reader = LLMReader(kind())
    questions = [f"Which {index}?" for index in range(20)]
    contexts = [["word"] * (index % 3) for index in range(20)]
    expected = [reader.read(*each) for each in zip(questions, contexts, strict=True)]
    assert len(set(expected)) == 20
    assert reader.read_batch(questions, contexts) == expected
    reader.llm.asked.clear()
    answers = await reader.aread_batch(questions, contexts)
    if kind is Echo:
        assert answers == expected
        assert {thread for *_, thread in reader.llm.asked}.isdisjoint({threading.get_ident()})
    else:
        assert [answer.rpartition(" ")[0] for answer in answers] == expected
    assert reader.read_batch([], []) == await reader.aread_batch([], []) == []


async def test_batches_ask_no_more_at_a_time_than_they_may():
    answers = await LLMReader(AwaitingEcho(), batch_size=3).aread_batch(["Which?"] * 10, [[]] * 10)
    assert max(int(answer.rpartition(" ")[2]) for answer in answers) == 3


async def test_nodes_as_retrievers_return_them():
    reader = LLMReader(Echo())
    nodes = [TextNode(text=DOCUMENT, metadata={"title": "Rouen"}), Document(text="Another.", metadata={"page": 3})]
    scored = [NodeWithScore(node=node, score=0.5) for node in nodes]
    expected = reader.read("Which?", [DOCUMENT, "Another."])
    for found in (nodes, scored):
        assert reader.read("Which?", found) == await reader.aread("Which?", found) == expected
        assert reader.read_batch(["Which?"], [found]) == await reader.aread_batch(["Which?"], [found]) == [expected]
        assert reader.read("Which?", found[0]) == reader.read("Which?", found[:1]) == reader.read("Which?", DOCUMENT)


async def test_contexts_and_batches_that_are_none():
    for context in (None, 3, {"text": DOCUMENT}, [None], [{"text": DOCUMENT}], [[TextNode(text="")]]):
        with pytest.raises(InvalidInputError, match=r"expected (a list of documents|the text of each document)"):
            LLMReader(Limited()).read("Which?", context)
    with pytest.raises(InvalidInputError, match="expected a list of questions, got str"):
        LLMReader(Limited()).read_batch("ab", [[], []])
    with pytest.raises(InvalidInputError, match="got 1 for 2 questions"):
        await LLMReader(Awaiting()).aread_batch(["a", "b"], [[]])
    with pytest.raises(InvalidInputError, match="batch_size must be at least 1"):
        LLMReader(Limited(), batch_size=0)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="expected a LlamaIndex LLM, got str"):
        LLMReader("gpt")
    with pytest.raises(InvalidInputError, match="max_tokens must be at least 1"):
        LLMReader(Limited(), max_tokens=0)
    with pytest.raises(InvalidInputError, match="expected a question"):
        LLMReader(Limited()).read("")
