"""Models of both frameworks that follow one script."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    CompletionResponse,
    LLMMetadata,
    ToolCallBlock,
)
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM


class ServerError(Exception):
    """As clients of providers raise it."""

    def __init__(self, status_code, message="no"):
        super().__init__(message)
        self.status_code = status_code


class Script:
    """Answers by passage: a text, a dict with more than text, or an error; others get
    themselves.
    """

    def __init__(self, answers, *, seconds=0.0):
        self.answers, self.seconds = answers, seconds
        self.asked = Counter()
        self.threads = set()
        self.active = self.peak = 0
        self.lock = threading.Lock()

    def take(self, prompt):
        text = prompt.rpartition("Content: ")[2].removesuffix("\nOutput:")
        with self.lock:
            self.asked[text] += 1
            self.threads.add(threading.get_ident())
            given = self.answers.get(text, json.dumps([text]))
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, dict) else {"text": given}

    def answer(self, prompt):
        with self.lock:
            self.active += 1
            self.peak = max(self.peak, self.active)
        time.sleep(self.seconds)
        with self.lock:
            self.active -= 1
        return self.take(prompt)

    async def aanswer(self, prompt):
        self.active += 1
        self.peak = max(self.peak, self.active)
        await asyncio.sleep(self.seconds)
        self.active -= 1
        return self.take(prompt)


class LangChainModel(BaseChatModel):
    script: object
    model_name: str = "scripted-1"

    @property
    def _llm_type(self):
        return "scripted"

    def _result(self, given):
        message = AIMessage(
            content=given["text"],
            additional_kwargs={"refusal": given.get("refusal")},
            response_metadata={"finish_reason": given.get("finish", "stop")},
            usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._result(self.script.answer(messages[0].content))

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._result(await self.script.aanswer(messages[0].content))


class LlamaIndexModel(CustomLLM):
    script: object
    chats: bool = True

    @property
    def metadata(self):
        return LLMMetadata(model_name="scripted-1", is_chat_model=self.chats)

    def _raw(self, given):
        message = {"refusal": given.get("refusal")}
        choice = {"finish_reason": given.get("finish", "stop"), "message": message}
        return {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}

    def _chat(self, given):
        return ChatResponse(
            message=ChatMessage(role="assistant", content=given["text"]), raw=self._raw(given)
        )

    def chat(self, messages, **kwargs):
        return self._chat(self.script.answer(messages[0].content))

    async def achat(self, messages, **kwargs):
        return self._chat(await self.script.aanswer(messages[0].content))

    def complete(self, prompt, formatted=False, **kwargs):
        given = self.script.answer(prompt)
        return CompletionResponse(text=given["text"], raw=self._raw(given))

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise NotImplementedError


class LangChainAgentModel(BaseChatModel):
    """A chat model with tools that answers its calls one after the other.

    A step is a message, or a function from the messages so far to one.
    """

    steps: list

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        step = self.steps.pop(0)
        message = step(messages) if callable(step) else step
        return ChatResult(generations=[ChatGeneration(message=message)])


def langchain_call(name, **arguments):
    """Return a message that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": name}])


def llama_index_agent_model(steps):
    """Return a model with tools that answers its calls one after the other, as
    `LangChainAgentModel` does.
    """
    left = list(steps)

    def answer(messages, **_):
        step = left.pop(0)
        return step(messages) if callable(step) else step

    return MockFunctionCallingLLM(response_generator=answer, is_chat_model=True)


def llama_index_call(name, **arguments):
    """Return a message that calls a tool."""
    call = ToolCallBlock(tool_call_id=name, tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[call])
