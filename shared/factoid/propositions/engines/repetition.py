"""When a model has got stuck: an output that only repeats its last proposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from factoid.errors import UnreadableOutputError
from factoid.propositions.parse import parse_propositions

REPETITIONS = 4  # of the same propositions at the end of an output, after which it is cut off
CHECK_EVERY = 32  # tokens between two looks, so that all engines cut at the same places
_SHORTEST = 4  # tokens of a proposition with its quotes and comma


def loop_detector(decode: Callable[[Sequence[int]], str]) -> Callable[[Sequence[int]], bool]:
    """Return what tells whether an output ends in the same proposition, or the same few, four times over.

    Repetitions are left out of the result anyway, so cutting such an output off loses nothing but the hope that the
    model would have found its way out.

    Args:
        decode: Turns tokens into text.
    """

    def is_loop(tokens: Sequence[int]) -> bool:
        if not _repeats(tokens):
            return False
        try:
            found = parse_propositions(decode(tokens))[:-1]  # the last one may be in the middle
        except UnreadableOutputError:
            return False
        return _repeats(found, shortest=1)

    return is_loop


def _repeats(items: Sequence[object], shortest: int = _SHORTEST) -> bool:
    """Tell whether a sequence ends in repetitions of its last few items."""
    for period in range(shortest, len(items) // REPETITIONS + 1):
        if items[-1] == items[-1 - period] and all(
            items[-at] == items[-at - period] for at in range(2, (REPETITIONS - 1) * period + 1)
        ):
            return True
    return False
