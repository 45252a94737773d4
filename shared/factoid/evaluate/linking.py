"""Measures of entity linkers: agreement with annotated mentions, and how much is linked at all (Entity Retrieval, Table 3).

`resolve` brings titles into the form in which they are compared, for example by following redirects; by default underscores
become spaces and the first letter a capital. All functions raise `InvalidInputError` if something is not a list of lists, if
lists are of different numbers of texts, and where a mean is over no text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from factoid.entities.articles.names import canonical_title
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError
from factoid.evaluate.checks import check_lists, check_pairs

Titles = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class LinkingScores:
    """Agreement of mentions with annotated ones over all texts (micro average), from 0 to 1, and the numbers of mentions."""

    precision: float  # 0 if no mention was linked
    recall: float  # 0 if none is annotated
    f1: float
    linked: int
    annotated: int
    correct: int


@dataclass(frozen=True, slots=True)
class LinkingStatistics:
    """How much a linker links (Table 3)."""

    linked: float  # share of the texts with at least one entity, from 0 to 1 ("Linked %")
    most: int  # entities of one text ("Max.")
    average: float  # mean number of entities over all texts, including those without ("Avg.")
    texts: int


def strict_scores(
    linked: Sequence[Sequence[Mention]], annotated: Sequence[Sequence[Mention]], *, resolve: Titles = canonical_title
) -> LinkingScores:
    """Compare the mentions of each text with annotated ones: both ends of the span and the title must match."""
    check_lists(linked, "mentions")
    check_lists(annotated, "mentions")
    check_pairs(linked, "lists of mentions", annotated, "lists of annotations")
    spans, expected = (
        {
            (row, mention.start, mention.end, resolve(mention.title))
            for row, text in enumerate(texts)
            for mention in text
        }
        for texts in (linked, annotated)
    )
    correct = len(spans & expected)
    precision, recall = correct / max(len(spans), 1), correct / max(len(expected), 1)
    f1 = 2 * correct / max(len(spans) + len(expected), 1)
    return LinkingScores(precision, recall, f1, len(spans), len(expected), correct)


def linking_statistics(linked: Sequence[Sequence[Mention]], *, resolve: Titles = canonical_title) -> LinkingStatistics:
    """Count the distinct entities of each text: one that a text names twice counts once, as it is retrieved once."""
    check_lists(linked, "mentions")
    if not linked:
        raise InvalidInputError("expected the mentions of at least one text, got none")
    counts = [len({resolve(mention.title) for mention in mentions}) for mentions in linked]
    return LinkingStatistics(sum(map(bool, counts)) / len(counts), max(counts), sum(counts) / len(counts), len(counts))


def title_accuracy(
    linked: Sequence[Sequence[Mention]], titles: Sequence[str | Iterable[str]], *, resolve: Titles = canonical_title
) -> float:
    """Return the share of texts in which the expected title, or one of several, was found, from 0 to 1."""
    check_lists(linked, "mentions")
    check_pairs(linked, "lists of mentions", titles, "titles", least=1)
    hits = 0
    for mentions, title in zip(linked, titles, strict=True):
        expected = {resolve(name) for name in ([title] if isinstance(title, str) else title)}
        hits += not expected.isdisjoint(resolve(mention.title) for mention in mentions)
    return hits / len(linked)
