"""LangChain chat models as propositionizers and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

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
from langchain_factoid.embeddings import model_name


class ChatModelPropositionizer(ChatPropositionizer):
    """Decomposes passages by asking a LangChain chat model (Dense X Retrieval, §3 and Figure 8).

    Sends one request for each passage, several at a time, by `invoke` in threads or by `ainvoke`.
    Failed requests are tried again by the model alone, so make it with `max_retries=6`. Does not
    ask for a schema, since providers treat schemas differently: `llm.bind(response_format=...)`
    adds one.

    Args:
        llm: A chat model, or a runnable around one such as `llm.bind(...)`, that takes a prompt and
            returns a message or a text.
        model: The model's name, under which a cache keeps results; None for the name that `llm`
            itself has.
        options: Those of `factoid.PromptPropositionizer` that need no client: `max_concurrency`,
            `prompt`, `requests_per_minute`, `tokens_per_minute`, `progress`.

    Raises:
        InvalidInputError: `llm` is not a runnable, or a number is out of range.
    """

    def __init__(
        self, llm: Runnable[Any, Any], *, model: str | None = None, **options: Unpack[ChatKwargs]
    ) -> None:
        check_names(type(self).__name__, options, option_names(ChatKwargs) | {"model"})
        _check_runnable(llm)
        super().__init__(**options)
        self.llm = llm
        self.model = model or _name(llm)

    def _send(self, prompt: str) -> Reply:
        return _read(self.llm.invoke(prompt))

    async def _asend(self, prompt: str) -> Reply:
        return _read(await self.llm.ainvoke(prompt))


class ChatModelReader(ChatReader):
    """Answers questions from documents by asking a LangChain model (Entity Retrieval, §4.1).

    Sends one request for each question with the `page_content` of the documents, and keeps the
    first line of the answer. Does not retry after server errors: make the model with `max_retries`.

    Args:
        llm: A chat model, or a runnable that takes a prompt and returns a message or a text.
        options: Those of `factoid.readers.reader.ChatReader`: `batch_size` and `prompt`.
    """

    def __init__(self, llm: Runnable[Any, Any], **options: Unpack[ReaderKwargs]) -> None:
        check_names(type(self).__name__, options, option_names(ReaderKwargs))
        _check_runnable(llm)
        super().__init__(llm, **options)

    def _complete(self, prompts: Sequence[str]) -> list[str]:
        answers = []
        for answer in self.llm.batch(list(prompts), {"max_concurrency": self.batch_size}):
            answers.append(_text(answer))
        return answers

    async def _acomplete(self, prompts: Sequence[str]) -> list[str]:
        answers = []
        for answer in await self.llm.abatch(list(prompts), {"max_concurrency": self.batch_size}):
            answers.append(_text(answer))
        return answers

    @staticmethod
    def _text_of(document: Any) -> Any:
        if isinstance(document, Document):
            return document.page_content
        return document


def _check_runnable(llm: object) -> None:
    if not isinstance(llm, Runnable):
        raise InvalidInputError(f"expected a LangChain chat model, got {type(llm).__name__}")


def _text(answer: object) -> str:
    """Return the text of a model's answer; refuse what is neither a message nor a text."""
    if isinstance(answer, BaseMessage):
        return str(answer.text)
    if not isinstance(answer, str):
        raise InvalidInputError(
            f"expected a message or a text from the model, got {type(answer).__name__}: give it "
            "no output parser"
        )
    return answer


def _read(answer: object) -> Reply:
    text = _text(answer)
    if not isinstance(answer, BaseMessage):
        return Reply(text)
    fields = answer.response_metadata
    finish = fields.get("finish_reason") or fields.get("stop_reason") or fields.get("done_reason")
    refused = bool(answer.additional_kwargs.get("refusal")) or any(
        isinstance(block, Mapping) and block.get("type") == "refusal" for block in answer.content
    )
    counts: Mapping[str, Any] = getattr(answer, "usage_metadata", None) or {}
    usage = Usage(1, counts.get("input_tokens", 0), counts.get("output_tokens", 0))
    return Reply(text, finish, refused, usage)


def _name(llm: Runnable[Any, Any]) -> str:
    """Return the name of the model, else of its class."""
    if name := model_name(llm):
        return name
    wrapped = (getattr(llm, field, None) for field in ("bound", "runnable", "first"))
    inner = next((runnable for runnable in wrapped if isinstance(runnable, Runnable)), None)
    if inner:
        return _name(inner)
    return type(llm).__name__
