"""Greedy decoding with drafts: the model's own output in fewer steps.

Propositions repeat their passage and each other, so the tokens that followed the last few tokens
earlier in the input or output often come next. The decoder checks such a draft in one step and
keeps what it would have written itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from factoid.propositions.engines.batching import Written
from factoid.propositions.engines.t5_decoder import Fed, KVCache, T5Decoder

_LONGEST_DRAFT = 8  # tokens
_LONGEST_MATCH = 12  # tokens in agreement beyond which more are not informative
_BOUNDARY = -1  # between input and output: not a token of any model
# share of active rows below which the others leave the batch: leaving copies the cache
_LEAVE = 0.75


class Acceptance:
    """How often a draft was right, by the number of tokens that agreed before it.

    Shared by the rows of a batch. The shares start at those of real propositions, as if seen ten
    times: if a model does not copy, they fall, and drafts end.
    """

    def __init__(self) -> None:
        self.shares = [0.0, 0.4, 0.6, 0.7] + [0.85] * (_LONGEST_MATCH - 3)
        self._seen = [10] * len(self.shares)

    def learn(self, agreed: int, right: bool) -> None:
        """Count one drafted token that was checked."""
        agreed = min(agreed, _LONGEST_MATCH)
        self._seen[agreed] += 1
        self.shares[agreed] += (right - self.shares[agreed]) / self._seen[agreed]


class Row:
    """One output in progress, and drafts of its next tokens.

    Those that followed the longest run of its last ones before. Of several places the latest
    counts, and it is kept as long as the output follows it. There are no drafts without acceptance.
    """

    def __init__(self, source: Sequence[int], acceptance: Acceptance | None) -> None:
        self.tokens: list[int] = []
        self.ended = self.cut_off = False
        self._acceptance = acceptance
        self._text = [*source, _BOUNDARY]
        self._places: dict[int, list[int]] = defaultdict(list)  # positions after each token
        for place, token in enumerate(source[:-1], 1):
            self._places[token].append(place)
        self._pointer: int | None = None
        self._agreed = 0
        self._draft: list[int] = []

    def draft(self, limit: int, threshold: float) -> list[int]:
        """Return at most `limit` tokens that are likely to be right.

        Their chance must not be below the threshold.
        """
        self._draft = []
        if self._acceptance is None or limit < 1:
            return self._draft
        if self._pointer is None:
            self._find()
        chance = 1.0
        if self._pointer is None:
            return self._draft
        for token in self._text[self._pointer : self._pointer + limit]:
            chance *= self._acceptance.shares[min(self._agreed + len(self._draft), _LONGEST_MATCH)]
            if chance < threshold or token == _BOUNDARY:
                break
            self._draft.append(token)
        return self._draft

    def add(self, tokens: Sequence[int], ends: Collection[int], limit: int) -> None:
        """Add the tokens that the model wrote, up to the end or the limit.

        These are the right ones of the draft, and one more.
        """
        if self._acceptance is not None:
            self._follow(tokens, self._acceptance)
        for token in tokens:
            self.ended = token in ends
            if self.ended:
                return
            self.tokens.append(token)
            self.ended = self.cut_off = len(self.tokens) == limit
            if self.ended:
                return

    def _follow(self, tokens: Sequence[int], acceptance: Acceptance) -> None:
        for index, (drafted, token) in enumerate(zip(self._draft, tokens, strict=False)):
            acceptance.learn(self._agreed + index, drafted == token)
        for token in tokens:
            if self._pointer is not None and self._text[self._pointer] == token:
                self._pointer += 1
                self._agreed += 1
            else:
                self._pointer = None
            self._places[self._text[-1]].append(len(self._text))
            self._text.append(token)

    def _find(self) -> None:
        """Set the pointer to what followed the longest run of tokens at the end of the output."""
        text = self._text
        end = len(self._text)
        self._agreed = 0
        for place in reversed(self._places[text[-1]]):
            agreed = 1
            longest = min(_LONGEST_MATCH, place)
            while agreed < longest and text[place - agreed - 1] == text[end - agreed - 1]:
                agreed += 1
            if agreed > self._agreed:
                self._pointer = place
                self._agreed = agreed


def decode(
    decoder: T5Decoder,
    cache: KVCache,
    sources: Sequence[Sequence[int]],
    *,
    start: int,
    ends: Collection[int],
    max_new_tokens: int,
    free: float | None = None,
) -> list[Written]:
    """Write one output for each row of a new batch, whose `cache` is what `decoder.start` returned.

    Drafts are copied from `sources`, input tokens without padding. `free` is the number of
    positions that a step computes in the time of one; None for one token per step. `start` is the
    token before the first one, `ends` are tokens that end an output.
    """
    acceptance = None if free is None else Acceptance()
    rows = [Row(source, acceptance) for source in sources]
    threshold = 0.0
    while active := [
        (place, rows[index]) for place, index in enumerate(cache.order) if not rows[index].ended
    ]:
        if len(active) < _LEAVE * len(cache.order):
            cache.keep([place for place, _ in active])
            active = [(place, row) for place, (_, row) in enumerate(active)]
        limits = [min(_LONGEST_DRAFT, max_new_tokens - len(row.tokens) - 1) for _, row in active]
        drafts = [
            row.draft(limit, threshold) for (_, row), limit in zip(active, limits, strict=True)
        ]
        fed = []
        for (place, row), draft in zip(active, drafts, strict=True):
            last = row.tokens[-1:] or [start]
            for slot, token in enumerate([*last, *draft]):
                fed.append((token, place, slot, len(row.tokens) + slot))
        choices = iter(decoder.advance(cache, Fed(*zip(*fed, strict=True))))
        gained = 0
        for (_, row), draft in zip(active, drafts, strict=True):
            written = [next(choices) for _ in range(len(draft) + 1)]
            right = next(
                (index for index, token in enumerate(draft) if token != written[index]), len(draft)
            )
            gained += right + 1
            row.add(written[: right + 1], ends, max_new_tokens)
        # A drafted token is worth computing if it is likelier to be right than positions are to
        # gain a token.
        threshold = gained / ((free or 0.0) + len(fed))
    return [Written(row.tokens, row.cut_off) for row in rows]
