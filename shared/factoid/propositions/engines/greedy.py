"""Greedy decoding with drafts: what the model alone would write, in fewer steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from factoid.propositions.engines.copying import LONGEST_DRAFT, Acceptance, Drafter
from factoid.propositions.engines.engine import Written
from factoid.propositions.engines.repetition import CHECK_EVERY
from factoid.propositions.engines.t5_decoder import Fed, T5Decoder

if TYPE_CHECKING:
    IsLoop = Callable[[Sequence[int]], bool]

    from factoid.propositions.engines.kv_cache import KVCache

_LEAVE = 0.75  # share of rows still at work below which the others are taken out of the batch: that copies the cache


class Copying(NamedTuple):
    """How to draft.

    Attributes:
        acceptance: What is known of the model's way of copying.
        free: How many positions a step could compute in the time that it takes however few there are. The more, the
            less certain drafts need be.
    """

    acceptance: Acceptance
    free: float


class _Row:
    """One output in progress."""

    def __init__(self, start: int, drafter: Drafter | None) -> None:
        self.tokens: list[int] = []
        self.last = start
        self.drafter = drafter
        self.ended = False
        self.cut_off = False

    def take(self, tokens: Sequence[int], ends: Collection[int], most: int, is_loop: IsLoop | None) -> None:
        """Add what was written, up to its end, to the limit, or to where it is found to repeat itself."""
        for token in tokens:
            if token in ends:
                self.ended = True
                return
            self.tokens.append(token)
            self.last = token
            stuck = is_loop is not None and len(self.tokens) % CHECK_EVERY == 0 and is_loop(self.tokens)
            if stuck or len(self.tokens) == most:
                self.ended = self.cut_off = True
                return


def decode(
    decoder: T5Decoder,
    cache: KVCache,
    sources: Sequence[Sequence[int]],
    *,
    start: int,
    ends: Collection[int],
    max_new_tokens: int,
    copying: Copying | None = None,
    is_loop: IsLoop | None = None,
) -> list[Written]:
    """Write one output for each row of the cache.

    Args:
        decoder: The model.
        cache: A new batch.
        sources: The input tokens of each row, without padding.
        start: The token before the first one.
        ends: Tokens that end an output.
        max_new_tokens: Longest output.
        copying: How to draft; None for one token per step.
        is_loop: Tells whether an output is only repeating itself, and is cut off.
    """
    rows = [_Row(start, Drafter(source, copying.acceptance) if copying else None) for source in sources]
    threshold = 0.0
    while active := [(place, rows[index]) for place, index in enumerate(cache.order) if not rows[index].ended]:
        if len(active) < _LEAVE * len(cache.order):
            cache.keep([place for place, _ in active])
            active = [(place, row) for place, (_, row) in enumerate(active)]
        drafts = [
            row.drafter.draft(min(LONGEST_DRAFT, max_new_tokens - len(row.tokens) - 1), threshold)
            if row.drafter
            else []
            for _, row in active
        ]
        fed = [
            (token, place, slot, len(row.tokens) + slot)
            for (place, row), draft in zip(active, drafts, strict=True)
            for slot, token in enumerate([row.last, *draft])
        ]
        chosen = iter(decoder.advance(cache, Fed(*zip(*fed, strict=True))))
        gained = 0
        for (_, row), draft in zip(active, drafts, strict=True):
            written = [next(chosen) for _ in range(len(draft) + 1)]
            right = next((index for index, token in enumerate(draft) if token != written[index]), len(draft))
            new = written[: right + 1]
            gained += len(new)
            row.take(new, ends, max_new_tokens, is_loop)
            if row.drafter:
                row.drafter.accept(new)
        if copying:
            # A drafted token is worth its computation if it is likelier to be right than positions are to gain a token.
            threshold = gained / (copying.free + len(fed))
    return [Written(row.tokens, row.cut_off) for row in rows]
