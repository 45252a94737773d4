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
    said, expected = (
        {
            (number, mention.start, mention.end, resolve(mention.title))
            for number, row in enumerate(rows)
            for mention in row
        }
        for rows in (linked, annotated)
    )
    return 2 * len(said & expected) / max(len(said) + len(expected), 1)


def title_accuracy(
    linked: Sequence[Sequence[Mention]],
    titles: Sequence[str | Sequence[str]],
    *,
    resolve: Titles = canonical_title,
) -> float:
    """Return the share of texts in which the expected title, or one of several, is linked."""
    return fmean(
        not {resolve(name) for name in ([title] if isinstance(title, str) else title)}.isdisjoint(
            resolve(mention.title) for mention in mentions
        )
        for mentions, title in zip(linked, titles, strict=True)
    )
