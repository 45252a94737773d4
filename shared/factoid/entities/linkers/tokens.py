"""Tokens of a text: words, characters of scripts without spaces, and marks, with their keys and capital letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from typing import NamedTuple

from factoid.entities.articles.names import name_key
from factoid.entities.linkers.stop_words import NAMES_IN_CAPITALS
from factoid.words import UNSPACED

_SENTENCE_ENDS = frozenset(".!?…。！？؟۔।:;")
_OPENING = frozenset("\"'“‘«([{¿¡„-–—*•")


class TokenKind(IntEnum):
    """Kinds of tokens."""

    WORD = 0
    CHARACTER = 1  # of a script that writes no spaces
    MARK = 2  # punctuation, a symbol, an emoji


_ASCII_TOKEN = re.compile(r"[^\W_]+|[^\w\s]")
_SPACE, _JOINED, _INVISIBLE = 3, 4, 5  # kinds of characters that begin no token


class Token(NamedTuple):
    """A word or mark of a text."""

    start: int
    end: int  # of the span [start, end) in the text
    kind: TokenKind
    key: str  # its `name_key`
    key_start: int
    key_end: int  # of its key in `Tokens.key`
    spaced: bool  # follows white space, or begins the text
    paragraph: bool  # follows an empty line, or begins the text


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text, its tokens, and the key of the whole text."""

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
    length = before = 0
    for start, end, kind in _spans(text):
        gap = text[before:start]
        spaced = not tokens or any(_kind(character) == _SPACE for character in gap)
        if spaced and tokens:
            key.append(" ")
            length += 1
        part = name_key(text[start:end])
        paragraph = not tokens or gap.count("\n") > 1 or "\u2029" in gap
        tokens.append(Token(start, end, kind, part, length, length + len(part), spaced, paragraph))
        key.append(part)
        length += len(part)
        before = end
    return Tokens(text, "".join(key), tokens)


def _spans(text: str) -> list[tuple[int, int, TokenKind]]:
    if text.isascii():  # the same, in a third of the time
        matches = _ASCII_TOKEN.finditer(text)
        return [(*match.span(), TokenKind.WORD if match[0].isalnum() else TokenKind.MARK) for match in matches]
    spans: list[tuple[int, int, TokenKind]] = []
    start, end, kind = 0, 0, _SPACE  # of the current token
    for at, character in enumerate(text):
        next_kind = _kind(character)
        if next_kind == _INVISIBLE:
            continue
        if kind != _SPACE and (next_kind == _JOINED or next_kind == TokenKind.WORD == kind):
            end = at + 1
            continue
        if kind != _SPACE:
            spans.append((start, end, TokenKind(kind)))
        start, end, kind = at, at + 1, TokenKind.MARK if next_kind == _JOINED else next_kind
    if kind != _SPACE:
        spans.append((start, end, TokenKind(kind)))
    return spans


@cache  # by character
def _kind(character: str) -> int:
    if character.isspace() or character == "_":
        return _SPACE
    if not name_key(character):
        return _INVISIBLE
    category = unicodedata.category(character)
    is_skin_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    if category[0] == "M" or category == "Cf" or is_skin_tone:  # marks and joiners belong to the character before
        return _JOINED
    if UNSPACED.match(character):
        return TokenKind.CHARACTER if category[0] in "LN" else TokenKind.MARK
    return TokenKind.WORD if character.isalnum() else TokenKind.MARK


class Casing(Enum):
    """What the capital letters of a text say about names."""

    SILENT = "no word, or every word, is in capitals"
    INITIAL = "capitals only where a sentence begins"
    TELLING = "some words have capitals and others have none"


class Word(NamedTuple):
    """A token, and whether it may be a name."""

    token: Token
    is_word: bool  # a word or character, not a mark
    stop: bool  # a stop word; never a mark
    capital: bool  # has a capital letter, or is in a script without capitals
    cased: bool  # has any letter with a case
    number: bool  # has a digit and no capital letter ("1990s", but not "T40"), or no letter
    initial: bool  # a sentence begins with it
    acronym: bool = False  # would be a stop word without its capitals: "US", "IT", "WHO"


def read_casing(tokens: Tokens, stop_words: Collection[str]) -> tuple[Casing, list[Word]]:
    """Return what the capitals of a text say, and its tokens as words."""
    text = tokens.text
    words = []
    initial = True
    lower = upper_only = capitals = later_capitals = 0
    for token in tokens.tokens:
        form = text[token.start : token.end]
        if token.kind == TokenKind.MARK:
            words.append(Word(token, False, False, False, False, False, initial or token.paragraph))
            if not (initial and form in _OPENING):
                after = text[token.end : token.end + 1] or " "
                spaced_after = after.isspace() or after in "\"'”’»)" or not after.isascii()
                initial = token.paragraph or (form in _SENTENCE_ENDS and spaced_after)
            continue
        initial = initial or token.paragraph
        has_upper, has_lower = form != form.lower(), form != form.upper()
        cased = has_upper or has_lower
        lower += cased and not has_upper
        capitals += has_upper
        later_capitals += has_upper and not initial
        upper_only += has_upper and not has_lower and len(form) > 1
        digits = any(character.isdigit() for character in form)
        number = (digits and not has_upper) or not any(map(str.isalpha, form))
        capital = has_upper or not (cased or number)
        words.append(Word(token, True, token.key in stop_words, capital, cased, number, initial))
        initial = False
    if not capitals or (not lower and capitals > 1 and upper_only * 2 > capitals):
        casing = Casing.SILENT if capitals or lower else Casing.TELLING
    else:
        casing = Casing.TELLING if later_capitals else Casing.INITIAL
    if casing is Casing.TELLING:  # then "US", "IT" and "WHO" are not stop words, nor is "Time" inside a sentence
        for at, word in enumerate(words):
            form = text[word.token.start : word.token.end]
            if word.stop and len(form) > 1 and form.isupper():
                words[at] = word._replace(stop=False, acronym=True)
            elif word.stop and word.capital and not word.initial and word.token.key in NAMES_IN_CAPITALS:
                words[at] = word._replace(stop=False)
    return casing, words
