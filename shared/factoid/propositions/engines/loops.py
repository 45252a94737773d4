"""Detect a model that is stuck, writing the same propositions again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from factoid.propositions.parse import read_propositions

_REPETITIONS = 4  # of the same propositions at the end of an output
_CHECK_EVERY = 32  # tokens, so that all engines cut at the same places
_SHORTEST = 4  # tokens of a proposition with its quotes and comma


def is_loop(tokens: Sequence[int], tokenizer: Any) -> bool:
    """Return whether an output ends in the same few propositions four times over; checked every 32 tokens.

    Repetitions are left out of the result anyway, so such an output can be cut off.
    """
    if len(tokens) % _CHECK_EVERY or not _repeats(tokens, _SHORTEST):
        return False
    text = tokenizer.decode(tokens, skip_special_tokens=True)
    return _repeats(read_propositions(text)[:-1], 1)  # the last one may be incomplete


def _repeats(items: Sequence[object], shortest: int) -> bool:
    """Return whether a sequence ends in repetitions of its last few items."""
    return any(
        all(items[-at] == items[-at - period] for at in range(1, (_REPETITIONS - 1) * period + 1))
        for period in range(shortest, len(items) // _REPETITIONS + 1)
    )
