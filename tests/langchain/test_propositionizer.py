"""What only LangChain's models do; what both frameworks do is in tests/test_from_llm.py."""

from __future__ import annotations

import pytest
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.language_models.fake_chat_models import (
    FakeListChatModel,
    FakeMessagesListChatModel,
)
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.runnables import RunnableLambda

from factoid.propositions import Usage
from langchain_factoid import ChatModelPropositionizer
from tests.propositions.prompting.server import unit

PASSAGES = [unit("A and B.")]


def saying(content, **fields):
    return ChatModelPropositionizer(
        FakeMessagesListChatModel(responses=[AIMessage(content=content, **fields)])
    )


async def both(propositionizer):
    result = propositionizer.propositionize(PASSAGES)
    assert await propositionizer.apropositionize(PASSAGES) == result
    return result


async def test_content_in_blocks_and_usage():
    blocks = [{"type": "thinking", "thinking": '["no"]'}, {"type": "text", "text": '["A.", "B."]'}]
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    propositionizer = saying(blocks, usage_metadata=usage)
    assert await both(propositionizer) == [["A.", "B."]]
    assert propositionizer.usage == Usage(2, 14, 6)
    [refused] = await both(saying([{"type": "refusal", "refusal": "No."}]))
    assert refused.reason == "refusal"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"stop_reason": "refusal"}, "refusal"),
        ({"stop_reason": "max_tokens"}, "output cut off"),
        ({"finish_reason": "SAFETY"}, "refusal"),
        ({}, "empty output"),
    ],
)
async def test_why_models_stop(said, reason):
    [failed] = await both(saying("", response_metadata=said))
    assert failed.reason == reason


async def test_chains_and_models_of_texts():
    llm = FakeListChatModel(responses=['["A."]'])
    assert await both(ChatModelPropositionizer(llm | StrOutputParser())) == [["A."]]
    assert await both(ChatModelPropositionizer(FakeListLLM(responses=['["A."]']))) == [["A."]]
    [failed] = await both(
        ChatModelPropositionizer(RunnableLambda(lambda _: "Sorry.") | JsonOutputParser())
    )
    assert failed.reason == "the model raised OutputParserException"
