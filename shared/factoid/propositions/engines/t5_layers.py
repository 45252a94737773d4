"""The layers of a T5 decoder, taken from a loaded model and joined where they read the same input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from factoid._optional import require

if TYPE_CHECKING:
    import torch


class Layer:
    """Self-attention, attention to the input and feed-forward, each with its norm before it.

    Args:
        block: A block of the model's decoder.
    """

    def __init__(self, block: Any) -> None:
        own, cross, feed = block.layer
        attention = own.SelfAttention
        self.own_norm = own.layer_norm
        self.own = _joined(attention.q, attention.k, attention.v)
        self.own_out = attention.o
        self.distances = attention.relative_attention_bias if attention.has_relative_attention_bias else None
        attention = cross.EncDecAttention
        self.cross_norm = cross.layer_norm
        self.cross = attention.q
        self.cross_out = attention.o
        self.cross_keys_values = _joined(attention.k, attention.v)
        dense = feed.DenseReluDense
        self.feed_norm = feed.layer_norm
        self._activation = dense.act = fused(dense.act)
        self._gated = hasattr(dense, "wi_0")
        self._wide = _joined(dense.wi_0, dense.wi_1) if self._gated else dense.wi
        self._narrow_dtype = dense.wo.weight.dtype  # transformers keeps this layer in float32 beside float16
        self._narrow = dense.wo

    def feed(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the output of the feed-forward layer."""
        wide = self._wide(hidden)
        if self._gated:
            gate, wide = wide.chunk(2, dim=-1)
            wide = self._activation(gate) * wide
        else:
            wide = self._activation(wide)
        return self._narrow(wide.to(self._narrow_dtype))  # type: ignore[no-any-return]


def fused(activation: Any) -> Any:
    """Return an activation as one operation, where transformers has it in eight."""
    if type(activation).__name__ == "NewGELUActivation":
        return require("torch", extra="models").nn.GELU(approximate="tanh")
    return activation


def added(hidden: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """Return the sum of a layer's input and output, kept finite in float16, whose range T5 leaves."""
    total = hidden + change
    if total.element_size() == 2 and total.dtype == require("torch", extra="models").float16:
        return total.clamp(-64_504.0, 64_504.0)
    return total


def distance_scores(embedding: Any, width: int, *, buckets: int, furthest: int) -> torch.Tensor:
    """Return what the distance from a token back to another adds to its scores, for distances `width - 1 … 0`.

    Near distances have a bucket each, the others share buckets that widen with the logarithm of the distance (T5, §2.1).
    Shape: (heads, width).
    """
    torch = require("torch", extra="models")
    distance = torch.arange(width - 1, -1, -1, device=embedding.weight.device)
    near = buckets // 2
    ratio = torch.log(distance.clamp(min=1).float() / near) / math.log(furthest / near)
    far = (near + (ratio * (buckets - near)).long()).clamp(max=buckets - 1)
    return embedding(torch.where(distance < near, distance, far)).T  # type: ignore[no-any-return]


def _joined(*linears: Any) -> Any:
    """Return one linear layer with the outputs of several; their weights become views of its."""
    torch = require("torch", extra="models")
    weight = torch.cat([linear.weight.detach() for linear in linears])
    joined = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    joined.weight = torch.nn.Parameter(weight, requires_grad=False)
    for linear, part in zip(linears, weight.split([len(linear.weight) for linear in linears]), strict=True):
        linear.weight = torch.nn.Parameter(part, requires_grad=False)
    return joined
