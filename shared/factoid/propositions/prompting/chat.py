"""The base class of all propositionizers that prompt a model: concurrent requests, limits, retries and usage."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, NoReturn

from tqdm.auto import tqdm

from factoid.errors import PropositionizerError
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.concurrency import in_background, in_tasks, in_threads
from factoid.propositions.prompting.cost import ANSWER_RATIO, Estimate, Prices, Usage, estimate, rough_tokens
from factoid.propositions.prompting.failures import RAISED, UNREACHED, judge, judge_raised
from factoid.propositions.prompting.pacing import Pace, Tries
from factoid.propositions.prompting.prompt import prompt_for, versioned_name
from factoid.propositions.protocol import NoPropositions, Result, in_order
from factoid.units import Unit, whole_number

logger = logging.getLogger(__name__)

_HOPELESS = 16  # failed passages in a row: the next ones get one try each, until one succeeds
_PATIENCE = 8  # passages that fail before any succeeds: there is no server, or no working model
REFUSALS = ("content_filter", "refusal", "SAFETY")  # a tuple, because servers also send lists, which no set takes


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of one request: propositions or `NoPropositions`, the tokens used, and the client's own object."""

    texts: list[str]
    usage: Usage = field(default_factory=lambda: Usage(requests=1))
    completion: Any = None


class WithCompletion(list[str]):
    """The texts of an answer, with the client's own object from which they were read."""

    def __init__(self, texts: Iterable[str], completion: Any) -> None:
        super().__init__(texts)
        self.completion = completion


def read_answer(text: str, *, finish: str | None = None, refused: bool = False) -> list[str]:
    """Return the propositions of an answer; `finish` is why the model stopped, such as "length" or "content_filter"."""
    texts = read_propositions(text, cut_off=finish in ("length", "max_tokens", "MAX_TOKENS"))
    return texts if texts or not (refused or finish in REFUSALS) else NoPropositions("refusal")


@dataclass(frozen=True, slots=True)
class Task:
    """What a chat model is asked to do with a unit."""

    noun: str  # what is requested, for progress bars and logs
    prompt: Callable[[Unit, str | None], str]  # makes the prompt of a unit and the caller's instructions, if any
    read: Callable[..., list[str]]  # reads an answer, as `read_answer` does
    name: Callable[[str, str | None], str]  # names a model and the caller's instructions for caches
    keeps_completions: bool = False  # whether results are `WithCompletion`


PROPOSITIONS = Task("propositions", prompt_for, read_answer, versioned_name)


