"""Greedy decoding with drafts: what the model alone would write, in fewer steps.

Propositions repeat their passage and each other, so the tokens that followed the last few tokens earlier in the input or
output often come next. The decoder checks such a draft in one step and keeps what it would have written itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from factoid.propositions.engines.batching import Written
from factoid.propositions.engines.repetition import CHECK_EVERY
from factoid.propositions.engines.t5_decoder import Fed, KVCache, T5Decoder

IsLoop = Callable[[Sequence[int]], bool]

LONGEST_DRAFT = 8  # tokens
_BOUNDARY = -1  # between input and output: a token that no model has
_LONGEST_MATCH = 12  # tokens in agreement beyond which more of them say nothing more
_PROBE_EVERY = 32  # steps after which a row drafts one token whatever the odds, to learn whether copying has begun
_LEAVE = 0.75  # share of rows still at work below which the others are taken out of the batch: that copies the cache


class Acceptance:
    """How often a draft was right, by the number of tokens that agreed before it. Shared by all rows of an engine.

    The shares begin at what real propositions show, as if seen ten times, and follow the model at hand; where it does not
    copy they sink, and drafts with them. `free` is how many positions a step could compute in the time that it takes
    however few there are: the more, the less certain drafts need be.
    """

    def __init__(self, free: float) -> None:
        self.free = free
        self.shares = [0.0, 0.4, 0.6, 0.7] + [0.85] * (_LONGEST_MATCH - 3)
        self._seen = [10] * len(self.shares)

    def learn(self, agreed: int, right: bool) -> None:
        """Take in one drafted token that was checked."""
        at = min(agreed, _LONGEST_MATCH)
        self._seen[at] = min(self._seen[at] + 1, 200)  # so that the latest always count a little
        self.shares[at] += (right - self.shares[at]) / self._seen[at]


class Drafter:
    """Finds for one row what may come next: what followed the longest run of its last tokens, the latest if several did.

    The place is kept for as long as the output follows it.
    """

    def __init__(self, source: Sequence[int], acceptance: Acceptance) -> None:
        self._acceptance = acceptance
        self._tokens = [*source, _BOUNDARY]
        self._start = len(self._tokens)
        self._places: dict[tuple[int, ...], list[int]] = {}  # one token, or two → where they were followed by what
        self._pointer: int | None = None
        self._agreed = 0
        self._drafted: list[int] = []
        self._since_probe = 0
        for place in range(1, len(source)):
            self._note(place)

    def draft(self, most: int, threshold: float) -> list[int]:
        """Return the tokens that may come next, while their chance of being right is not below the threshold."""
        self._drafted = []
        if most < 1:
            return self._drafted
        if self._pointer is None:
            self._find()
        if self._pointer is not None:
            self._since_probe += 1
            chance = 1.0
            for token in self._tokens[self._pointer : self._pointer + most]:
                chance *= self._acceptance.shares[min(self._agreed + len(self._drafted), _LONGEST_MATCH)]
                probes = self._since_probe > _PROBE_EVERY and not self._drafted
                if (chance < threshold and not probes) or token == _BOUNDARY:
                    break
                self._drafted.append(token)
                self._since_probe = 0
        return self._drafted

    def accept(self, tokens: Sequence[int]) -> None:
        """Take in the tokens that the model wrote: those of the draft that were right, and one more."""
        for index, drafted in enumerate(self._drafted[: len(tokens)]):
            self._acceptance.learn(self._agreed + index, drafted == tokens[index])
        for token in tokens:
            if self._pointer is not None and self._tokens[self._pointer] == token:
                self._pointer += 1
                self._agreed += 1
            else:
                self._pointer = None
            if len(self._tokens) > self._start:
                self._note(len(self._tokens))
            self._tokens.append(token)

    def _note(self, place: int) -> None:
        """Enter that the one and the two tokens before `place` are followed by what stands there, or will stand there."""
        for length in (1, 2):
            if place >= length:
                self._places.setdefault(tuple(self._tokens[place - length : place]), []).append(place)

    def _find(self) -> None:
        """Set the pointer to what followed the longest run of tokens that the output ends with."""
        end = len(self._tokens)
        self._agreed = 0
        if end == self._start:
            return
        for length in (2, 1):
            for place in reversed(self._places.get(tuple(self._tokens[end - length : end]), ())):
                agreed = length
                most = min(_LONGEST_MATCH, place)
                while agreed < most and self._tokens[place - agreed - 1] == self._tokens[end - agreed - 1]:
                    agreed += 1
                if agreed > self._agreed:
                    self._pointer, self._agreed = place, agreed
            if self._agreed:
                return


class _Row:
    """One output in progress."""

    def __init__(self, start: int, drafter: Drafter | None) -> None:
        self.tokens: list[int] = []
        self.last = start
        self.drafter = drafter
        self.ended = self.cut_off = False

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
    copying: Acceptance | None = None,
    is_loop: IsLoop | None = None,
) -> list[Written]:
    """Write one output for each row of a new batch, whose `cache` is what `decoder.start` returned.

    Rows are copied from `sources`, their input tokens without padding, as `copying` says; None for one token per step.
    `start` is the token before the first one, `ends` are tokens that end an output, and `is_loop` tells whether an output
    is only repeating itself and is cut off.
    """
    rows = [_Row(start, Drafter(source, copying) if copying else None) for source in sources]
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
