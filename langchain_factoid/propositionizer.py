"""Any LangChain chat model as a propositionizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from factoid.errors import InvalidInputError
from factoid.propositions.prompting.answers import Reply, read_answer
from factoid.propositions.prompting.chat import ChatPropositionizer
from factoid.propositions.prompting.cost import Usage

# Where LangChain's integrations keep the name of their model, and wrappers what they wrap.
_MODEL_NAMES = ("model_name", "model", "model_id", "deployment_name", "repo_id")
_WRAPPED = ("bound", "runnable", "first")


class ChatModelPropositionizer(ChatPropositionizer):
    """Decomposes passages by asking a LangChain chat model (Dense X Retrieval, §3 and Figure 8).

    One request for each passage, several at a time: `invoke` in threads that carry the caller's context, so that
    tracing works, `ainvoke` in an event loop. Rate limits, errors of the server, time-outs and lost connections are
    tried again, after an exponential backoff or when the server says, and a rate limit holds all requests back; retries
    of the model's own come on top, so a model made with `max_retries=0` is the one to give. A passage that fails in the
    end, is refused, or whose answer holds no list, gives `NoPropositions` with the reason; the others go on.

    No schema is asked for: providers differ too much in what they do with one, and every answer that holds a list is
    read. Give `llm.bind(response_format=...)` to have one.

    Args:
        llm: A chat model, or a runnable around one, such as `llm.bind(...)`, `llm.with_config(...)` or
            `llm.with_fallbacks(...)`, that takes a prompt and gives a message or a text.
        model: The model's name, which results in a cache are kept under; None for the name that `llm` has itself.
        max_concurrency: Most requests under way at a time, for each call.
        prompt: Instructions, and examples if any, to stand before the passage; None for Figure 8 of the paper.
        max_retries: Most further tries of one request.
        retry_seconds: No further try begins later than this after the first.
        requests_per_minute: Most requests; they are spread evenly. None for no limit.
        tokens_per_minute: Most tokens, of prompts and answers: estimated before a request, corrected by its answer.
        show_progress: Whether to show a bar when there is more than one passage.

    Raises:
        InvalidInputError: `llm` is no runnable, or a number is out of range.
    """

    def __init__(
        self,
        llm: Runnable[Any, Any],
        *,
        model: str | None = None,
        max_concurrency: int = 8,
        prompt: str | None = None,
        max_retries: int = 6,
        retry_seconds: float = 600.0,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        show_progress: bool = False,
    ) -> None:
        if not isinstance(llm, Runnable):
            message = f"expected a LangChain chat model, got {type(llm).__name__}"
            raise InvalidInputError(message)
        super().__init__(
            max_concurrency=max_concurrency,
            prompt=prompt,
            max_retries=max_retries,
            retry_seconds=retry_seconds,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            show_progress=show_progress,
        )
        self.llm = llm
        self.model = model or _name(llm)
        self._can_asend = not _only_sync(llm)

    def _send(self, prompt: str) -> Reply:
        return _read(self.llm.invoke(prompt))

    async def _asend(self, prompt: str) -> Reply:
        return _read(await self.llm.ainvoke(prompt))


def _read(answer: object) -> Reply:
    if isinstance(answer, str):
        return Reply(read_answer(answer))
    if not isinstance(answer, BaseMessage):
        message = f"expected a message or a text from the model, got {type(answer).__name__}: give it no output parser"
        raise InvalidInputError(message)
    said = answer.response_metadata
    finish = said.get("finish_reason") or said.get("stop_reason") or said.get("done_reason")
    refused = bool(answer.additional_kwargs.get("refusal")) or any(
        isinstance(block, Mapping) and block.get("type") == "refusal" for block in answer.content
    )
    return Reply(read_answer(str(answer.text), finish=str(finish), refused=refused), _usage(answer))


def _usage(answer: BaseMessage) -> Usage:
    used: Mapping[str, Any] = getattr(answer, "usage_metadata", None) or {}
    cached = (used.get("input_token_details") or {}).get("cache_read") or 0
    return Usage(1, used.get("input_tokens", 0), used.get("output_tokens", 0), cached)


def _only_sync(llm: Runnable[Any, Any]) -> bool:
    """Tell whether a model would be awaited in the loop's own few threads: then ours, as many as asked for, serve."""
    if not isinstance(llm, BaseChatModel):
        return False
    kind = type(llm)
    return kind._agenerate is BaseChatModel._agenerate and kind._astream is BaseChatModel._astream


def _name(llm: Runnable[Any, Any]) -> str:
    """Return the name of the model, or that of its class."""
    for name in _MODEL_NAMES:
        found = getattr(llm, name, None)
        if isinstance(found, str) and found:
            return found
    wrapped = next((each for name in _WRAPPED if isinstance(each := getattr(llm, name, None), Runnable)), None)
    return type(llm).__name__ if wrapped is None else _name(wrapped)
