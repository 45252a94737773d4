"""What capital letters say in a text: nothing, little, or which words are names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum

from factoid.entities.linkers.stop_words import NAMES_IN_CAPITALS
from factoid.entities.linkers.tokens import Token, TokenKind, Tokens

_SENTENCE_ENDS = frozenset(".!?…。！？؟۔।:;")
_OPENING = frozenset("\"'“‘«([{¿¡„-–—*•")


class Casing(Enum):
    """What the capital letters of a text tell."""

    SILENT = "no word, or every word, is in capitals"
    INITIAL = "capitals only where a sentence begins"
    TELLING = "some words have capitals and others have none"


@dataclass(frozen=True, slots=True)
class Word:
    """What a token tells about whether it is a name, or part of one.

    Attributes:
        token: The token.
        is_word: Whether it is a word or character and not a mark.
        stop: Whether it is a stop word; marks are none.
        capital: Whether it has a capital letter, or is of a script that has none.
        cased: Whether it has any letter with a case.
        number: Whether it has a digit and no capital letter ("1990s", but not "T40"), or no letter.
        acronym: Whether it is a stop word but for its capitals: "US", "IT", "WHO".
        initial: Whether a sentence begins with it.
    """

    token: Token
    is_word: bool
    stop: bool
    capital: bool
    cased: bool
    number: bool
    initial: bool
    acronym: bool = False


def read_casing(tokens: Tokens, stop_words: Collection[str]) -> tuple[Casing, list[Word]]:
    """Return what the capitals of a text tell, and what each of its tokens tells."""
    text = tokens.text
    words = []
    initial = True
    lower = upper_only = capitals = later_capitals = 0
    for token in tokens.tokens:
        form = text[token.start : token.end]
        if token.kind == TokenKind.MARK:
            words.append(Word(token, False, False, False, False, False, initial or token.paragraph))
            if not (initial and form in _OPENING):
                initial = token.paragraph or (form in _SENTENCE_ENDS and _is_spaced_after(text, token.end))
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
        words.append(
            Word(token, True, token.key in stop_words, has_upper or not (cased or number), cased, number, initial)
        )
        initial = False
    if not capitals or (not lower and capitals > 1 and upper_only * 2 > capitals):
        casing = Casing.SILENT if capitals or lower else Casing.TELLING
    else:
        casing = Casing.TELLING if later_capitals else Casing.INITIAL
    if casing is not Casing.TELLING:
        return casing, words
    return casing, [_named_by_capitals(word, text) for word in words]


def _named_by_capitals(word: Word, text: str) -> Word:
    """Tell "US", "IT" and "WHO" from stop words, and "Time" inside a sentence, in a text whose capitals tell."""
    token = word.token
    form = text[token.start : token.end]
    if word.stop and len(form) > 1 and form.isupper():
        return replace(word, stop=False, acronym=True)
    if word.stop and word.capital and not word.initial and token.key in NAMES_IN_CAPITALS:
        return replace(word, stop=False)
    return word


def _is_spaced_after(text: str, end: int) -> bool:
    return end == len(text) or text[end].isspace() or text[end] in "\"'”’»)" or not text[end].isascii()
