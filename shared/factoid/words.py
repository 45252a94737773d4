"""What counts as a word, wherever a text is measured or cut by words."""

from __future__ import annotations

import re
from itertools import islice

_HAN = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # and its neighbours
UNSPACED = re.compile(f"[{_HAN}{_THAI}]")  # a character of a script that writes no spaces between words
# Marks, also those of punctuation, go with what they stand behind, at the beginning with what follows.
WORD = re.compile(rf"[^\w\s]*(?:[{_HAN}]|[{_THAI}]{{1,4}}|[^\s{_HAN}{_THAI}]+)[^\w\s]*")

_NO_WORD = re.compile(r"\W")
_BETWEEN_MARKS = "\0\\g<0>\0"


def count_words(text: str) -> int:
    """Return the number of words: runs of what is no white space.

    In scripts without spaces each Han character or kana counts as a word, and so do four characters of Thai, Lao, Khmer and
    Burmese, about as many as their words have; else a whole text would be one word.
    """
    return sum(1 for _ in WORD.finditer(text)) if _is_unspaced(text) else len(text.split())


def cut_words(text: str, words: int) -> str:
    """Return the beginning of a text, as it is, up to the end of so many words as `count_words` counts them."""
    parts = text.split(None, words)
    start = text if len(parts) <= words else text[: -len(parts[-1])].rstrip()
    if _is_unspaced(start):
        end = next(islice(WORD.finditer(start), words - 1, None), None)
        return start if end is None else start[: end.end()]
    return start


def stands_in(part: str, text: str) -> bool:
    """Tell whether a text holds another as whole words, white space aside: "he ran" does not stand in "she ran"."""
    part, text = " ".join(part.split()), " ".join(text.split())
    if part not in text:
        return False
    # With a mark on both sides of all but letters and digits, a plain search finds whole words only, in linear time.
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
