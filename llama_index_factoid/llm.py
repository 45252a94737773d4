"""LlamaIndex LLMs as propositionizers and readers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from llama_index.core.async_utils import run_jobs
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.llms import LLM, CustomLLM
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from factoid.framework import (
    ChatKwargs,
    ChatPropositionizer,
    ChatReader,
    InvalidInputError,
    ReaderKwargs,
    Reply,
    Usage,
    check_names,
    option_names,
)


class LLMPropositionizer(ChatPropositionizer):
    """Decomposes passages by asking a LlamaIndex LLM (Dense X Retrieval, §3 and Figure 8).

    Sends one request for each passage, several at a time, by `chat` or `complete` in threads or by
    `achat` or `acomplete`. Failed requests are tried again by the LLM alone, so make it with
    `max_retries=6`. Does not ask for a schema, since providers treat schemas differently:
    `OpenAI(additional_kwargs={"response_format": ...})` adds one.

    Args:
        llm: The LLM.
        model: The model's name, under which a cache keeps results; None for the name that `llm`
            itself has.
        options: Those of `factoid.PromptPropositionizer` that need no client: `max_concurrency`,
            `prompt`, `requests_per_minute`, `tokens_per_minute`, `progress`.

    Raises:
        InvalidInputError: `llm` is not an LLM, or a number is out of range.
    """

    def __init__(
        self, llm: LLM, *, model: str | None = None, **options: Unpack[ChatKwargs]
    ) -> None:
        check_names(type(self).__name__, options, option_names(ChatKwargs) | {"model"})
        _check_llm(llm)
        super().__init__(**options)
        self.llm = llm
        name = llm.metadata.model_name
        if not name or name == "unknown":
            name = type(llm).__name__
        self.model = model or name
        self._chats = llm.metadata.is_chat_model
        method = "acomplete"
        if self._chats:
            method = "achat"
        self._can_asend = _awaits(llm, method)

    def _send(self, prompt: str) -> Reply:
        if self._chats:
            return _read(self.llm.chat([ChatMessage(content=prompt)]))
        return _read(self.llm.complete(prompt))

    async def _asend(self, prompt: str) -> Reply:
        if self._chats:
            return _read(await self.llm.achat([ChatMessage(content=prompt)]))
        return _read(await self.llm.acomplete(prompt))


class LLMReader(ChatReader):
    """Answers questions from documents by asking a LlamaIndex LLM (Entity Retrieval, §4.1).

    Sends one request for each question with the text of the nodes without their metadata, and keeps
    the first line of the answer. Does not retry after server errors: make the LLM with
    `max_retries`.

    Args:
        llm: The LLM.
        options: Those of `factoid.readers.reader.ChatReader`: `prompt`, and `batch_size`, which
            only counts in `aread_batch` with an LLM that awaits; otherwise requests go one after
            the other.
    """

    def __init__(self, llm: LLM, **options: Unpack[ReaderKwargs]) -> None:
        check_names(type(self).__name__, options, option_names(ReaderKwargs))
        _check_llm(llm)
        super().__init__(llm, **options)

    def _complete(self, prompts: Sequence[str]) -> list[str]:
        return [self.llm.complete(prompt).text for prompt in prompts]

    async def _acomplete(self, prompts: Sequence[str]) -> list[str]:
        if not _awaits(self.llm, "acomplete"):
            return await asyncio.to_thread(self._complete, prompts)
        requests = list(map(self.llm.acomplete, prompts))
        answers: list[CompletionResponse] = await run_jobs(requests, workers=self.batch_size)
        return [answer.text for answer in answers]

    @staticmethod
    def _text_of(document: Any) -> Any:
        node = document.node if isinstance(document, NodeWithScore) else document
        if isinstance(node, BaseNode):
            return node.get_content(MetadataMode.NONE)
        return node


def _check_llm(llm: object) -> None:
    if not isinstance(llm, LLM):
        raise InvalidInputError(f"expected a LlamaIndex LLM, got {type(llm).__name__}")


def _awaits(llm: LLM, method: str) -> bool:
    """Tell whether an LLM overrides an asynchronous method.

    That of `CustomLLM` blocks the event loop.
    """
    return next(kind for kind in type(llm).__mro__ if method in vars(kind)) is not CustomLLM


def _read(response: ChatResponse | CompletionResponse) -> Reply:
    text = response.text if isinstance(response, CompletionResponse) else response.message.content
    raw = response.raw
    choice = next(iter(_field(raw, "choices") or ()), None)
    finish = (
        _field(choice, "finish_reason") or _field(raw, "stop_reason") or _field(raw, "done_reason")
    )
    refused = bool(_field(_field(choice, "message"), "refusal"))
    counts = _field(raw, "usage")
    sent = _field(counts, "prompt_tokens") or _field(counts, "input_tokens") or 0
    usage = Usage(
        1, sent, _field(counts, "completion_tokens") or _field(counts, "output_tokens") or 0
    )
    return Reply(text or "", finish, refused, usage)


def _field(source: Any, name: str) -> Any:
    """Return a field of a record or a mapping, None if it has none."""
    if isinstance(source, Mapping):
        return source.get(name)
    return getattr(source, name, None)
