"""Spans that something else has found, as tokens, and what is left of them without what is no part of a name."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from factoid.entities.linkers.tokens import Tokens


def tokens_within(tokens: Tokens, start: int, end: int) -> tuple[int, int] | None:
    """Return the first and the last token of a span of characters, or None if there is none."""
    first = bisect_right(tokens.tokens, start, key=lambda token: token.end)
    last = bisect_left(tokens.tokens, end, key=lambda token: token.start) - 1
    return (first, last) if first <= last else None


def shorter_cuts(tokens: Tokens, span: tuple[int, int]) -> list[tuple[int, int]]:
    """Return a span of tokens, and what is left of it without a leading article, a closing "'s", or both."""
    first, last = span
    keys = [token.key for token in tokens.tokens[first : last + 1]]
    starts = [first, first + 1] if keys[0] in ("the", "a", "an") and last > first else [first]
    ends = [last, last - 2] if keys[-2:] == ["'", "s"] and len(keys) > 2 else [last]
    return [(start, end) for end in ends for start in starts if start <= end]
