"""Engines, and the batches that they run: inputs of similar length within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

# expected length of an output, as a multiple of its input's: the paper's Propositionizer writes 1.9
# times
_GROWTH = 2
# too few inputs to share between workers: a step of one row takes about as long as one of eight
_SMALL = 8


class Written(NamedTuple):
    """The tokens of one output without its end, and whether it was cut off."""

    tokens: list[int]
    cut_off: bool


class Engine(Protocol):
    """A loaded model."""

    tokenizer: Any  # the model's, of transformers
    limit: int  # maximum number of tokens of an input

    def generate(
        self, inputs: Sequence[Sequence[int]], max_new_tokens: int
    ) -> Iterator[tuple[int, Written]]:
        """Yield the position of each input and its greedy output, as batches end.

        Inputs are given as tokens.
        """
        ...


def batches(
    inputs: Sequence[Sequence[int]], max_new_tokens: int, *, budget: int, workers: int = 1
) -> Iterator[list[int]]:
    """Yield positions of inputs by decreasing length, so that a lack of memory shows at once.

    A batch has as many as the budget holds, padding and expected outputs included, but few enough
    to share between workers.
    """
    positions = sorted(range(len(inputs)), key=lambda position: len(inputs[position]), reverse=True)
    start = 0
    while start < len(positions):
        longest = len(inputs[positions[start]])
        rows = budget // (longest + min(max_new_tokens, _GROWTH * longest))
        share = max(_SMALL, -(-(len(positions) - start) // workers))
        end = start + max(1, min(rows, share))
        yield positions[start:end]
        start = end
