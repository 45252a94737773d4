"""Any LlamaIndex LLM as a propositionizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, MessageRole
from llama_index.core.llms import LLM, CustomLLM

from factoid.errors import InvalidInputError
from factoid.propositions.prompting.answers import Reply, read_answer
from factoid.propositions.prompting.chat import ChatPropositionizer
from factoid.propositions.prompting.cost import Usage


class LLMPropositionizer(ChatPropositionizer):
    """Decomposes passages by asking a LlamaIndex LLM (Dense X Retrieval, §3 and Figure 8).

    One request for each passage, several at a time: `chat` or `complete` in threads that carry the caller's context,
    `achat` or `acomplete` in an event loop; an LLM that only pretends to await, as `CustomLLM` does, works in threads
    there, too. Rate limits, errors of the server, time-outs and lost connections are tried again, after an exponential
    backoff or when the server says, and a rate limit holds all requests back; retries of the LLM's own come on top, so
    one made with `max_retries=0` is the one to give. A passage that fails in the end, is refused, or whose answer holds
    no list, gives `NoPropositions` with the reason; the others go on.

    No schema is asked for: providers differ too much in what they do with one, and every answer that holds a list is
    read. `OpenAI(additional_kwargs={"response_format": ...})` has one.

    Args:
        llm: The LLM.
        model: The model's name, which results in a cache are kept under; None for the name that `llm` has itself.
        max_concurrency: Most requests under way at a time, for each call.
        prompt: Instructions, and examples if any, to stand before the passage; None for Figure 8 of the paper.
        max_retries: Most further tries of one request.
        retry_seconds: No further try begins later than this after the first.
        requests_per_minute: Most requests; they are spread evenly. None for no limit.
        tokens_per_minute: Most tokens, of prompts and answers: estimated before a request, corrected by its answer.
        show_progress: Whether to show a bar when there is more than one passage.

    Raises:
        InvalidInputError: `llm` is no LLM, or a number is out of range.
    """

    def __init__(
        self,
        llm: LLM,
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
        if not isinstance(llm, LLM):
            message = f"expected a LlamaIndex LLM, got {type(llm).__name__}"
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
        named = llm.metadata.model_name
        self.model = model or (named if named and named != "unknown" else type(llm).__name__)
        self._chats = llm.metadata.is_chat_model
        self._can_asend = _awaits(llm, "achat" if self._chats else "acomplete")

    def _send(self, prompt: str) -> Reply:
        return _read(self.llm.chat(_messages(prompt)) if self._chats else self.llm.complete(prompt))

    async def _asend(self, prompt: str) -> Reply:
        return _read(await (self.llm.achat(_messages(prompt)) if self._chats else self.llm.acomplete(prompt)))


def _messages(prompt: str) -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole.USER, content=prompt)]


def _awaits(llm: LLM, method: str) -> bool:
    """Tell whether an LLM has an asynchronous method of its own: that of `CustomLLM` blocks the event loop."""
    return next(kind for kind in type(llm).__mro__ if method in vars(kind)) is not CustomLLM


def _read(response: ChatResponse | CompletionResponse) -> Reply:
    text = response.text if isinstance(response, CompletionResponse) else response.message.content
    raw = response.raw
    choice = next(iter(_field(raw, "choices") or ()), None)
    finish = _field(choice, "finish_reason") or _field(raw, "stop_reason", "done_reason")
    refused = bool(_field(_field(choice, "message"), "refusal"))
    return Reply(
        read_answer(text or "", finish=str(finish), refused=refused), _usage(raw, response.additional_kwargs or {})
    )


def _usage(raw: object, counts: Mapping[str, Any]) -> Usage:
    """Return the usage that the provider's own response tells, else what the integration says."""
    used = _field(raw, "usage") or counts
    cached = _field(_field(used, "prompt_tokens_details"), "cached_tokens") or _field(used, "cache_read_input_tokens")
    numbers = (
        _field(used, "prompt_tokens", "input_tokens"),
        _field(used, "completion_tokens", "output_tokens"),
        cached,
    )
    return Usage(1, *(number if isinstance(number, int) else 0 for number in numbers))


def _field(source: Any, *names: str) -> Any:
    """Return the first field that a record or a mapping has under these names."""
    for name in names:
        found = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
        if found is not None:
            return found
    return None
