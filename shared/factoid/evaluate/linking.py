"""Measures of entity linkers.

Agreement with annotated mentions, and with the titles that questions are about. `resolve` brings
titles into the form in which they are compared, for example by following redirects; by default
underscores become spaces and the first letter a capital.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from factoid.entities.articles.names import canonical_title
from factoid.entities.mention import Mention

Titles = Callable[[str], str]


def strict_f1(
    linked: Sequence[Sequence[Mention]],
    annotated: Sequence[Sequence[Mention]],
    *,
    resolve: Titles = canonical_title,
) -> float:
    """Return the F1 of the mentions of all texts (micro average).

    Both ends of the span and the title must match.
    """
    said = _resolved(linked, resolve)
    expected = _resolved(annotated, resolve)
    return 2 * len(said & expected) / max(len(said) + len(expected), 1)


def _resolved(
    texts: Sequence[Sequence[Mention]], resolve: Titles
) -> set[tuple[int, int, int, str]]:
    """Return the mentions of all texts: the number of the text, the span and the title."""
    resolved = set()
    for number, mentions in enumerate(texts):
        for mention in mentions:
            resolved.add((number, mention.start, mention.end, resolve(mention.title)))
    return resolved


def title_accuracy(
    linked: Sequence[Sequence[Mention]],
    titles: Sequence[str | Sequence[str]],
    *,
    resolve: Titles = canonical_title,
) -> float:
    """Return the share of texts in which the expected title, or one of several, is linked."""
    right = []
    for mentions, expected in zip(linked, titles, strict=True):
        if isinstance(expected, str):
            expected = [expected]
        said = {resolve(mention.title) for mention in mentions}
        right.append(not said.isdisjoint(map(resolve, expected)))
    return fmean(right)
