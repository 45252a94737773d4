"""Count words, and measure and cut texts by them."""

from __future__ import annotations

import re
from itertools import islice

_HAN = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # and its neighbours
UNSPACED = re.compile(f"[{_HAN}{_THAI}]")  # a character of a script without spaces between words
# Marks, punctuation included, belong to the word before them, or at the beginning to the word after.
WORD = re.compile(rf"[^\w\s]*(?:[{_HAN}]|[{_THAI}]{{1,4}}|[^\s{_HAN}{_THAI}]+)[^\w\s]*")

_NO_WORD = re.compile(r"\W")
_BETWEEN_MARKS = "\0\\g<0>\0"


def count_words(text: str) -> int:
    """Return the number of words: runs of characters other than white space.

    In scripts without spaces, where a whole text would be one word, each Han character or kana counts as a word, and so do every
    four characters of Thai, Lao, Khmer and Burmese, about the length of a word.
    """
    return sum(1 for _ in WORD.finditer(text)) if _is_unspaced(text) else len(text.split())


def cut_words(text: str, words: int) -> str:
    """Return the beginning of a text, unchanged, up to the end of this many words as counted by `count_words`."""
    parts = text.split(None, words)
    start = text if len(parts) <= words else text[: -len(parts[-1])].rstrip()
    if _is_unspaced(start):
        end = next(islice(WORD.finditer(start), words - 1, None), None)
        return start if end is None else start[: end.end()]
    return start


def stands_in(part: str, text: str) -> bool:
    """Return whether a text contains another as whole words, ignoring white space: "she ran" does not contain "he ran"."""
    part, text = " ".join(part.split()), " ".join(text.split())
    if part not in text:
        return False
    # With a mark on both sides of everything except letters and digits, a plain search finds only whole words, in linear time.
    marked = _marked(part)
    if UNSPACED.match(part[:1]):
        marked = marked.removeprefix("\0")
    if UNSPACED.match(part[-1:]):
        marked = marked.removesuffix("\0")
    return not part or marked in _marked(text)


def _marked(text: str) -> str:
    return f"\0{_NO_WORD.sub(_BETWEEN_MARKS, text)}\0"


def _is_unspaced(text: str) -> bool:
    return not text.isascii() and UNSPACED.search(text) is not None
