"""What all propositionizers that prompt a model share: requests side by side, limits, further tries, accounts."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, closing
from inspect import signature
from typing import Any

from tqdm.auto import tqdm

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.caching.file import PropositionCache
from factoid.propositions.prompting.answers import Reply
from factoid.propositions.prompting.cost import ANSWER_RATIO, Estimate, Prices, Usage, estimate, rough_tokens
from factoid.propositions.prompting.failures import BAD_ADDRESS, UNREACHED, advice, judge
from factoid.propositions.prompting.pacing import Pace, RetryPolicy, Tries
from factoid.propositions.prompting.prompt import PROMPT_VERSION, passage_input, prompt_for
from factoid.propositions.prompting.side_by_side import in_tasks, in_threads, threaded
from factoid.propositions.protocol import NoPropositions
from factoid.propositions.streams import Result, in_order
from factoid.units import Unit, content_id

logger = logging.getLogger(__name__)

_HOPELESS = 16  # passages in a row that were given up: the next ones get one try each, until one succeeds
_UNHEARD = 8  # passages that were given up before the server was reached at all: it is not there


class ChatPropositionizer(ABC):
    """Decomposes passages by asking a chat model, one request for each passage, several at a time.

    Subclasses send one prompt; see `PromptPropositionizer` for what is common to all.
    """

    costly = True
    model: str

    def __init__(
        self,
        *,
        max_concurrency: int = 8,
        prompt: str | None = None,
        max_retries: int = 6,
        retry_seconds: float = 600.0,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        show_progress: bool = False,
    ) -> None:
        if max_concurrency < 1:
            message = f"max_concurrency must be at least 1, got {max_concurrency}"
            raise InvalidInputError(message)
        self.max_concurrency = max_concurrency
        self.prompt = prompt
        self.show_progress = show_progress
        self._policy = RetryPolicy(max_retries, retry_seconds)
        self._pace = Pace(requests_per_minute, tokens_per_minute)
        self._usage = Usage()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Model and prompt: what the answers depend on, besides the passage."""
        return versioned_name(self.model, self.prompt)

    @property
    def usage(self) -> Usage:
        """Tokens of all answers so far, as the server reports them; `Prices.cost` tells what they cost."""
        return self._usage

    def estimate(
        self,
        passages: Iterable[Unit],
        prices: Prices | None = None,
        *,
        cache: PropositionCache | None = None,
        sample: Usage | None = None,
    ) -> Estimate:
        """Return what decomposing passages would cost. Nothing is sent; see `factoid.propositions.prompting.cost.estimate`."""
        return estimate(
            passages, prices, model=self.model, prompt=self.prompt, name=self.name, cache=cache, sample=sample
        )

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order; `NoPropositions` for one that failed.

        An interrupt sends no further requests; those under way end in the background.

        Raises:
            PropositionizerError: The client is async only, no request reached the server, or it refuses what would be
                refused for every passage: the key, the model, the arguments, an exhausted quota.
            MissingDependencyError: The client's package is not installed.
            InvalidInputError: A passage holds lone surrogates.
        """
        return in_order(self.stream(passages))

    async def apropositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Do as `propositionize`, without blocking the event loop. Cancelling it sends no further requests."""
        async with aclosing(self.astream(passages)) as results:
            return in_order([result async for result in results])

    def stream(self, passages: Sequence[Unit]) -> Generator[Result]:
        """Yield the position of each passage and its propositions as soon as they are there, in any order.

        Errors are those of `propositionize`; what was yielded before one is valid.
        """
        self._check(passages)
        if not self._can_send:
            message = (
                "propositionize() needs a synchronous client, got only an async one: await apropositionize(), or pass "
                "client=openai.OpenAI(...) with async_client=..."
            )
            raise PropositionizerError(message)
        call = _Call(self, len(passages))

        def ask(passage: Unit) -> list[str]:
            return self._ask(passage, call)

        with call.bar, closing(in_threads(ask, passages, width=self.max_concurrency, stop=call.stop)) as results:
            for position, texts in results:
                yield from call.arrived(position, texts)
            call.check_reached()

    async def astream(self, passages: Sequence[Unit]) -> AsyncGenerator[Result]:
        """Do as `stream`, without blocking the event loop."""
        self._check(passages)
        call = _Call(self, len(passages))
        width = self.max_concurrency

        async def ask(passage: Unit) -> list[str]:
            return await self._aask(passage, call)

        async with AsyncExitStack() as stack:
            stack.enter_context(call.bar)
            work: Callable[[Unit], Awaitable[list[str]]] = ask
            if not self._can_asend:
                work = await stack.enter_async_context(
                    threaded(lambda passage: self._ask(passage, call), width=width, stop=call.stop)
                )
            results = await stack.enter_async_context(aclosing(in_tasks(work, passages, width=width)))
            async for position, texts in results:
                for result in call.arrived(position, texts):
                    yield result
            call.check_reached()

    # One passage

    def _ask(self, passage: Unit, call: _Call) -> list[str]:
        prompt, tries = self._begin(passage)
        while tries.result is None and not call.stop.is_set():
            if seconds := tries.wait():
                self._pace.clock.sleep(seconds, call.stop)
            elif tries.result is None:
                try:
                    tries.result = self._paid(self._send(prompt), tries)
                except Exception as error:
                    if not self._judged(error, tries, call):
                        raise
        return NoPropositions("interrupted", transient=True) if tries.result is None else tries.result

    async def _aask(self, passage: Unit, call: _Call) -> list[str]:
        prompt, tries = self._begin(passage)
        while tries.result is None:
            if seconds := tries.wait():
                await self._pace.clock.asleep(seconds)
            elif tries.result is None:
                try:
                    tries.result = self._paid(await self._asend(prompt), tries)
                except Exception as error:
                    if not self._judged(error, tries, call):
                        raise
        return tries.result

    def _begin(self, passage: Unit) -> tuple[str, Tries]:
        prompt = prompt_for(passage, self.prompt)
        tries = Tries(self._pace, self._policy, rough_tokens(prompt) + round(ANSWER_RATIO * rough_tokens(passage.text)))
        if not passage.text.strip():
            tries.result = NoPropositions("empty passage")
        return prompt, tries

    def _paid(self, reply: Reply, tries: Tries) -> list[str]:
        with self._lock:
            self._usage += reply.usage
        if used := reply.usage.prompt_tokens + reply.usage.completion_tokens:
            self._pace.correct(used - tries.tokens)
        return reply.texts

    def _judged(self, error: Exception, tries: Tries, call: _Call) -> bool:
        """Note a failed request; tell whether the error is that of a request. Raise what would fail for every one."""
        failure = judge(error)
        if failure is None:
            return False
        logger.info("a request failed: %s: %s", type(error).__name__, error)
        if failure.fatal:
            said = "no request can be sent" if failure.reason == BAD_ADDRESS else "the server refuses requests"
            to_do = advice(failure, address=self._address, arguments=self._arguments)
            message = f"{said} for the model {self.model!r}: {str(error).rstrip('.')}. {to_do}"
            raise PropositionizerError(message) from error
        tries.failed(failure, again=not call.hopeless)
        return True

    # What subclasses say

    _can_send = True
    _can_asend = True
    _arguments: Mapping[str, Any] = {}
    _address = "the server"

    @abstractmethod
    def _send(self, prompt: str) -> Reply:
        """Send one request, once; errors go through `judge`."""

    @abstractmethod
    async def _asend(self, prompt: str) -> Reply:
        """Do as `_send`, without blocking the event loop."""

    def _check(self, passages: Sequence[Unit]) -> None:
        """Refuse passages that cannot be sent before any request is paid for."""
        for passage in passages:
            passage_input(passage)


