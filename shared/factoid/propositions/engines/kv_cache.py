"""Keys and values of a batch whose rows stand at positions of their own and leave when they have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from factoid._optional import require

if TYPE_CHECKING:
    import torch

    Pair = tuple[torch.Tensor, torch.Tensor]

_BLOCK = 64  # positions by which the buffers grow


class KVCache:
    """Keys and values, by layer, of the input and of what each row has been fed.

    Args:
        cross: Keys and values of the input. Shapes: (rows, heads, input tokens, dim).
        mask: What to add to the scores of the input, None where nothing is padded. Shape: (rows, 1, 1, input tokens).

    Attributes:
        own: Keys and values of what was fed. Shapes: (rows, heads, width, dim).
        order: The input, by number, that each row belongs to.
        width: Positions that `own` has room for.
    """

    def __init__(self, cross: list[Pair], mask: torch.Tensor | None) -> None:
        self.cross = cross
        self.mask = mask
        first = cross[0][0]
        self.order = list(range(len(first)))
        self.own: list[Pair] = [(first[:, :, :0], first[:, :, :0]) for _ in cross]
        self.width = 0

    def keep(self, rows: Sequence[int]) -> None:
        """Leave out all rows but these."""
        index = require("torch", extra="models").tensor(rows, device=self.cross[0][0].device)
        for pairs in (self.cross, self.own):
            for at, (keys, values) in enumerate(pairs):  # one layer at a time, so that the old ones are freed
                pairs[at] = (keys[index], values[index])
        self.mask = None if self.mask is None else self.mask[index]
        self.order = [self.order[row] for row in rows]

    def reserve(self, width: int) -> None:
        """Make room for this many positions."""
        if width <= self.width:
            return
        grown = -(-width // _BLOCK) * _BLOCK
        for at, (keys, values) in enumerate(self.own):
            self.own[at] = (self._grown(keys, grown), self._grown(values, grown))
        self.width = grown

    def _grown(self, held: torch.Tensor, width: int) -> torch.Tensor:
        rows, heads, _, dim = held.shape
        buffer = held.new_zeros(rows, heads, width, dim)  # zeros: what is masked must still be a number
        buffer[:, :, : self.width] = held
        return buffer
