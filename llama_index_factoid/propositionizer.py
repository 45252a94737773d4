"""Any LlamaIndex LLM as a propositionizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, MessageRole
from llama_index.core.llms import LLM, CustomLLM

from factoid.errors import InvalidInputError
from factoid.propositions.prompting.chat import ChatPropositionizer, Reply, read_answer
from factoid.propositions.prompting.cost import Usage


class LLMPropositionizer(ChatPropositionizer):
    """Decomposes passages by asking a LlamaIndex LLM (Dense X Retrieval, §3 and Figure 8).

    One request for each passage, several at a time: `chat` or `complete` in threads that carry the caller's context,
    `achat` or `acomplete` in an event loop; an LLM that only pretends to await, as `CustomLLM` does, works in threads
    there, too. Requests are retried and paced as by `factoid.PromptPropositionizer`; retries of the LLM's own come on top,
    so give one made with `max_retries=0`. A passage that fails in the end, is refused, or whose answer holds no list, gives
    `NoPropositions` with the reason; the others go on.

    No schema is asked for, since providers differ in what they do with one:
    `OpenAI(additional_kwargs={"response_format": ...})` has one.

    Args:
        llm: The LLM.
        model: The model's name, which results in a cache are kept under; None for the name that `llm` has itself.
        options: Those of `factoid.PromptPropositionizer` that need no client: `max_concurrency`, `prompt`, `max_retries`,
            `retry_seconds`, `requests_per_minute`, `tokens_per_minute`, `show_progress`.

    Raises:
        InvalidInputError: `llm` is no LLM, or a number is out of range.
    """

    def __init__(self, llm: LLM, *, model: str | None = None, **options: Any) -> None:
        if not isinstance(llm, LLM):
            message = f"expected a LlamaIndex LLM, got {type(llm).__name__}"
            raise InvalidInputError(message)
        super().__init__(**options)
        self.llm = llm
        name = llm.metadata.model_name
        self.model = model or (name if name and name != "unknown" else type(llm).__name__)
        self._chats = llm.metadata.is_chat_model
        self._can_asend = awaits(llm, "achat" if self._chats else "acomplete")

    def _send(self, prompt: str) -> Reply:
        return _read(self.llm.chat(_messages(prompt)) if self._chats else self.llm.complete(prompt))

    async def _asend(self, prompt: str) -> Reply:
        return _read(await (self.llm.achat(_messages(prompt)) if self._chats else self.llm.acomplete(prompt)))


def awaits(llm: LLM, method: str) -> bool:
    """Tell whether an LLM has an asynchronous method of its own: that of `CustomLLM` blocks the event loop."""
    return next(kind for kind in type(llm).__mro__ if method in vars(kind)) is not CustomLLM


def _messages(prompt: str) -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole.USER, content=prompt)]


def _read(response: ChatResponse | CompletionResponse) -> Reply:
    text = response.text if isinstance(response, CompletionResponse) else response.message.content
    raw = response.raw
    choice = next(iter(_field(raw, "choices") or ()), None)
    finish = _field(choice, "finish_reason") or _field(raw, "stop_reason", "done_reason")
    refused = bool(_field(_field(choice, "message"), "refusal"))
    counts = _field(raw, "usage") or response.additional_kwargs or {}  # the provider's, else the integration's
    numbers = (
        _field(counts, "prompt_tokens", "input_tokens"),
        _field(counts, "completion_tokens", "output_tokens"),
        _field(_field(counts, "prompt_tokens_details"), "cached_tokens") or _field(counts, "cache_read_input_tokens"),
    )
    usage = Usage(1, *(number if isinstance(number, int) else 0 for number in numbers))
    return Reply(read_answer(text or "", finish=str(finish), refused=refused), usage)


def _field(source: Any, *names: str) -> Any:
    """Return the first field that a record or a mapping has under these names."""
    values = (source.get(name) if isinstance(source, Mapping) else getattr(source, name, None) for name in names)
    return next((value for value in values if value is not None), None)
