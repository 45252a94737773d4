"""Detect a stuck model: an output that only repeats its last propositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from factoid.errors import UnreadableOutputError
from factoid.propositions.parse import parse_propositions

REPETITIONS = 4  # of the same propositions at the end of an output, after which it is cut off
CHECK_EVERY = 32  # tokens between two looks, so that all engines cut at the same places
_SHORTEST = 4  # tokens of a proposition with its quotes and comma


def loop_detector(decode: Callable[[Sequence[int]], str]) -> Callable[[Sequence[int]], bool]:
    """Return a function that tells whether tokens end in the same few propositions four times over.

    Repetitions are left out of the result anyway, so such an output can be cut off. `decode` turns tokens into text.
    """

    def is_loop(tokens: Sequence[int]) -> bool:
        if not _repeats(tokens, _SHORTEST):
            return False
        try:
            return _repeats(parse_propositions(decode(tokens))[:-1], 1)  # the last one may be in the middle
        except UnreadableOutputError:
            return False

    return is_loop


def _repeats(items: Sequence[object], shortest: int) -> bool:
    """Tell whether a sequence ends in repetitions of its last few items."""
    return any(
        all(items[-at] == items[-at - period] for at in range(1, (REPETITIONS - 1) * period + 1))
        for period in range(shortest, len(items) // REPETITIONS + 1)
    )
