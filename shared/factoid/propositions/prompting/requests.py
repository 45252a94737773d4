"""The base class of all propositionizers that prompt a model.

A request that fails is sent again by the client (`with_retries`); a passage that failed is asked
again when its document is added again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypedDict

from tqdm.auto import tqdm

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.forks import Exclusion, at_work
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.concurrency import in_background, in_tasks, in_threads
from factoid.propositions.prompting.cost import ANSWER_RATIO, Usage, rough_tokens
from factoid.propositions.prompting.failures import judge
from factoid.propositions.prompting.prompt import prompt_for, versioned_name
from factoid.propositions.protocol import NoPropositions, Result, in_order
from factoid.units import Unit, whole_number

logger = logging.getLogger(__name__)

# passages that fail before any has an answer: there is no server, or no working model
_PATIENCE = 8
# tuples, because servers also send lists, which no set takes
_CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")
_REFUSALS = ("content_filter", "refusal", "SAFETY")


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one request."""

    text: str
    finish: str | None = None  # why the model stopped, such as "length" or "content_filter"
    refused: bool = False
    usage: Usage = field(default_factory=lambda: Usage(requests=1))

    def propositions(self) -> list[str]:
        """Return the propositions, or `NoPropositions`."""
        texts = read_propositions(self.text, cut_off=self.finish in _CUT_OFF)
        if texts or not (self.refused or self.finish in _REFUSALS):
            return texts
        return NoPropositions("refusal")


def with_retries(client: Any, max_retries: int) -> Any:
    """Return a client that sends a failed request again, up to so often.

    A client without such an option, such as a fake, stays as it is.
    """
    if hasattr(client, "with_options"):
        return client.with_options(max_retries=max_retries)
    return client


class ModelKwargs(TypedDict, total=False):
    """The options of a model that is asked: see `factoid.PromptPropositionizer`."""

    max_concurrency: int
    prompt: str | None
    requests_per_minute: float | None
    tokens_per_minute: float | None


class ChatKwargs(ModelKwargs, total=False):
    """The options of a `ChatPropositionizer`."""

    progress: bool


