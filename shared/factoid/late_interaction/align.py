"""Align a proposition with the words of its sentence (AGRaME, footnote 2, after the sub-sentence encoder of Chen et al., 2023).

Words match if they are equal without common endings. Of a repeated word, the one with matching neighbours is taken: all words
are assigned at once, for the best overall agreement of their contexts.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.propositions.ground import stem
from factoid.sentences import Span

_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+|[^\W_]+")
_REACH = 3  # words on either side that make up a word's context
_CONTEXT = 0.01  # weight of a matching neighbour: all together count less than one more matching word


def align(proposition: str, sentence: str) -> list[Span]:
    """Return the spans of the sentence whose words occur in a proposition, in order; adjacent words form one span.

    Raises:
        MissingDependencyError: SciPy, part of the extra `models`, is absent.
    """
    words, places = _words(proposition), _words(sentence)
    matches = np.array([[word == place for place, _ in places] for word, _ in words], float)
    if not matches.any():
        return []
    weights = _with_context(matches)
    rows, columns = require("scipy.optimize", extra="models").linear_sum_assignment(weights, maximize=True)
    chosen = sorted(column for row, column in zip(rows, columns, strict=True) if matches[row, column])
    spans: list[Span] = []
    for place, column in enumerate(chosen):
        start, end = places[column][1]
        if place and chosen[place - 1] == column - 1:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _words(text: str) -> list[tuple[str, Span]]:
    return [(stem(match[0].lower()), match.span()) for match in _WORD.finditer(text)]


def _with_context(matches: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return matches, each increased slightly for every matching pair of words around it, in either order."""
    around = np.ones((2 * _REACH + 1, 2 * _REACH + 1))
    around[_REACH, :] = around[:, _REACH] = 0
    pairs = require("scipy.ndimage", extra="models").convolve(matches, around, mode="constant")
    weighted: NDArray[np.float64] = matches * (1 + _CONTEXT * pairs)
    return weighted
