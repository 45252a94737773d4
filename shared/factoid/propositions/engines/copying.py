"""Drafts of the next tokens, copied from what a row has read and written, and how far to trust them.

Propositions repeat their passage and each other, so the tokens that followed the last few tokens earlier in the input or
in the output are often the ones that come next. A decoder that is given such a draft checks all of it in one step and
keeps what it would have written itself: the output is that of greedy decoding, in fewer steps.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST_DRAFT = 8  # tokens
_BOUNDARY = -1  # between input and output: a token that no model has
_LONGEST_MATCH = 12  # tokens in agreement beyond which more of them say nothing more
_PROBE_EVERY = 32  # steps after which a row drafts one token whatever the odds, to learn whether copying has begun


class Acceptance:
    """How often a draft was right, by the number of tokens that agreed before it. Shared by all rows of an engine.

    The shares begin at what real propositions show, as if seen ten times, and follow the model at hand; where it does not
    copy they sink, and drafts with them.
    """

    def __init__(self) -> None:
        self.shares = [0.0, 0.4, 0.6, 0.7] + [0.85] * (_LONGEST_MATCH - 3)
        self._seen = [10] * len(self.shares)

    def share(self, agreed: int) -> float:
        """Return the chance that the token after `agreed` tokens in agreement is right."""
        return self.shares[min(agreed, _LONGEST_MATCH)]

    def learn(self, agreed: int, right: bool) -> None:
        """Take in one drafted token that was checked."""
        at = min(agreed, _LONGEST_MATCH)
        self._seen[at] = min(self._seen[at] + 1, 200)  # so that the latest always count a little
        self.shares[at] += (right - self.shares[at]) / self._seen[at]


class Drafter:
    """Finds for one row what may come next: what followed the longest run of its last tokens, the latest if several did.

    A place that was found is kept for as long as the output follows it.

    Args:
        source: The input's tokens.
        acceptance: Where to learn from and report to.
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
        """Return the tokens that may come next, fewer where they are less certain.

        Args:
            most: The longest draft.
            threshold: The chance of being right below which a token is not worth its computation.
        """
        self._drafted = []
        if most < 1:
            return self._drafted
        if self._pointer is None:
            self._find()
        if self._pointer is not None:
            chance = 1.0
            for place in range(self._pointer, min(self._pointer + most, len(self._tokens))):
                chance *= self._acceptance.share(self._agreed + len(self._drafted))
                if chance < threshold or self._tokens[place] == _BOUNDARY:
                    break
                self._drafted.append(self._tokens[place])
        self._since_probe += 1
        if self._drafted:
            self._since_probe = 0
        elif self._since_probe >= _PROBE_EVERY and self._pointer is not None:
            self._drafted = [token for token in self._tokens[self._pointer : self._pointer + 1] if token != _BOUNDARY]
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
                while (
                    agreed < _LONGEST_MATCH
                    and agreed < place
                    and self._tokens[place - agreed - 1] == self._tokens[end - agreed - 1]
                ):
                    agreed += 1
                if agreed > self._agreed:
                    self._pointer, self._agreed = place, agreed
            if self._agreed:
                return
