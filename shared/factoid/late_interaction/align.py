"""Align a proposition with the words of its sentence (AGRaME, footnote 2)."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from factoid.propositions.ground import stem
from factoid.sentences import Span

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|[^\W_]+")
_MOST_WORDS = 300


def align(proposition: str, sentence: str) -> list[Span]:
    """Return the spans of the sentence whose words occur in a proposition in the same order.

    Adjacent words form one span. Words match if they are equal without common endings. Of a longer
    proposition, the first 300 words count.
    """
    words = _words(proposition)[:_MOST_WORDS]
    places = _words(sentence)
    matcher = SequenceMatcher(
        None, [word for word, _ in words], [word for word, _ in places], autojunk=False
    )
    spans: list[Span] = []
    following = 0
    for _, first, size in matcher.get_matching_blocks():
        if not size:
            continue
        start = places[first][1][0]
        end = places[first + size - 1][1][1]
        if spans and first == following:
            start = spans.pop()[0]
        spans.append((start, end))
        following = first + size
    return spans


def _words(text: str) -> list[tuple[str, Span]]:
    return [(stem(match[0].lower()), match.span()) for match in _WORD.finditer(text)]
