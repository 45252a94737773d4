"""Count words, and measure and cut texts by them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

# scripts without spaces between words: Han and kana, then Thai, Lao, Burmese and Khmer
_UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
# Characters that nobody sees: soft hyphens, zero-width spaces and joiners, marks of direction, byte
# order marks, tags.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]+"
)
# Soft hyphens, spaces without width, byte order marks: nothing is lost without them.
_WITHOUT_TRACE = re.compile("[\u00ad\u200b\u2060\ufeff]+")
UNSPACED = re.compile(f"[{_UNSPACED}]")
# Marks, punctuation included, belong to the word before them, or at the beginning to the word
# after.
_WORD = re.compile(rf"[^\w\s]*(?:[{_UNSPACED}]|[^\s{_UNSPACED}]+)[^\w\s]*")
_BEGIN = re.compile(rf"(?<![^\W{_UNSPACED}])|(?=[{_UNSPACED}])")  # of a word
_END = re.compile(rf"(?![^\W{_UNSPACED}])|(?<=[{_UNSPACED}])")
_MOST_TRIES = 100

# "10⁶" is not 106.
RAISED = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")


def without_invisible(text: str) -> tuple[str, Sequence[int]]:
    """Return a text without the characters that nobody sees, and the places of the others in it."""
    if text.isascii() or not INVISIBLE.search(text):
        return text, range(len(text))
    places = []
    for at, character in enumerate(text):
        if not INVISIBLE.match(character):
            places.append(at)
    return INVISIBLE.sub("", text), places


def without_traceless(text: str) -> str:
    """Return a text without soft hyphens, spaces without width and byte order marks."""
    return text if text.isascii() else _WITHOUT_TRACE.sub("", text)


def fold(text: str) -> str:
    """Return a text in the form in which words are compared.

    "Straße" is "strasse", and "İ" is "i".
    """
    return text.casefold().replace("i\u0307", "i")


def count_words(text: str) -> int:
    """Return the number of words: runs of characters other than white space.

    In scripts without spaces, where a whole text would be one word, each character is a word.
    """
    if _is_unspaced(text):
        return sum(1 for _ in _WORD.finditer(text))
    return len(text.split())


def cut_words(text: str, words: int) -> str:
    """Return the beginning of a text, unchanged, up to the end of so many words.

    `count_words` counts them.
    """
    parts = text.split(None, words)
    start = text if len(parts) <= words else text[: -len(parts[-1])].rstrip()
    if _is_unspaced(start):
        end = next(islice(_WORD.finditer(start), words - 1, None), None)
        if end is None:
            return start
        return start[: end.end()]
    return start


def stands_in(part: str, text: str) -> bool:
    """Return whether a text contains another as whole words, ignoring white space.

    "she ran" does not contain "he ran".
    """
    part = " ".join(part.split())
    text = " ".join(text.split())
    start = text.find(part)
    for _ in range(_MOST_TRIES):
        if start < 0:
            return False
        if _BEGIN.match(text, start) and _END.match(text, start + len(part)):
            return True
        start = text.find(part, start + 1)
    return False  # a text that repeats the part within words so often is not written by people


def _is_unspaced(text: str) -> bool:
    return not text.isascii() and UNSPACED.search(text) is not None
