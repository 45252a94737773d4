"""Propositions by prompting a chat model behind an OpenAI-compatible interface (Dense X Retrieval, §3 and Figure 8)."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from factoid._optional import require
from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompt import PROMPT_VERSION, passage_input, prompt_for
from factoid.propositions.protocol import NoPropositions
from factoid.units import Unit, content_id

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

logger = logging.getLogger(__name__)

# What the server would refuse for every passage: the request as such, the key, the model, the arguments. The
# exceptions, with status 400, are about one passage, in the words of OpenAI, Azure, vLLM and llama.cpp.
_UNREACHED = "connection failed"
_REFUSED = frozenset({400, 401, 403, 404, 422})
_TOO_LONG = re.compile(r"context.?(?:length|size|window)|string_above_max_length|too long", re.IGNORECASE)
_FILTERED = re.compile(r"content.?(?:filter|policy|management)", re.IGNORECASE)


class PromptPropositionizer:
    """Decomposes passages by asking a chat model, one request for each passage, several at a time.

    The client is yours: its key, address (`base_url`), time-out and retries are used as they are. A passage whose
    request fails or whose answer holds no list gives `NoPropositions` with the reason; the others go on.

    Args:
        client: `openai.OpenAI`, `openai.AsyncOpenAI` or an object with the same `chat.completions.create`; None if
            there is only an `async_client`.
        model: Name of the model, as the server knows it.
        async_client: Used by `apropositionize`. Without one, it runs `client` in threads.
        max_concurrency: Most requests under way at a time, for each call.
        temperature: 0 for the likeliest answer; None to send none, as models that reason demand.
        max_tokens: Most tokens of an answer; None to send no limit. Of an answer that is cut off the complete
            propositions are kept.
        prompt: Instructions, and examples if any, to stand before the passage; None for Figure 8 of the paper.
        options: Further arguments of `chat.completions.create`, such as `{"max_completion_tokens": 2000, "seed": 1}`.
        show_progress: Whether to show a bar when there is more than one passage.

    Raises:
        InvalidInputError: There is no client, it has no `chat.completions.create`, or `max_concurrency` is below 1.
    """

    def __init__(
        self,
        client: OpenAI | AsyncOpenAI | Any | None,
        model: str,
        *,
        async_client: AsyncOpenAI | Any | None = None,
        max_concurrency: int = 8,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        prompt: str | None = None,
        options: Mapping[str, Any] | None = None,
        show_progress: bool = False,
    ) -> None:
        if max_concurrency < 1:
            message = f"max_concurrency must be at least 1, got {max_concurrency}"
            raise InvalidInputError(message)
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
        self.max_concurrency = max_concurrency
        self.prompt = prompt
        self.show_progress = show_progress
        chosen = {"temperature": temperature, "max_tokens": max_tokens}
        self._arguments = {key: value for key, value in chosen.items() if value is not None} | dict(options or {})

    @property
    def name(self) -> str:
        """Model and prompt: what the answers depend on, besides the passage."""
        version = PROMPT_VERSION if self.prompt is None else f"prompt {content_id(self.prompt)}"
        return f"{self.model}@{version}"

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order; `NoPropositions` for one that failed.

        An interrupt sends no further requests; those under way end in the background.

        Raises:
            PropositionizerError: The client is async only, or the server refuses what would be refused for every
                passage: the key, the model, the arguments, an exhausted quota.
            MissingDependencyError: openai is not installed.
            InvalidInputError: A passage holds lone surrogates.
        """
        if self.client is None:
            message = (
                "propositionize() needs a synchronous client, got only an async one: await apropositionize(), or pass "
                "client=openai.OpenAI(...) with async_client=..."
            )
            raise PropositionizerError(message)
        openai = _checked(passages)
        executor = ThreadPoolExecutor(self.max_concurrency, thread_name_prefix="propositions")
        try:
            futures = [executor.submit(self._ask, passage, openai) for passage in passages]
            with self._bar(passages) as bar:
                for future in as_completed(futures):
                    future.result()
                    bar.update()
            return _reached([future.result() for future in futures], self.client)
        except PropositionizerError:
            executor.shutdown(cancel_futures=True)  # the client may be closed next: let requests under way end
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    async def apropositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Do as `propositionize`, without blocking the event loop. Cancelling it sends no further requests."""
        openai = _checked(passages)
        if self.async_client is not None:
            turns = asyncio.Semaphore(self.max_concurrency)
            tasks = [asyncio.create_task(self._aask(passage, openai, turns)) for passage in passages]
            return _reached(await self._gather(tasks, passages), self.async_client)
        # Threads of its own: the loop's default executor may have fewer than max_concurrency.
        executor = ThreadPoolExecutor(self.max_concurrency, thread_name_prefix="propositions")
        loop = asyncio.get_running_loop()
        try:
            futures = [loop.run_in_executor(executor, self._ask, passage, openai) for passage in passages]
            return _reached(await self._gather(futures, passages), self.client)
        except PropositionizerError:
            await asyncio.to_thread(executor.shutdown, cancel_futures=True)
            raise
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    async def _gather(self, futures: Sequence[asyncio.Future[list[str]]], passages: Sequence[Unit]) -> list[list[str]]:
        try:
            with self._bar(passages) as bar:
                for future in futures:
                    future.add_done_callback(lambda _: bar.update())
                return await asyncio.gather(*futures)
        finally:
            for future in futures:
                future.cancel()
            await asyncio.gather(*futures, return_exceptions=True)

    def _ask(self, passage: Unit, openai: ModuleType) -> list[str]:
        if not passage.text.strip():
            return NoPropositions("empty passage")
        try:
            response = self.client.chat.completions.create(**self._request(passage))
        except (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            return self._failed(error, openai)
        return self._read(response)

    async def _aask(self, passage: Unit, openai: ModuleType, turns: asyncio.Semaphore) -> list[str]:
        if not passage.text.strip():
            return NoPropositions("empty passage")
        async with turns:
            try:
                response = await self.async_client.chat.completions.create(**self._request(passage))
            except (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError) as error:
                return self._failed(error, openai)
        return self._read(response)

    def _request(self, passage: Unit) -> dict[str, Any]:
        content = prompt_for(passage, self.prompt)
        return {"model": self.model, "messages": [{"role": "user", "content": content}], **self._arguments}

    def _failed(self, error: Exception, openai: ModuleType) -> NoPropositions:
        """Return the reason, or raise what would fail for every passage."""
        status, code = getattr(error, "status_code", None), getattr(error, "code", None)
        logger.info("a request failed: %s: %s", type(error).__name__, error)
        if isinstance(error, openai.BadRequestError):
            if _FILTERED.search(f"{code} {error}"):
                return NoPropositions("refusal")
            if _TOO_LONG.search(f"{code} {error}"):
                return NoPropositions("passage too long")
        if status in _REFUSED or code == "insufficient_quota":
            message = (
                f"the server refuses requests for the model {self.model!r}: {error}. Check the client's key and "
                f"base_url, the name of the model, and whether it takes these arguments: {self._arguments or 'none'}"
            )
            raise PropositionizerError(message) from error
        if isinstance(error, openai.APITimeoutError):
            return NoPropositions("request timed out")
        if isinstance(error, openai.APIConnectionError):
            return NoPropositions(_UNREACHED)
        return NoPropositions(f"HTTP error {status}" if status and status >= 400 else "unreadable response")

    def _read(self, response: Any) -> list[str]:
        if isinstance(response, str):
            message = (
                f"expected a chat completion from the server, got text, {response[:80]!r}: check the client's "
                "base_url, which for most servers ends in /v1"
            )
            raise PropositionizerError(message)
        choice = next(iter(getattr(response, "choices", None) or ()), None)
        if choice is None or choice.message is None:
            return NoPropositions("empty output")
        finish = getattr(choice, "finish_reason", None)
        texts = read_propositions(choice.message.content or "", cut_off=finish == "length")
        refusal = getattr(choice.message, "refusal", None) or finish == "content_filter"
        return NoPropositions("refusal") if refusal and not texts else texts

    def _bar(self, passages: Sequence[Unit]) -> tqdm[Any]:
        hidden = not self.show_progress or len(passages) < 2
        return tqdm(total=len(passages), desc="propositions", unit="passage", disable=hidden)


def _reached(results: list[list[str]], client: Any) -> list[list[str]]:
    """Return the results, unless no request at all reached the server: that is no property of the passages."""
    if results and all(isinstance(texts, NoPropositions) and texts.reason == _UNREACHED for texts in results):
        address = getattr(client, "base_url", "the server")
        message = f"no request reached {address}: check the client's base_url and that the server runs"
        raise PropositionizerError(message)
    return results


def _checked(passages: Sequence[Unit]) -> ModuleType:
    """Refuse passages that cannot be sent before any request is paid for, and import the errors to catch."""
    for passage in passages:
        passage_input(passage)
    return require("openai", extra="openai")


def _is_async(client: Any) -> bool:
    create = getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)
    if not callable(create):
        message = f"expected a client with chat.completions.create, such as openai.OpenAI, got {type(client).__name__}"
        raise InvalidInputError(message)
    # The openai package wraps its methods.
    return inspect.iscoroutinefunction(inspect.unwrap(create))
