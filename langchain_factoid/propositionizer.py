"""Any LangChain chat model as a propositionizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from factoid.errors import InvalidInputError
from factoid.propositions.prompting.chat import ChatPropositionizer, Reply, read_answer
from factoid.propositions.prompting.cost import Usage

# Where LangChain's integrations keep the name of their model, and wrappers what they wrap.
_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name", "repo_id")
_WRAPPED = ("bound", "runnable", "first")


class ChatModelPropositionizer(ChatPropositionizer):
    """Decomposes passages by asking a LangChain chat model (Dense X Retrieval, §3 and Figure 8).

    One request for each passage, several at a time: `invoke` in threads that carry the caller's context, so that
    tracing works, `ainvoke` in an event loop. Requests are retried and paced as by `factoid.PromptPropositionizer`; retries
    of the model's own come on top, so give a model made with `max_retries=0`. A passage that fails in the end, is refused,
    or whose answer holds no list, gives `NoPropositions` with the reason; the others go on.

    No schema is asked for, since providers differ in what they do with one: `llm.bind(response_format=...)` has one.

    Args:
        llm: A chat model, or a runnable around one, such as `llm.bind(...)`, `llm.with_config(...)` or
            `llm.with_fallbacks(...)`, that takes a prompt and gives a message or a text.
        model: The model's name, which results in a cache are kept under; None for the name that `llm` has itself.
        options: Those of `factoid.PromptPropositionizer` that need no client: `max_concurrency`, `prompt`, `max_retries`,
            `retry_seconds`, `requests_per_minute`, `tokens_per_minute`, `show_progress`.

    Raises:
        InvalidInputError: `llm` is no runnable, or a number is out of range.
    """

    def __init__(self, llm: Runnable[Any, Any], *, model: str | None = None, **options: Any) -> None:
        if not isinstance(llm, Runnable):
            message = f"expected a LangChain chat model, got {type(llm).__name__}"
            raise InvalidInputError(message)
        super().__init__(**options)
        self.llm = llm
        self.model = model or _name(llm)
        kind = type(llm)
        # A model without an async method of its own would be awaited in the loop's few threads: ours are as many as asked for.
        self._can_asend = not (
            isinstance(llm, BaseChatModel)
            and kind._agenerate is BaseChatModel._agenerate  # type: ignore[attr-defined]
            and kind._astream is BaseChatModel._astream  # type: ignore[attr-defined]
        )

    def _send(self, prompt: str) -> Reply:
        return _read(self.llm.invoke(prompt))

    async def _asend(self, prompt: str) -> Reply:
        return _read(await self.llm.ainvoke(prompt))


def message_text(answer: object) -> str:
    """Return the text of what a model gave.

    Raises:
        InvalidInputError: It is neither a message nor a text.
    """
    if isinstance(answer, BaseMessage):
        return str(answer.text)
    if not isinstance(answer, str):
        message = f"expected a message or a text from the model, got {type(answer).__name__}: give it no output parser"
        raise InvalidInputError(message)
    return answer


def _read(answer: object) -> Reply:
    text = message_text(answer)
    if not isinstance(answer, BaseMessage):
        return Reply(read_answer(text))
    fields = answer.response_metadata
    finish = fields.get("finish_reason") or fields.get("stop_reason") or fields.get("done_reason")
    refused = bool(answer.additional_kwargs.get("refusal")) or any(
        isinstance(block, Mapping) and block.get("type") == "refusal" for block in answer.content
    )
    counts: Mapping[str, Any] = getattr(answer, "usage_metadata", None) or {}
    cached = (counts.get("input_token_details") or {}).get("cache_read") or 0
    usage = Usage(1, counts.get("input_tokens", 0), counts.get("output_tokens", 0), cached)
    return Reply(read_answer(text, finish=str(finish), refused=refused), usage)


def _name(llm: Runnable[Any, Any]) -> str:
    """Return the name of the model, or that of its class."""
    for field in _MODEL_NAMES:
        name = getattr(llm, field, None)
        if isinstance(name, str) and name:
            return name
    wrapped = [inner for field in _WRAPPED if isinstance(inner := getattr(llm, field, None), Runnable)]
    return _name(wrapped[0]) if wrapped else type(llm).__name__
