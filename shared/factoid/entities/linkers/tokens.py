"""A text as words and marks, with the key of any stretch of them at no cost.

A word is a run of letters and digits with the marks on them. Any other visible character is a token of its own, and so is
each character of a script that writes no spaces. Characters that cannot be seen, which no name has, split nothing.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from factoid.entities.articles.names import name_key
from factoid.words import UNSPACED


class TokenKind(IntEnum):
    """What a token is made of."""

    WORD = 0
    CHARACTER = 1  # of a script that writes no spaces
    MARK = 2  # punctuation, a symbol, an emoji


_SPACE, _JOINED, _INVISIBLE = 3, 4, 5  # kinds of characters that begin no token


@dataclass(frozen=True, slots=True)
class Token:
    """A word or mark of a text.

    Attributes:
        start, end: Span `[start, end)` in the text.
        kind: What it is made of.
        key: Its `name_key`.
        key_start, key_end: Where its key stands in `Tokens.key`.
        spaced: Whether white space, or nothing, stands before it.
        paragraph: Whether an empty line, or nothing, stands before it.
    """

    start: int
    end: int
    kind: TokenKind
    key: str
    key_start: int
    key_end: int
    spaced: bool
    paragraph: bool


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text, its tokens, and the key of it all."""

    text: str
    key: str
    tokens: list[Token]

    def key_of(self, first: int, last: int) -> str:
        """Return the `name_key` of the text from token `first` through token `last`."""
        return self.key[self.tokens[first].key_start : self.tokens[last].key_end]


def tokenize(text: str) -> Tokens:
    """Return the tokens of a text."""
    tokens: list[Token] = []
    key: list[str] = []
    length = 0
    before = 0
    for start, end, kind in _spans(text):
        gap = text[before:start]
        spaced = not tokens or any(_kind(character) == _SPACE for character in gap)
        if spaced and tokens:
            key.append(" ")
            length += 1
        own = name_key(text[start:end])
        paragraph = not tokens or gap.count("\n") > 1 or "\u2029" in gap
        tokens.append(Token(start, end, kind, own, length, length + len(own), spaced, paragraph))
        key.append(own)
        length += len(own)
        before = end
    return Tokens(text, "".join(key), tokens)


def _spans(text: str) -> list[tuple[int, int, TokenKind]]:
    spans: list[tuple[int, int, TokenKind]] = []
    start, end, kind = 0, 0, _SPACE  # of the token that is being read
    for at, character in enumerate(text):
        own = _kind(character)
        if own == _INVISIBLE:
            continue
        if kind != _SPACE and (own == _JOINED or own == TokenKind.WORD == kind):
            end = at + 1
            continue
        if kind != _SPACE:
            spans.append((start, end, TokenKind(kind)))
        start, end, kind = at, at + 1, TokenKind.MARK if own == _JOINED else own
    if kind != _SPACE:
        spans.append((start, end, TokenKind(kind)))
    return spans


@cache  # by character: there are not many
def _kind(character: str) -> int:
    if character.isspace() or character == "_":
        return _SPACE
    if not name_key(character):
        return _INVISIBLE
    # Marks, joiners and skin tones belong to what they stand on.
    if (
        (category := unicodedata.category(character))[0] == "M"
        or category == "Cf"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    ):
        return _JOINED
    if UNSPACED.match(character):
        return TokenKind.CHARACTER if category[0] in "LN" else TokenKind.MARK
    return TokenKind.WORD if character.isalnum() else TokenKind.MARK
