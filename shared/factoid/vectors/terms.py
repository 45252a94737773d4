"""Turn the words of a text into terms, the 64-bit keys that a lexical index compares.

Words are folded and stemmed.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from Stemmer import Stemmer

from factoid.errors import InvalidInputError
from factoid.words import INVISIBLE, UNSPACED, fold

LANGUAGES = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "": "",
}
"""The languages that have a stemmer (Snowball), and "" for all others."""

STOP_WORDS = frozenset(
    "a an the and or of in on at by for from to with as is are was were be been am do does did "
    "has have had it its this that these those there i me my you your we our they their he she "
    "his her what which who whom whose when "
    "where why how can could would should will shall may might must please tell give".split()
)
"""Words that say nothing about what an English question is about."""
_LONGEST = 100  # characters of a word: longer ones are data
_REMEMBERED = 200_000  # words whose keys are kept

_UNSPACED_RUN = re.compile(rf"(?:{UNSPACED.pattern}|[\uac00-\ud7af])+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Letters that do not decompose into a plain letter and a mark.
_PLAIN_LETTERS = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}
)
# Marks that texts are mostly written without: vowels and other points of Arabic, Hebrew and Syriac,
# and the line that makes Arabic words longer. In other scripts vowel signs are letters.
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0898-\u089f"
    "\u08ca-\u08e1\u08e3-\u08ff]+"
)
_ACCENTS = re.compile("[\u0300-\u036f]")


class Terms:
    """Finds the terms of texts in one language.

    Words are runs of letters, marks and digits, case-folded, stemmed, and then without accents;
    characters that are not seen (soft hyphens, zero-width spaces, marks of direction) do not count,
    nor do the points of Arabic, Hebrew and Syriac.
    Scripts without spaces, and Korean, are read as characters and pairs of them. A term is a hash
    of 64 bits, so no index holds a word of a text.

    Args:
        language: A code of `LANGUAGES`, or "" for no stemmer.

    Raises:
        InvalidInputError: The language is unknown.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = check_language(language)
        self._keys = _Keys(LANGUAGES[language])

    def of_text(self, text: str) -> list[int]:
        """Return the terms of a text in their order, repeated as in the text."""
        if len(self._keys) > _REMEMBERED:
            self._keys.clear()
        return list(map(self._keys.__getitem__, _words(_pairs_beside_characters, text)))

    def of_query(self, query: str) -> list[int]:
        """Return the terms of a query, each once.

        Words that are common to all questions are left out if it has others.
        """
        words = _words(_pairs, query)
        if self.language == "en":
            content_words = [word for word in words if word not in STOP_WORDS]
            words = content_words or words
        return list(dict.fromkeys(map(self._keys.key, words)))


class _Keys(dict[str, int]):
    """The terms of case-folded words, computed when they are first looked up."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stemmer: Any = None
        if language:
            self._stemmer = Stemmer(language)

    def __missing__(self, word: str) -> int:
        self[word] = key = self.key(word)
        return key

    def key(self, word: str) -> int:
        """Return the term of a word, without keeping it."""
        stem = word
        if self._stemmer is not None:
            stem = self._stemmer.stemWord(word)
        if not stem.isascii():
            stem = _without_accents(stem)
        digest = blake2b(stem.encode(errors="surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "little")


def check_language(language: str) -> str:
    """Return a language if it is one of `LANGUAGES`; raise InvalidInputError otherwise."""
    if language not in LANGUAGES:
        known = ", ".join(map(repr, LANGUAGES))
        raise InvalidInputError(
            f"unknown language {language!r}: expected one of {known}; '' does without a stemmer, "
            "and scripts without spaces need none"
        )
    return language


def _words(spaced: Any, text: str) -> list[str]:
    """Return the case-folded words of a text.

    `spaced` puts spaces into scripts without spaces.
    """
    if text.isascii():
        words: list[str] = _ASCII_WORD.findall(text.lower())
    else:
        seen = INVISIBLE.sub("", text)
        folded = unicodedata.normalize("NFKC", fold(unicodedata.normalize("NFKC", seen)))
        words = _word().findall(spaced(_POINTS.sub("", folded)))
    if len(text) > _LONGEST:
        words = [word for word in words if len(word) <= _LONGEST]
    return words


def _pairs_beside_characters(text: str) -> str:
    """Put spaces between characters, and pairs of characters, of scripts without spaces."""

    def spaced(match: re.Match[str]) -> str:
        run = match[0]
        pairs = map("".join, pairwise(run))
        return f" {' '.join([*run, *pairs])} "

    return _UNSPACED_RUN.sub(spaced, text)


def _pairs(text: str) -> str:
    """Return a query with spaces between the pairs of characters of scripts without spaces.

    One character stays alone.
    """

    def spaced(match: re.Match[str]) -> str:
        run = match[0]
        pairs = list(map("".join, pairwise(run)))
        return f" {' '.join(pairs or run)} "

    return _UNSPACED_RUN.sub(spaced, text)


def _without_accents(word: str) -> str:
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", plain).translate(_PLAIN_LETTERS)


@cache
def _word() -> re.Pattern[str]:
    """Return a pattern of a word.

    It is letters and digits, with the vowel signs and accents that belong to them.
    """
    marks = f"[{_characters('Mn', 'Mc')}]"
    return re.compile(rf"[^\W_]+(?:{marks}+[^\W_]*)*")


def _characters(*categories: str) -> str:
    """Return the characters of some Unicode categories as ranges of a regular expression."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in categories:
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
