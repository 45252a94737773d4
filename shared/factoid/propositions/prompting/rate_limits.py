"""Keep within limits of requests and tokens per minute."""

from __future__ import annotations

import time

from factoid.errors import InvalidInputError
from factoid.forks import Exclusion, at_work


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
