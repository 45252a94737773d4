"""The decoder of a T5, computed over rows at positions of their own.

Import it late: it imports torch. Drafts are right for different lengths, so the rows of a batch
drift apart, but transformers' own forward pass takes one position for all of them. Here every token
has its row and its position: linear layers run over the existing tokens, and only attention is laid
out in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

Pair = tuple[torch.Tensor, torch.Tensor]

SUPPORTED = frozenset({"t5", "mt5", "umt5"})  # model types with this decoder structure
_BLOCK = 64  # positions by which the cache grows
_ALIGNED = 8  # attention kernels want masks whose last dimension is a multiple of this


class Fed(NamedTuple):
    """Tokens fed together, with their rows, places in these, and positions."""

    tokens: Sequence[int]
    rows: Sequence[int]
    slots: Sequence[int]
    positions: Sequence[int]


class T5Decoder:
    """The greedy decoder of a model in evaluation mode, whose weights it shares.

    The type of the model must be supported.
    """

    def __init__(self, model: Any) -> None:
        self._dim = model.config.d_kv
        self._embed = model.decoder.embed_tokens
        self._norm = model.decoder.final_layer_norm
        self._head = model.lm_head  # some T5 scale its input; no greedy choice depends on that
        self._layers = list(map(_Layer, model.decoder.block))
        self._tables: dict[int, torch.Tensor] = {}
        self._table_width = 0

    def start(self, encoded: torch.Tensor, mask: torch.Tensor) -> KVCache:
        """Return the cache of a new batch, from the encoder's output.

        Shapes: (rows, tokens, dim), and (rows, tokens) for its mask.
        """
        cross = []
        for layer in self._layers:
            both = layer.cross_keys_values(encoded).unflatten(-1, (2, -1, self._dim))
            cross.append(tuple(both.permute(2, 0, 3, 1, 4).contiguous()))
        if bool(mask.all()):
            return KVCache(cross, None)
        added_to_scores = cross[0][0].new_zeros(mask.shape).masked_fill(mask == 0, float("-inf"))
        return KVCache(cross, added_to_scores[:, None, None, :])

    def advance(self, cache: KVCache, fed: Fed) -> list[int]:
        """Feed tokens, and return the greedy next token after each.

        Their keys and values go into the cache.
        """
        token, row, slot, position = torch.tensor(fed, device=cache.cross[0][0].device)
        rows = len(cache.order)
        longest = max(fed.positions) + 1
        cache.reserve(longest)
        length = -(-longest // _ALIGNED) * _ALIGNED
        wide = max(fed.slots) + 1
        in_order = wide == 1 and len(token) == rows and list(fed.rows) == list(range(rows))
        positions = torch.zeros(rows, wide, dtype=position.dtype, device=position.device)
        positions[row, slot] = position
        sdpa = torch.nn.functional.scaled_dot_product_attention

        def attend(
            query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: Any
        ) -> torch.Tensor:
            if in_order:
                laid = query[:, :, None]
            else:
                laid = query.new_zeros(rows, wide, *query.shape[1:])
                laid[row, slot] = query
                laid = laid.transpose(1, 2)
            heads = sdpa(laid, keys, values, attn_mask=mask, scale=1.0)
            taken: torch.Tensor = heads[:, :, 0] if in_order else heads.transpose(1, 2)[row, slot]
            return taken.flatten(1)

        hidden = self._embed(token)
        bias: torch.Tensor | None = None
        for index, layer in enumerate(self._layers):
            query, key, value = (
                layer.past(layer.past_norm(hidden)).unflatten(-1, (3, -1, self._dim)).unbind(1)
            )
            keys, values = cache.past[index]
            keys[row, :, position] = key
            values[row, :, position] = value
            if bias is None or layer.compute_bias is not None:
                bias = self._bias(index, positions, cache.width, length)
            hidden = _added(
                hidden,
                layer.past_out(attend(query, keys[:, :, :length], values[:, :, :length], bias)),
            )
            query = layer.cross(layer.cross_norm(hidden)).unflatten(-1, (-1, self._dim))
            hidden = _added(hidden, layer.cross_out(attend(query, *cache.cross[index], cache.mask)))
            hidden = _added(hidden, layer.feed(layer.feed_norm(hidden)))
        return self.choose(self._head(self._norm(hidden)), cache, fed)

    def choose(
        self,
        logits: torch.Tensor,
        cache: KVCache,  # noqa: ARG002 - for subclasses
        fed: Fed,  # noqa: ARG002
    ) -> list[int]:
        """Return the likeliest tokens. Shape of `logits`: (tokens, vocabulary)."""
        return logits.max(dim=-1).indices.tolist()  # on CPUs faster than argmax

    def _bias(self, index: int, positions: torch.Tensor, width: int, length: int) -> torch.Tensor:
        """Return the bias of positions (rows, slots) on the scores of a layer.

        It is -inf for those ahead. The cache has room for `width` positions, of which `length`
        count. Shape: (rows, heads, slots, length).
        """
        if self._table_width < width:
            self._tables = {}
            self._table_width = width
        if index not in self._tables:
            scores = self._layers[index].compute_bias(self._table_width, self._table_width)[
                0, :, -1
            ]
            ahead = torch.full_like(scores, float("-inf"))
            self._tables[index] = torch.cat([scores, ahead], dim=1)
        # The scores of one position are a window of the table: distances down to 0, and then the
        # positions ahead.
        windows = self._tables[index].unfold(1, length, 1)[:, self._table_width - 1 - positions]
        return windows.permute(1, 0, 2, 3).contiguous()


class KVCache:
    """Keys and values, by layer, of the input and of the tokens fed to each row."""

    def __init__(self, cross: list[Pair], mask: torch.Tensor | None) -> None:
        self.cross = cross  # of the input: (rows, heads, input tokens, dim)
        # what to add to its scores, None if nothing is padded: (rows, 1, 1, input tokens)
        self.mask = mask
        first = cross[0][0]
        self.order = list(range(len(first)))  # the input, by number, that each row belongs to
        # (rows, heads, width, dim)
        self.past: list[Pair] = [(first[:, :, :0], first[:, :, :0]) for _ in cross]
        self.width = 0  # positions for which there is room

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only these rows."""
        index = torch.tensor(rows, device=self.cross[0][0].device)
        for pairs in (self.cross, self.past):
            # one layer at a time, so that the old ones are freed
            for at, (keys, values) in enumerate(pairs):
                pairs[at] = (keys[index], values[index])
        self.mask = None if self.mask is None else self.mask[index]
        self.order = [self.order[row] for row in rows]

    def reserve(self, width: int) -> None:
        """Make room for this many positions."""
        if width <= self.width:
            return
        grown = -(-width // _BLOCK) * _BLOCK
        for at, pair in enumerate(self.past):
            buffers = [
                tensor.new_zeros(*tensor.shape[:2], grown, tensor.shape[3]) for tensor in pair
            ]
            # of zeros: masked values must still be numbers
            for buffer, tensor in zip(buffers, pair, strict=True):
                buffer[:, :, : self.width] = tensor
            self.past[at] = (buffers[0], buffers[1])
        self.width = grown


class _Layer:
    """A decoder's block: self-attention, attention to the input, feed-forward.

    Each has its norm before it.
    """

    def __init__(self, block: Any) -> None:
        past, cross, feed = block.layer
        attention = past.SelfAttention
        self.past_norm = past.layer_norm
        self.past = _joined(attention.q, attention.k, attention.v)
        self.past_out = attention.o
        self.compute_bias: Any = (
            attention.compute_bias if attention.has_relative_attention_bias else None
        )
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
        self._narrow = dense.wo

    def feed(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the output of the feed-forward layer."""
        wide = self._wide(hidden)
        if self._gated:
            gate, wide = wide.chunk(2, dim=-1)
            wide = self._activation(gate) * wide
        else:
            wide = self._activation(wide)
        # transformers keeps this layer in float32 beside float16
        return self._narrow(wide.to(self._narrow.weight.dtype))  # type: ignore[no-any-return]


def fused(activation: Any) -> Any:
    """Return an activation as one operation if transformers computes it in eight."""
    is_gelu = type(activation).__name__ == "NewGELUActivation"
    if is_gelu:
        return torch.nn.GELU(approximate="tanh")
    return activation


def _added(hidden: torch.Tensor, change: torch.Tensor) -> torch.Tensor:
    """Return the sum of a layer's input and output, kept finite in float16.

    T5 exceeds its range.
    """
    total = hidden + change
    if total.dtype == torch.float16:
        return total.clamp(-64_504.0, 64_504.0)
    return total


def _joined(*linears: Any) -> Any:
    """Return one linear layer with the outputs of several.

    Their weights become views of its own.
    """
    weight = torch.cat([linear.weight.detach() for linear in linears])
    joined = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    joined.weight = torch.nn.Parameter(weight, requires_grad=False)
    for linear, part in zip(
        linears, torch.split(weight, [len(linear.weight) for linear in linears]), strict=True
    ):
        linear.weight = torch.nn.Parameter(part, requires_grad=False)
    return joined
