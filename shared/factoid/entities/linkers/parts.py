"""Mentions that look like parts of longer names, which the store does not know."""

from __future__ import annotations

import re
from collections.abc import Sequence

from factoid.entities.linkers.casing import Casing, Word
from factoid.entities.linkers.spans import Span
from factoid.entities.linkers.stop_words import ARTICLES

_ROMAN = re.compile(r"[ivx]+")
_JOINING = frozenset("-‐‑–/&")
_LEADING_ON = frozenset("of the du de del von van der".split())  # "Battle of Salamis", "Paul the Octopus"


def is_part(words: Sequence[Word], casing: Casing, spans: Sequence[Span], at: int) -> bool:
    """Return whether a mention looks like a part of a longer name: "Mary" of "Mary Jack", "Line" of "Line 6".

    Beside it stands a word with a capital that is in no mention, or in another of one word; or a number follows; or "of" and
    a name do. Texts whose capitals do not tell have no such mentions.

    Args:
        words: The words of the text.
        casing: What its capitals tell.
        spans: The mentions, in order of the text.
        at: Which of them is asked about.
    """
    if casing is not Casing.TELLING:
        return False
    span = spans[at]
    left, right = span.first - 1, span.last + 1
    if left > 0 and _joins(words, left):
        left -= 1
    if right + 1 < len(words) and _joins(words, right):
        right += 1
    if left >= 0 and not words[span.first].token.paragraph and _looks_named(words[left]):
        other = spans[at - 1] if at else None
        if other is None or other.last < left or other.words == span.words == 1:
            return True
    if right >= len(words) or words[right].token.paragraph:
        return False
    if _counts(words[right]):
        return True
    other = spans[at + 1] if at + 1 < len(spans) else None
    if _looks_named(words[right]) and (other is None or other.first > right or other.words == span.words == 1):
        return True
    after = right
    while after < len(words) and words[after].token.key in _LEADING_ON and not words[after].capital:
        after += 1
    return span.words == 1 and right < after < len(words) and _looks_named(words[after])


def _joins(words: Sequence[Word], at: int) -> bool:
    """Whether a token is a hyphen or the like between two words."""
    spaced = words[at].token.spaced or words[at + 1].token.spaced
    return words[at].token.key in _JOINING and (not spaced or words[at].token.key == "&")


def _looks_named(word: Word) -> bool:
    named = not word.stop or (not word.initial and word.token.key not in ARTICLES and word.token.key != "i")
    return word.is_word and word.capital and word.cased and named


def _counts(word: Word) -> bool:
    """Whether a word is a number, as the "6" of "Line 6" and the "XVI" of "Louis XVI" are."""
    return word.is_word and (word.number or (word.capital and _ROMAN.fullmatch(word.token.key) is not None))
