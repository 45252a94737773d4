"""Abbreviations keep their full stop: words of a document, mended by Moses' tokenizer."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

from factoid._optional import require
from factoid.entities.spel.words import Span


def join_abbreviations(text: str, words: Sequence[Span]) -> list[Span]:
    """Return words of which those that a "." follows are one with it where Moses keeps both together, as in "U.S.".

    Newlines need no stand-in, as SpEL gives them: tokens are found again by their characters.

    Args:
        text: The text.
        words: Its words, as `split_words` gives them.

    Raises:
        MissingDependencyError: The package sacremoses is not installed.
    """
    stops = [at for at in range(1, len(words)) if _follows(text, words, at)]
    if not stops:
        return list(words)
    inner = _inner_characters(text, _tokenizer().tokenize(text, escape=False))
    together = {at for at in stops if words[at][0] in inner}
    joined: list[Span] = []
    for at, (start, end) in enumerate(words):
        if at in together:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _follows(text: str, words: Sequence[Span], at: int) -> bool:
    start, end = words[at]
    return text[start:end] == "." and words[at - 1][1] == start


def _inner_characters(text: str, tokens: Sequence[str]) -> set[int]:
    """Return the positions of the characters of tokens, but for each token's first one."""
    inner: set[int] = set()
    at = 0
    for token in tokens:
        for number, character in enumerate(token):
            while at < len(text) and text[at] != character and _dropped(text[at]):
                at += 1
            if at == len(text) or text[at] != character:
                return inner  # Moses has changed the text, and nothing is known about the rest
            if number:
                inner.add(at)
            at += 1
    return inner


def _dropped(character: str) -> bool:
    """Tell whether Moses leaves a character out."""
    return character.isspace() or unicodedata.category(character) == "Cc"


@cache
def _tokenizer() -> Any:
    return require("sacremoses", extra="spel").MosesTokenizer(lang="en")
