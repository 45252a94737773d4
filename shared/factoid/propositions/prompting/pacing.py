"""Decide when requests are sent: rate limits, pauses for all requests, and retries with exponential backoff.

Nothing here sleeps or sends; threads and event loops ask how long to wait.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time

from factoid.errors import InvalidInputError
from factoid.propositions.prompting.failures import Failure
from factoid.propositions.protocol import NoPropositions

_LATE = 0.05  # seconds that a request may be late without delaying the next ones


class Clock:
    """The time, and ways to let it pass. Tests use another one."""

    time = staticmethod(time.monotonic)
    asleep = staticmethod(asyncio.sleep)

    def sleep(self, seconds: float, stop: threading.Event) -> None:
        """Sleep until the time is over or the event is set."""
        stop.wait(seconds)


class Pace:
    """Schedules the next request, over all threads and event loops that share it.

    Requests are spread evenly, because servers also count in windows shorter than a minute.
    """

    def __init__(
        self, max_retries: int, retry_seconds: float, requests_per_minute: float | None, tokens_per_minute: float | None
    ) -> None:
        limits = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
        for name, limit in limits.items():
            if limit is not None and not limit > 0:
                raise InvalidInputError(f"{name} must be above 0, or None for no limit, got {limit}")
        self.max_retries, self.retry_seconds = max_retries, retry_seconds
        self.clock = Clock()
        self._per_request, self._per_token = (60 / limit if limit else 0.0 for limit in limits.values())
        self._next_request = self._next_token = float("-inf")
        self._lock = threading.Lock()

    def acquire(self, tokens: int) -> float:
        """Return 0 and count a request if it may be sent now, else the seconds until it may be."""
        with self._lock:
            now = self.clock.time()
            turn = max(self._next_request, self._next_token)
            if turn > now:
                return turn - now
            start = max(turn, now - _LATE)
            self._next_request = start + self._per_request
            self._next_token = start + self._per_token * tokens
            return 0.0

    def correct(self, tokens: int) -> None:
        """Count tokens beyond those expected; a negative number for fewer."""
        with self._lock:
            self._next_token += self._per_token * tokens

    def pause(self, until: float) -> None:
        """Hold back all requests until a given time."""
        with self._lock:
            self._next_request = max(self._next_request, until)


class Tries:
    """The tries of one request, expected to use some `tokens`; `result` is None until an answer or the last failure."""

    def __init__(self, pace: Pace, tokens: int) -> None:
        self.result: list[str] | None = None
        self.tokens, self._pace, self._failures = tokens, pace, 0
        self._last = NoPropositions("rate limit", transient=True)
        self._began = self._not_before = pace.clock.time()

    def wait(self) -> float:
        """Return the seconds to sleep before calling this again; 0 if the request may be sent or has a result."""
        now = self._pace.clock.time()
        if now < self._not_before:
            return self._not_before - now
        if not self._failures:
            self._began = now
        seconds = self._pace.acquire(self.tokens)
        if not self._is_in_time(now + seconds):
            self.result = self._last
            return 0.0
        return seconds

    def fail(self, failure: Failure, *, again: bool) -> None:
        """Count a failed try; `again` is whether another one is wanted."""
        self._last = NoPropositions(failure.reason, transient=failure.transient)
        self._failures += 1
        self._not_before = self._pace.clock.time() + backoff(failure, self._failures)
        if failure.everybody:
            self._pace.pause(self._not_before)
        again = again and failure.transient and self._failures <= self._pace.max_retries
        if not again or not self._is_in_time(self._not_before):
            self.result = self._last

    def _is_in_time(self, moment: float) -> bool:
        return moment - self._began <= self._pace.retry_seconds


def backoff(failure: Failure, failures: int) -> float:
    """Return the seconds before the next try: the server's, else with full jitter up to 1, 2, 4 ... 60."""
    if failure.wait is not None:
        return failure.wait
    return random.uniform(0, min(60.0, 2.0 ** (failures - 1)))  # noqa: S311 - no secret
