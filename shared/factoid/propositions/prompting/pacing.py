"""When requests are sent: rate limits, pauses for everybody, and further tries with exponential backoff.

Nothing here sleeps or sends; threads and event loops ask how long to wait, and wait in their own way. That is why no
library for retries is used: those wrap one function, and here a 429 to one request holds all others back, and limits
count across them.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from dataclasses import dataclass

from factoid.errors import InvalidInputError
from factoid.propositions.prompting.failures import Failure
from factoid.propositions.protocol import NoPropositions

logger = logging.getLogger(__name__)

_FIRST, _LONGEST = 0.5, 60.0  # seconds: the backoff's mean doubles from half the first to half the longest


class Clock:
    """The time, and ways to let it pass. Tests have another one."""

    def time(self) -> float:
        """Return seconds since some moment."""
        return time.monotonic()

    def sleep(self, seconds: float, stop: threading.Event) -> None:
        """Sleep, unless it is time to stop."""
        stop.wait(seconds)

    async def asleep(self, seconds: float) -> None:
        """Sleep, in an event loop."""
        await asyncio.sleep(seconds)


class Pace:
    """When the next request may be sent, over all threads and event loops that share it.

    Limits are kept by spreading requests evenly: servers count in windows shorter than a minute, too.

    Args:
        requests_per_minute: Most requests; None for no limit.
        tokens_per_minute: Most tokens, of prompts and answers together; None for no limit.
        clock: The time.

    Raises:
        InvalidInputError: A limit is not above 0.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Clock | None = None,
    ) -> None:
        limits = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
        for name, limit in limits.items():
            if limit is not None and not limit > 0:
                message = f"{name} must be above 0, or None for no limit, got {limit}"
                raise InvalidInputError(message)
        self.clock = clock or Clock()
        self._per_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._per_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._requests_from = self._tokens_from = self._paused_until = float("-inf")
        self._lock = threading.Lock()

    def reserve(self, tokens: int) -> float:
        """Take the next place in line, and return the seconds until its turn."""
        with self._lock:
            now = self.clock.time()
            turn = max(now, self._requests_from, self._tokens_from, self._paused_until)
            self._requests_from = turn + self._per_request
            self._tokens_from = turn + self._per_token * tokens
            return turn - now

    def correct(self, tokens: int) -> None:
        """Count more tokens than were reserved, or fewer (below 0)."""
        with self._lock:
            self._tokens_from += self._per_token * tokens

    def pause(self, seconds: float) -> None:
        """Send nothing for some time."""
        with self._lock:
            self._paused_until = max(self._paused_until, self.clock.time() + seconds)

    @property
    def paused(self) -> float:
        """Seconds for which nothing is to be sent."""
        return max(0.0, self._paused_until - self.clock.time())


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to go on trying.

    Args:
        tries: Most further tries of one request.
        seconds: No further try begins later than this after the first one began.

    Raises:
        InvalidInputError: A number below 0.
    """

    tries: int
    seconds: float

    def __post_init__(self) -> None:
        if self.tries < 0 or not self.seconds >= 0:
            message = f"max_retries and retry_seconds must be at least 0, got {self.tries} and {self.seconds}"
            raise InvalidInputError(message)


class Tries:
    """The tries of one request.

    Attributes:
        result: What came of it in the end; None as long as it is to be tried.
        tokens: How many it is expected to use.
    """

    def __init__(self, pace: Pace, policy: RetryPolicy, tokens: int) -> None:
        self.result: list[str] | None = None
        self._pace, self._policy, self.tokens = pace, policy, tokens
        self._failed = 0
        self._last = NoPropositions("rate limit", transient=True)
        self._reserved = False
        self._not_before = self._began = float("-inf")

    def wait(self) -> float:
        """Return the seconds to sleep before calling this again; 0 if the request may be sent, or has a result now."""
        now = self._pace.clock.time()
        if now < self._not_before:
            return self._not_before - now
        if self._reserved and not self._pace.paused:
            self._reserved = False
            self._began = self._began if self._failed else now
            return 0.0
        if self._too_late(now + self._pace.paused):
            self.result = self._last
            return 0.0
        self._reserved = True
        self._not_before = now + self._pace.reserve(self.tokens)
        return self.wait()

    def failed(self, failure: Failure, *, again: bool = True) -> None:
        """Note how a try failed; `again` is False where no further one is wanted."""
        self._last = NoPropositions(failure.reason, transient=failure.transient)
        self._failed += 1
        jitter = random.uniform(0, min(_LONGEST, _FIRST * 2**self._failed))  # noqa: S311 - no secret
        delay = jitter if failure.wait is None else failure.wait
        if failure.everybody:
            self._pace.pause(delay)
        self._not_before = self._pace.clock.time() + delay
        if not (failure.transient and again) or self._failed > self._policy.tries or self._too_late(self._not_before):
            self.result = self._last
        else:
            logger.info("%s: another try in %.1f s", failure.reason, delay)

    def _too_late(self, moment: float) -> bool:
        began = self._began if self._failed else self._pace.clock.time()
        return moment - began > self._policy.seconds
