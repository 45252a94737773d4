"""Texts that are too long for the model: overlapping windows, and one prediction per token from theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from factoid.entities.spel.resolve import Prediction
from factoid.entities.spel.vocabulary import OUTSIDE

SIZE = 254  # tokens
OVERLAP = 20
STEP = SIZE - OVERLAP


def windows(count: int) -> Iterator[range]:
    """Yield the windows over so many tokens, <s> and </s> included; the last may lie within the one before it."""
    return (range(start, min(start + SIZE, count)) for start in range(0, count, STEP))


def merge_windows(predictions: Sequence[Sequence[Prediction]]) -> list[Prediction]:
    """Return one prediction per token from those of its windows, in the order of `windows`.

    A token of two windows gets the earlier prediction if the later one says "no entity" or the same, the later one if the
    earlier says "no entity", and else one of the two by what its neighbours are.
    """
    options: list[tuple[Prediction, ...]] = []
    for at, window in enumerate(predictions):
        overlap = len(options) - at * STEP  # of these tokens the window before has spoken
        for token, new in enumerate(window[:overlap], start=at * STEP):
            options[token] = _options(options[token][0], new)
        options += [(new,) for new in window[overlap:]]
    return _choose(options)


def _options(previous: Prediction, new: Prediction) -> tuple[Prediction, ...]:
    if previous.best == OUTSIDE:
        return (new,)
    if new.best in (OUTSIDE, previous.best):
        return (previous,)
    return new, previous


def _choose(options: Sequence[tuple[Prediction, ...]]) -> list[Prediction]:
    """Resolve from left to right: what a neighbour says too, else what is more probable; the later window's in a tie."""
    chosen: list[Prediction] = []
    for at, own in enumerate(options):
        near = {chosen[-1].best} if chosen else set()
        near.update(option.best for option in (options[at + 1] if at + 1 < len(options) else ()))
        agreeing = [option for option in own if option.best in near] if len(own) > 1 else []
        chosen.append(agreeing[0] if agreeing else max(own, key=lambda option: option.probabilities[0]))
    return chosen
