"""What an engine is: a loaded model that writes one output for each input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol


class Written(NamedTuple):
    """The tokens of one output without its end, and whether it was cut off."""

    tokens: list[int]
    cut_off: bool


class Engine(Protocol):
    """A loaded model.

    Attributes:
        tokenizer: The model's own, of transformers.
        limit: The most tokens that it reads.
        workers: Batches that are worth running at the same time, each in a thread.
        budget: Tokens, padding and outputs included, of a batch that usually fits and is fast.
    """

    tokenizer: Any
    limit: int
    workers: int
    budget: int

    def generate(self, inputs: Sequence[Sequence[int]], max_new_tokens: int) -> list[Written]:
        """Return the greedy output for each input, given and written as tokens."""
        ...