class _Call:
    """One call: what has arrived, and whether to go on."""

    def __init__(self, owner: ChatPropositionizer, count: int) -> None:
        self.stop = threading.Event()
        hidden = not owner.show_progress or count < 2
        self.bar: tqdm[Any] = tqdm(total=count, desc="propositions", unit=" passages", disable=hidden)
        self._address = owner._address
        self._patience = max(_UNHEARD, owner.max_concurrency)
        self._reached = False
        self._unheard: list[Result] = []
        self._given_up = 0

    @property
    def hopeless(self) -> bool:
        """Whether so many passages in a row were given up that trying again is a waste of time."""
        return self._given_up >= _HOPELESS

    def arrived(self, position: int, texts: list[str]) -> list[Result]:
        """Return the results that can be handed out now.

        Raises:
            PropositionizerError: So many requests could not be sent, and none could, that there is no server.
        """
        self.bar.update()
        reason = getattr(texts, "reason", "")
        self._given_up = self._given_up + 1 if getattr(texts, "transient", False) else 0
        if reason == UNREACHED and not self._reached:
            self._unheard.append((position, texts))
            if len(self._unheard) > self._patience:
                self.check_reached()
            return []
        if reason == "empty passage":  # was not sent
            return [(position, texts)]
        self._reached = True
        released = [*self._unheard, (position, texts)]
        self._unheard.clear()
        return released

    def check_reached(self) -> None:
        """Refuse results where no request at all reached the server: that is no property of the passages."""
        if self._unheard:
            message = f"no request reached {self._address}: check the client's base_url and that the server runs"
            raise PropositionizerError(message)


def versioned_name(model: str, prompt: str | None = None) -> str:
    """Return the name of a propositionizer: its model and its prompt, None for Figure 8."""
    return f"{model}@{PROMPT_VERSION if prompt is None else f'prompt {content_id(prompt)}'}"


def split_options(kind: type, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options that a class takes by name, and the others."""
    own = signature(kind).parameters.keys() & options.keys()
    return {key: options[key] for key in own}, {key: value for key, value in options.items() if key not in own}