class ChatPropositionizer(ABC):
    """Decompose passages with a chat model, one request for each passage, several at a time.

    Subclasses send one prompt. `PromptPropositionizer` documents the common options.
    """

    costly = True
    model: str
    _can_send = True
    _can_asend = True
    _arguments: Mapping[str, Any] = {}
    _address = "the server"

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
        task: Task = PROPOSITIONS,
    ) -> None:
        self.max_concurrency = whole_number("max_concurrency", max_concurrency)
        self.prompt = prompt
        self.task = task
        self.show_progress = show_progress
        self._pace = Pace(max_retries, retry_seconds, requests_per_minute, tokens_per_minute)
        self.usage = Usage()  # tokens of all answers so far, as reported by the server
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Model and prompt."""
        return self.task.name(self.model, self.prompt)

    def estimate(self, passages: Iterable[Unit], prices: Prices | None = None, **options: Any) -> Estimate:
        """Return `factoid.propositions.estimate` for this model and prompt; `options` are cache and sample."""
        return estimate(passages, prices, model=self.model, prompt=self.prompt, **options)

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return one list of propositions for each passage, in order; `NoPropositions` for one that failed.

        After an interrupt no further requests are sent; those under way end in the background.

        Raises:
            PropositionizerError: The client is async, no request reached the server, or the server rejects something that
                concerns every passage: the key, the model, the arguments, an exhausted quota.
        """
        return in_order(self.stream(passages))

    async def apropositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Do the same as `propositionize` without blocking the event loop. After a cancellation no further requests are sent."""
        async with aclosing(self.astream(passages)) as results:
            return in_order([result async for result in results])

    def stream(self, passages: Sequence[Unit]) -> Generator[Result]:
        """Yield the position of each passage and its propositions as they arrive; raises as `propositionize` does."""
        if not self._can_send:
            raise PropositionizerError(
                "propositionize() needs a synchronous client, got an async one: await apropositionize(), or pass "
                "openai.OpenAI(...)"
            )
        yield from self._results(_Call(self, passages))

    async def astream(self, passages: Sequence[Unit]) -> AsyncGenerator[Result]:
        """Do the same as `stream` without blocking the event loop."""
        call = _Call(self, passages)
        results = self._aresults(call) if self._can_asend else in_background(self._results(call), call.stop)
        async with aclosing(results):
            async for result in results:
                yield result

    def _results(self, call: _Call) -> Generator[Result]:
        threads = in_threads(partial(self._ask, call), call.passages, width=self.max_concurrency, stop=call.stop)
        with call.bar, closing(threads):
            for result in threads:
                yield from call.receive(result)
            yield from call.finish()

    async def _aresults(self, call: _Call) -> AsyncGenerator[Result]:
        tasks = in_tasks(partial(self._aask, call), call.passages, width=self.max_concurrency)
        with call.bar:
            async with aclosing(tasks):
                async for result in tasks:
                    for released in call.receive(result):
                        yield released
            for released in call.finish():
                yield released

    # One passage

    def _ask(self, call: _Call, passage: Unit) -> list[str]:
        prompt, tries = self._begin(passage)
        while tries.result is None and not call.stop.is_set():
            if seconds := tries.wait():
                self._pace.clock.sleep(seconds, call.stop)
            elif tries.result is None:
                with self._judging(request := self.request_for(prompt), tries, call):
                    self._account(self._send(request), tries)
        return NoPropositions("interrupted", transient=True) if tries.result is None else tries.result

    async def _aask(self, call: _Call, passage: Unit) -> list[str]:
        prompt, tries = self._begin(passage)
        while tries.result is None:
            if seconds := tries.wait():
                await self._pace.clock.asleep(seconds)
            elif tries.result is None:
                with self._judging(request := self.request_for(prompt), tries, call):
                    self._account(await self._asend(request), tries)
        return tries.result

    def _begin(self, passage: Unit) -> tuple[str, Tries]:
        prompt = self.task.prompt(passage, self.prompt)
        tries = Tries(self._pace, rough_tokens(prompt) + round(ANSWER_RATIO * rough_tokens(passage.text)))
        if not passage.text.strip():
            tries.result = NoPropositions("empty passage")
        return prompt, tries

    def _account(self, reply: Reply, tries: Tries) -> None:
        with self._lock:
            self.usage += reply.usage
        if used := reply.usage.prompt_tokens + reply.usage.completion_tokens:
            self._pace.correct(used - tries.tokens)
        keeps = self.task.keeps_completions and not isinstance(reply.texts, NoPropositions)
        tries.result = WithCompletion(reply.texts, reply.completion) if keeps else reply.texts

    @contextmanager
    def _judging(self, request: Any, tries: Tries, call: _Call) -> Iterator[None]:
        """Record a failed request that concerns only its passage. Raise errors that concern every passage, and bugs."""
        try:
            yield
        except Exception as error:
            if self._adapts(request, error):
                return
            failure = judge(error) or judge_raised(error)
            if failure is None:
                raise
            if failure.reason.startswith(RAISED):
                call.raised = error
                logger.warning("no %s for a text: %s: %s", self.task.noun, type(error).__name__, error)
            else:
                logger.info("a request failed: %s: %s", type(error).__name__, error)
            if failure.remedy:
                remedy = failure.remedy.format(address=self._address, arguments=", ".join(self._arguments))
                problem = f"requests for the model {self.model!r} are rejected: {str(error).rstrip('.')}"
                raise PropositionizerError(f"{problem}. {remedy}") from error
            tries.fail(failure, again=call.failures_in_a_row < _HOPELESS)

    def request_for(self, passage_prompt: str) -> Any:
        """Return the argument of `_send` and `_asend`."""
        return passage_prompt

    def _adapts(self, request: Any, error: Exception) -> bool:  # noqa: ARG002 - for subclasses
        """Return whether further requests are made differently because of this error."""
        return False

    @abstractmethod
    def _send(self, request: Any) -> Reply:
        """Send one request once; errors go through `judge`."""

    @abstractmethod
    async def _asend(self, request: Any) -> Reply:
        """Do the same as `_send` without blocking the event loop."""


class _Call:
    """One call: its passages, its results so far, and whether to continue."""

    def __init__(self, propositionizer: ChatPropositionizer, passages: Sequence[Unit]) -> None:
        self.passages = passages
        self.stop = threading.Event()
        noun, hidden = propositionizer.task.noun, not propositionizer.show_progress or len(passages) < 2
        self.bar: tqdm[Any] = tqdm(total=len(passages), desc=noun, unit=" requests", disable=hidden)
        self.raised: Exception | None = None  # the last error of the model itself
        self.failures_in_a_row = 0
        self._address = propositionizer._address
        self._patience = max(_PATIENCE, propositionizer.max_concurrency)
        self._answered = False
        self._withheld: list[Result] = []  # failures that may turn out to concern every passage

    def receive(self, result: Result) -> list[Result]:
        """Return the results that can be passed on now; raise if all of many passages failed."""
        self.bar.update()
        reason = getattr(result[1], "reason", "")
        self.failures_in_a_row = self.failures_in_a_row + 1 if getattr(result[1], "transient", False) else 0
        if reason == "empty passage":  # was not sent
            return [result]
        self._withheld.append(result)
        self._answered |= not reason.startswith((UNREACHED, RAISED))
        if self._answered:
            released, self._withheld = self._withheld, []
            return released
        if len(self._withheld) > self._patience:
            self._refuse()
        return []

    def finish(self) -> list[Result]:
        """Return the remaining results; raise if no request reached the server."""
        if self._withheld and self.raised is None:
            self._refuse()
        return self._withheld

    def _refuse(self) -> NoReturn:
        problem = f"no request reached {self._address}: check the client's base_url and that the server runs"
        if self.raised is not None:
            problem = f"the model raised an error for every passage so far, the last {self.raised!r}"
        raise PropositionizerError(problem) from self.raised


def split_options(function: Callable[..., Any], options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options that a function or a class takes as keyword-only arguments, and the others."""
    parameters = signature(function).parameters.values()
    names = {parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY} & options.keys()
    return {key: options[key] for key in names}, {key: value for key, value in options.items() if key not in names}