class ChatPropositionizer(ABC):
    """Decompose passages with a chat model, one request for each passage, several at a time.

    Subclasses send one prompt. `PromptPropositionizer` documents the common options.
    """

    costly = True
    model: str
    _can_send = True
    _can_asend = True
    _arguments: Mapping[str, Any] = {}
    _address = "the model"

    def __init__(
        self,
        *,
        max_concurrency: int = 8,
        prompt: str | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        progress: bool = False,
    ) -> None:
        self.max_concurrency = whole_number("max_concurrency", max_concurrency)
        self.prompt = prompt
        self.progress = progress
        self._pace = Pace(requests_per_minute, tokens_per_minute)
        self.usage = Usage()  # tokens of all answers so far, as reported by the server
        self._alone = Exclusion()
        self._answered = False  # whether any request had an answer so far, if only an error
        self._unanswered = 0  # requests without one

    @property
    def name(self) -> str:
        """Model and prompt."""
        return versioned_name(self.model, self.prompt)

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order.

        `NoPropositions` for one that failed.
        After an interrupt no further passages are sent; requests under way end in the background.

        Raises:
            PropositionizerError: The client is async, no request has an answer, or the server
                rejects something that concerns every passage: the key, the model, the arguments, an
                exhausted quota.
        """
        return in_order(self.stream(passages))

    async def apropositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Do the same as `propositionize` without blocking the event loop.

        After a cancellation no further requests are sent.
        """
        async with aclosing(self.astream(passages)) as results:
            return in_order([result async for result in results])

    def stream(self, passages: Sequence[Unit]) -> Generator[Result]:
        """Yield the position of each passage and its propositions as they arrive.

        Raises as `propositionize` does.
        """
        if not self._can_send:
            raise PropositionizerError(
                "propositionize() needs a synchronous client, got an async one: await "
                "apropositionize(), or pass openai.OpenAI(...)"
            )
        with (
            self._bar(len(passages)) as bar,
            closing(self._threads(passages, threading.Event())) as results,
        ):
            for result in results:
                bar.update()
                yield result

    async def astream(self, passages: Sequence[Unit]) -> AsyncGenerator[Result]:
        """Do the same as `stream` without blocking the event loop."""
        stop = threading.Event()
        results = in_background(self._threads(passages, stop), stop)
        if self._can_asend:
            results = in_tasks(
                partial(self._aask, len(passages)), passages, width=self.max_concurrency
            )
        with self._bar(len(passages)) as bar:
            async with aclosing(results):
                async for result in results:
                    bar.update()
                    yield result

    def _threads(self, passages: Sequence[Unit], stop: threading.Event) -> Generator[Result]:
        return in_threads(
            partial(self._ask, len(passages), stop), passages, width=self.max_concurrency, stop=stop
        )

    def _bar(self, total: int) -> tqdm[Any]:
        hidden = not self.progress or total < 2
        return tqdm(total=total, desc="propositions", unit=" requests", disable=hidden)

    # One passage of a call with `count` of them

    def _ask(self, count: int, stop: threading.Event, passage: Unit) -> list[str]:
        prompt, tokens = self._prompt(passage)
        while not stop.wait(self._pace.take(tokens)):
            request = self.request_for(prompt)
            try:
                return self._read(self._send(request), tokens)
            except Exception as error:  # noqa: BLE001 - judged
                failed = self._failed(error, request, count)
            if failed is not None:
                return failed
        return NoPropositions("interrupted", transient=True)

    async def _aask(self, count: int, passage: Unit) -> list[str]:
        prompt, tokens = self._prompt(passage)
        while True:
            await asyncio.sleep(self._pace.take(tokens))
            request = self.request_for(prompt)
            try:
                return self._read(await self._asend(request), tokens)
            except Exception as error:  # noqa: BLE001 - judged
                failed = self._failed(error, request, count)
            if failed is not None:
                return failed

    def _prompt(self, passage: Unit) -> tuple[str, int]:
        """Return the prompt of a passage, and about how many tokens it and its answer have."""
        prompt = prompt_for(passage, self.prompt)
        return prompt, rough_tokens(prompt) + round(
            ANSWER_RATIO * rough_tokens(passage.search_text)
        )

    def _read(self, reply: Reply, expected: int) -> list[str]:
        """Count the tokens of an answer, and return its propositions."""
        with at_work(), self._alone.lock:
            self.usage += reply.usage
            self._answered = True
        if used := reply.usage.prompt_tokens + reply.usage.completion_tokens:
            self._pace.correct(used - expected)
        return reply.propositions()

    def _failed(self, error: Exception, request: Any, count: int) -> NoPropositions | None:
        """Return the result for a passage whose request failed, None to send another one.

        Raise what every passage would.
        """
        if self._adapts(request, error):
            return None
        failure = judge(error)
        if failure is None:
            raise error
        if failure.remedy:
            remedy = failure.remedy.format(arguments=", ".join(self._arguments))
            problem = (
                f"requests for the model {self.model!r} are rejected: {str(error).rstrip('.')}"
            )
            raise PropositionizerError(f"{problem}. {remedy}") from error
        level = logging.INFO if failure.transient else logging.WARNING
        logger.log(level, "no propositions for a passage: %s: %s", type(error).__name__, error)
        patience = max(_PATIENCE, self.max_concurrency)
        if "Connect" in failure.reason:
            patience = min(patience, count)
        with at_work(), self._alone.lock:
            self._answered |= failure.answered
            self._unanswered += 1
            is_hopeless = self._unanswered >= patience
        if is_hopeless and not self._answered:
            raise PropositionizerError(
                f"no request to {self._address} has been answered so far, the last error: "
                f"{error!r}. Check the client's base_url, and that the server and the model work"
            ) from error
        # Before the first answer, the model may be set up wrongly.
        return NoPropositions(failure.reason, transient=failure.transient or not self._answered)

    def request_for(self, passage_prompt: str) -> Any:
        """Return the argument of `_send` and `_asend`."""
        return passage_prompt

    def _adapts(self, request: Any, error: Exception) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether further requests are made differently because of this error."""
        return False

    @abstractmethod
    def _send(self, request: Any) -> Reply:
        """Send one request; errors go through `judge`."""

    @abstractmethod
    async def _asend(self, request: Any) -> Reply:
        """Do the same as `_send` without blocking the event loop."""


# -- Limits of requests and tokens per minute --


class Pace:
    """Spreads requests and tokens evenly, over all threads and event loops that share it.

    Servers also count in windows shorter than a minute. Nothing here sleeps.
    """

    def __init__(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        limits = {
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
        }
        for name, limit in limits.items():
            if limit is not None and not limit > 0:
                raise InvalidInputError(
                    f"{name} must be above 0, or None for no limit, got {limit}"
                )
        self._per_request = _seconds(requests_per_minute)
        self._per_token = _seconds(tokens_per_minute)
        self._next_request = self._next_token = float("-inf")
        self._alone = Exclusion()

    def take(self, tokens: int) -> float:
        """Count a request, and return the seconds to wait before it is sent.

        It is expected to use some tokens.
        """
        with at_work(), self._alone.lock:
            now = time.monotonic()
            start = max(now, self._next_request, self._next_token)
            self._next_request = start + self._per_request
            self._next_token = start + self._per_token * tokens
            return start - now

    def correct(self, tokens: int) -> None:
        """Count tokens beyond those expected; a negative number for fewer."""
        with at_work(), self._alone.lock:
            self._next_token += self._per_token * tokens


def _seconds(per_minute: float | None) -> float:
    """Return the seconds that each takes of so many in a minute; 0 without a limit."""
    if not per_minute:
        return 0.0
    return 60 / per_minute
