"""Words of a text, and the subwords that each is made of."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence

Span = tuple[int, int]

_TOKEN = re.compile(r"\S+")
_PUNCTUATION = frozenset(string.punctuation)


def split_words(text: str) -> list[Span]:
    """Return the spans of the words, in characters.

    A text is split on white space. Where a piece begins or ends with ASCII punctuation, its leading run, its core and its
    trailing run are words of their own; elsewhere a trailing 's is one.
    """
    return [span for match in _TOKEN.finditer(text) for span in _split(match[0], match.start())]


def _split(token: str, at: int) -> Iterator[Span]:
    end = at + len(token)
    if token[0] in _PUNCTUATION or token[-1] in _PUNCTUATION:
        core = at + len(token) - len(token.lstrip(string.punctuation))
        core_end = max(core, at + len(token.rstrip(string.punctuation)))
        yield from (span for span in ((at, core), (core, core_end), (core_end, end)) if span[0] < span[1])
    elif token.endswith(("'s", "'S")):
        yield from ((at, end - 2), (end - 2, end))
    else:
        yield at, end


def group_subwords(words: Sequence[Span], offsets: Sequence[Span]) -> list[range]:
    """Return for each word which subwords it is made of: those that start before its end and in no earlier word.

    White space that the tokenizer has made a subword of its own counts to the word after it. A word is left without
    subwords where one of them reaches over it from the word before.

    Args:
        words: Spans in order.
        offsets: The span of each subword, without those of special tokens.
    """
    groups, at = [], 0
    for _, end in words:
        first = at
        while at < len(offsets) and offsets[at][0] < end:
            at += 1
        groups.append(range(first, at))
    return groups
