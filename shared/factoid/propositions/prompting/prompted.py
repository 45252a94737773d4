"""Propositions by prompting a chat model behind an OpenAI-compatible interface (Dense X Retrieval, §3 and Figure 8)."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factoid._optional import require
from factoid.errors import InvalidInputError
from factoid.propositions.prompting.answers import RESPONSE_FORMAT, Reply, read_completion, refuses_format
from factoid.propositions.prompting.chat import ChatPropositionizer
from factoid.units import Unit

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

logger = logging.getLogger(__name__)


class PromptPropositionizer(ChatPropositionizer):
    """Decomposes passages by asking a chat model, one request for each passage, several at a time.

    The client is yours: its key, address (`base_url`) and time-out are used as they are. Its own retries are not, where
    it is one of `openai`: rate limits (429), errors of the server (5xx), time-outs and lost connections are tried again
    here, after an exponential backoff with jitter or when the server says, and a 429 holds all requests back. A passage
    that fails in the end, or whose answer holds no list, gives `NoPropositions` with the reason; the others go on.

    Args:
        client: `openai.OpenAI`, `openai.AsyncOpenAI` or an object with the same `chat.completions.create`; None if
            there is only an `async_client`.
        model: Name of the model, as the server knows it.
        async_client: Used by `apropositionize` and `astream`. Without one, they run `client` in threads.
        structured: Whether to ask for JSON by a schema (`response_format`); None to try, and to do without for good
            after the first refusal. Answers are read in the same way in any case.
        max_concurrency: Most requests under way at a time, for each call.
        temperature: 0 for the likeliest answer; None to send none, as models that reason demand.
        max_tokens: Most tokens of an answer; None to send no limit. Of an answer that is cut off the complete
            propositions are kept.
        prompt: Instructions, and examples if any, to stand before the passage; None for Figure 8 of the paper.
        options: Further arguments of `chat.completions.create`, such as `{"max_completion_tokens": 2000, "seed": 1}`.
        max_retries: Most further tries of one request.
        retry_seconds: No further try begins later than this after the first; where the server asks to wait for longer,
            the passage fails at once.
        requests_per_minute: Most requests; they are spread evenly. None for no limit.
        tokens_per_minute: Most tokens, of prompts and answers: estimated before a request, corrected by its answer.
        show_progress: Whether to show a bar when there is more than one passage.

    Raises:
        InvalidInputError: There is no client, it has no `chat.completions.create`, or a number is out of range.
    """

    def __init__(
        self,
        client: OpenAI | AsyncOpenAI | Any | None,
        model: str,
        *,
        async_client: AsyncOpenAI | Any | None = None,
        structured: bool | None = None,
        max_concurrency: int = 8,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        prompt: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_retries: int = 6,
        retry_seconds: float = 600.0,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        show_progress: bool = False,
    ) -> None:
        super().__init__(
            max_concurrency=max_concurrency,
            prompt=prompt,
            max_retries=max_retries,
            retry_seconds=retry_seconds,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            show_progress=show_progress,
        )
        if client is not None and _is_async(client):
            client, async_client = None, async_client or client
        if async_client is not None and not _is_async(async_client):
            message = f"async_client must be an openai.AsyncOpenAI or compatible, got {type(async_client).__name__}"
            raise InvalidInputError(message)
        if client is None and async_client is None:
            message = "expected an openai.OpenAI or openai.AsyncOpenAI client, got None"
            raise InvalidInputError(message)
        self.client: Any = client
        self.async_client: Any = async_client
        self.model = model
        self._client, self._async_client = _trying_once(client), _trying_once(async_client)
        self._can_send, self._can_asend = client is not None, async_client is not None
        self._address = str(getattr(client or async_client, "base_url", "the server"))
        chosen = {"temperature": temperature, "max_tokens": max_tokens}
        self._arguments = {key: value for key, value in chosen.items() if value is not None} | dict(options or {})
        if "response_format" in self._arguments:
            if structured:
                message = "response_format is given in options: leave structured out, or response_format"
                raise InvalidInputError(message)
            structured = False
        self.structured = structured
        self._formats = structured is not False  # until it is refused
        self._format_lock = threading.Lock()

    def request_for(self, passage_prompt: str, *, structured: bool | None = None) -> dict[str, Any]:
        """Return the arguments of `chat.completions.create` for a prompt.

        Args:
            passage_prompt: The whole prompt, as `prompt_for` makes it.
            structured: Whether to ask for JSON by a schema; None for the propositionizer's own choice.
        """
        formats = self._formats if structured is None else structured
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": passage_prompt}],
            **({"response_format": RESPONSE_FORMAT} if formats else {}),
            **self._arguments,
        }

    def _send(self, prompt: str) -> Reply:
        request = self.request_for(prompt)
        try:
            return read_completion(self._client.chat.completions.create(**request))
        except Exception as error:
            if not self._does_without_format(request, error):
                raise
        return read_completion(self._client.chat.completions.create(**self.request_for(prompt)))

    async def _asend(self, prompt: str) -> Reply:
        request = self.request_for(prompt)
        try:
            return read_completion(await self._async_client.chat.completions.create(**request))
        except Exception as error:
            if not self._does_without_format(request, error):
                raise
        return read_completion(await self._async_client.chat.completions.create(**self.request_for(prompt)))

    def _does_without_format(self, request: Mapping[str, Any], error: Exception) -> bool:
        if self.structured or request.get("response_format") is not RESPONSE_FORMAT or not refuses_format(error):
            return False
        with self._format_lock:  # of several requests at a time, one says so
            if self._formats:
                logger.warning("the server takes no JSON schema for %r: asking without from now on", self.model)
            self._formats = False
        return True

    def _check(self, passages: Sequence[Unit]) -> None:
        require("openai", extra="openai")  # its errors are caught
        super()._check(passages)


def _trying_once(client: Any) -> Any:
    """Return a client that tries once: its own retries would multiply ours, and know nothing of other requests."""
    return client.with_options(max_retries=0) if hasattr(client, "with_options") else client


def _is_async(client: Any) -> bool:
    create = getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)
    if not callable(create):
        message = f"expected a client with chat.completions.create, such as openai.OpenAI, got {type(client).__name__}"
        raise InvalidInputError(message)
    # The openai package wraps its methods.
    return inspect.iscoroutinefunction(inspect.unwrap(create))
