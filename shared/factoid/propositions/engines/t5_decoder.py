"""The decoder of a T5, computed over rows that stand at positions of their own.

Drafts are right for different lengths, so the rows of a batch drift apart, and transformers' own forward pass takes one
position for all of them. Here every token that is fed carries its row and its position: linear layers run over the
tokens that there are, and only attention is laid out in rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from factoid._optional import require
from factoid.propositions.engines.kv_cache import KVCache
from factoid.propositions.engines.t5_layers import Layer, added, distance_scores

if TYPE_CHECKING:
    import torch

SUPPORTED = frozenset({"t5", "mt5", "umt5"})  # model types whose decoders are built in this way
_ALIGNED = 8  # attention kernels want masks whose last dimension is a multiple of this


class Fed(NamedTuple):
    """Tokens that are fed together, each with its row, its place among the row's tokens, and its position in the output."""

    tokens: Sequence[int]
    rows: Sequence[int]
    slots: Sequence[int]
    positions: Sequence[int]


class T5Decoder:
    """A decoder that writes greedily.

    Args:
        model: A loaded model of a supported type, in evaluation mode. Its weights are used, not copied.
    """

    def __init__(self, model: Any) -> None:
        self._torch = require("torch", extra="models")
        config = model.config
        self._dim = config.d_kv
        self._buckets = {
            "buckets": config.relative_attention_num_buckets,
            "furthest": config.relative_attention_max_distance,
        }
        self._embed = model.decoder.embed_tokens
        self._norm = model.decoder.final_layer_norm
        # Some T5 scale what goes into the head; no greedy choice depends on it.
        self._head = model.lm_head
        self._layers = [Layer(block) for block in model.decoder.block]
        self._tables: dict[int, torch.Tensor] = {}
        self._table_width = 0

    def start(self, encoded: torch.Tensor, mask: torch.Tensor) -> KVCache:
        """Return the cache of a new batch.

        Args:
            encoded: The encoder's output. Shape: (rows, tokens, dim).
            mask: 1 for tokens, 0 for padding. Shape: (rows, tokens).
        """
        cross = []
        for layer in self._layers:
            both = layer.cross_keys_values(encoded).unflatten(-1, (2, -1, self._dim))
            keys, values = both.permute(2, 0, 3, 1, 4).contiguous()
            cross.append((keys, values))
        if bool(mask.all()):
            return KVCache(cross, None)
        added_to_scores = cross[0][0].new_zeros(mask.shape).masked_fill(mask == 0, float("-inf"))
        return KVCache(cross, added_to_scores[:, None, None, :])

    def advance(self, cache: KVCache, fed: Fed) -> list[int]:
        """Feed tokens, whose keys and values the cache takes, and return the greedy next one after each of them."""
        token, row, slot, position = self._torch.tensor(fed, device=cache.cross[0][0].device)
        rows, longest = len(cache.order), max(fed.positions) + 1
        cache.reserve(longest)
        length = -(-longest // _ALIGNED) * _ALIGNED
        wide = max(fed.slots) + 1
        in_order = wide == 1 and len(token) == rows and list(fed.rows) == list(range(rows))
        at = self._torch.zeros(rows, wide, dtype=position.dtype, device=position.device)
        at[row, slot] = position

        def attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: Any) -> torch.Tensor:
            if in_order:
                laid = query[:, :, None]
            else:
                laid = query.new_zeros(rows, wide, *query.shape[1:])
                laid[row, slot] = query
                laid = laid.transpose(1, 2)
            found = self._torch.nn.functional.scaled_dot_product_attention(
                laid, keys, values, attn_mask=mask, scale=1.0
            )
            taken: torch.Tensor = found[:, :, 0] if in_order else found.transpose(1, 2)[row, slot]
            return taken.flatten(1)

        hidden = self._embed(token)
        bias: torch.Tensor | None = None
        for index, layer in enumerate(self._layers):
            query, key, value = layer.own(layer.own_norm(hidden)).unflatten(-1, (3, -1, self._dim)).unbind(1)
            keys, values = cache.own[index]
            keys[row, :, position] = key
            values[row, :, position] = value
            if bias is None or layer.distances is not None:
                bias = self._bias(index, at, cache.width, length)
            found = attend(query, keys[:, :, :length], values[:, :, :length], bias)
            hidden = added(hidden, layer.own_out(found))
            query = layer.cross(layer.cross_norm(hidden)).unflatten(-1, (-1, self._dim))
            hidden = added(hidden, layer.cross_out(attend(query, *cache.cross[index], cache.mask)))
            hidden = added(hidden, layer.feed(layer.feed_norm(hidden)))
        return self.choose(self._head(self._norm(hidden)), cache, fed)

    def choose(self, logits: torch.Tensor, cache: KVCache, fed: Fed) -> list[int]:  # noqa: ARG002 - for subclasses
        """Return the likeliest tokens. Shape of `logits`: (tokens, vocabulary)."""
        return logits.max(dim=-1).indices.tolist()  # on CPUs faster than argmax

    def _bias(self, index: int, at: torch.Tensor, width: int, length: int) -> torch.Tensor:
        """Return what positions add to the scores of a layer, -inf for those ahead. Shape: (rows, heads, slots, length).

        Args:
            index: The layer.
            at: Positions. Shape: (rows, slots).
            width: Positions that the cache has room for.
            length: Positions that are looked at.
        """
        if self._table_width < width:
            self._tables, self._table_width = {}, width
        if index not in self._tables:
            scores = distance_scores(self._layers[index].distances, self._table_width, **self._buckets)
            ahead = self._torch.full_like(scores, float("-inf"))
            self._tables[index] = self._torch.cat([scores, ahead], dim=1)
        # The scores of one position are a window of the table: distances down to 0, and then what lies ahead.
        windows = self._tables[index].unfold(1, length, 1)[:, self._table_width - 1 - at]
        return windows.permute(1, 0, 2, 3).contiguous()
