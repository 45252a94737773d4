"""What only LlamaIndex's LLMs do; what both frameworks do is in tests/test_from_llm.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
)
from llama_index.core.bridge.pydantic import Field
from llama_index.core.llms import CustomLLM

from factoid.propositions import Usage
from llama_index_factoid import LLMPropositionizer
from tests.propositions.prompting.server import unit

PASSAGES = [unit("A and B.")]
COUNTS = SimpleNamespace(prompt_tokens=7, completion_tokens=3)


class Saying(CustomLLM):
    """An LLM that always gives the same response."""

    response: object
    asked: list = Field(default_factory=list)

    @property
    def metadata(self):
        return LLMMetadata(is_chat_model=isinstance(self.response, ChatResponse))

    def chat(self, messages, **kwargs):
        self.asked.append(messages)
        return self.response

    def complete(self, prompt, formatted=False, **kwargs):
        self.asked.append(prompt)
        return self.response

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


def chat(content, **fields):
    return ChatResponse(message=ChatMessage(role="assistant", content=content), **fields)


async def both(llm):
    propositionizer = LLMPropositionizer(llm)
    result = propositionizer.propositionize(PASSAGES)
    assert await propositionizer.apropositionize(PASSAGES) == result
    return result[0], propositionizer.usage


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"usage": {"input_tokens": 7, "output_tokens": 3}}, Usage(2, 14, 6)),
        (SimpleNamespace(usage=COUNTS), Usage(2, 14, 6)),
        ({"usage": None}, Usage(2)),
    ],
)
async def test_usage_where_integrations_keep_it(raw, expected):
    for response in (chat('["A."]', raw=raw), CompletionResponse(text='["A."]', raw=raw)):
        assert await both(Saying(response=response)) == (["A."], expected)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"stop_reason": "refusal"}, "refusal"),
        ({"stop_reason": "max_tokens"}, "output cut off"),
        (
            SimpleNamespace(
                choices=[SimpleNamespace(finish_reason="content_filter", message=None)]
            ),
            "refusal",
        ),
        (SimpleNamespace(choices=[]), "empty output"),
        (None, "empty output"),
    ],
)
async def test_why_models_stop(raw, reason):
    for response in (chat(None, raw=raw), CompletionResponse(text="", raw=raw)):
        texts, _ = await both(Saying(response=response))
        assert texts.reason == reason
