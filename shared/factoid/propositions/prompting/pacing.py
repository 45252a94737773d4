"""Keep to the rate limits of a server."""

from __future__ import annotations

import threading
import time

from factoid.errors import InvalidInputError


class Pace:
    """Spreads requests and tokens evenly, over all threads and event loops that share it.

    Servers also count in windows shorter than a minute. Nothing here sleeps.
    """

    def __init__(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        limits = {"requests_per_minute": requests_per_minute, "tokens_per_minute": tokens_per_minute}
        for name, limit in limits.items():
            if limit is not None and not limit > 0:
                raise InvalidInputError(f"{name} must be above 0, or None for no limit, got {limit}")
        self._per_request, self._per_token = (60 / limit if limit else 0.0 for limit in limits.values())
        self._next_request = self._next_token = float("-inf")
        self._lock = threading.Lock()

    def take(self, tokens: int) -> float:
        """Count a request, expected to use some tokens, and return the seconds to wait before it is sent."""
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next_request, self._next_token)
            self._next_request = start + self._per_request
            self._next_token = start + self._per_token * tokens
            return start - now

    def correct(self, tokens: int) -> None:
        """Count tokens beyond those expected; a negative number for fewer."""
        with self._lock:
            self._next_token += self._per_token * tokens
