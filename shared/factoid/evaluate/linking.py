"""Measures of entity linkers: agreement with annotated mentions, and how much is linked at all (Entity Retrieval, Table 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from factoid.entities.articles.names import canonical_title
from factoid.entities.mention import Mention
from factoid.errors import InvalidInputError
from factoid.evaluate.checks import check_list, check_lists

Titles = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class LinkingScores:
    """Agreement of mentions with annotated ones over all texts (micro average), each from 0 to 1.

    Attributes:
        precision: Share of the mentions found that are annotated; 0 if none was found.
        recall: Share of the annotated mentions that were found; 0 if none is annotated.
        f1: Their harmonic mean; 0 if both are 0.
        found, annotated, correct: How many mentions these are of.
    """

    precision: float
    recall: float
    f1: float
    found: int
    annotated: int
    correct: int


@dataclass(frozen=True, slots=True)
class LinkingStatistics:
    """How much a linker links (Table 3).

    Attributes:
        linked: Share of the texts with at least one entity, from 0 to 1 ("Linked %").
        most: Most entities of one text ("Max.").
        average: Mean number of entities over all texts, also those without ("Avg.").
        texts: Their number.
    """

    linked: float
    most: int
    average: float
    texts: int


def strict_scores(
    found: Sequence[Sequence[Mention]],
    annotated: Sequence[Sequence[Mention]],
    *,
    resolve: Titles = canonical_title,
) -> LinkingScores:
    """Compare mentions with annotated ones: both ends of the span and the title must be the same.

    Args:
        found: What the linker found in each text.
        annotated: What is right for each text.
        resolve: Brings titles to the form in which they are compared, such as a look-up of redirects; by default underscores
            are spaces, and the first letter is a capital.

    Raises:
        InvalidInputError: Mentions and annotations are of different numbers of texts, or no lists of lists.
    """
    check_lists(found, "mentions")
    check_lists(annotated, "mentions")
    if len(found) != len(annotated):
        message = f"got the mentions of {len(found)} texts, and annotations of {len(annotated)}"
        raise InvalidInputError(message)
    ours, right = _spans(found, resolve), _spans(annotated, resolve)
    correct = len(ours & right)
    precision = correct / len(ours) if ours else 0.0
    recall = correct / len(right) if right else 0.0
    both = len(ours) + len(right)
    return LinkingScores(precision, recall, 2 * correct / both if both else 0.0, len(ours), len(right), correct)


def linking_statistics(found: Sequence[Sequence[Mention]], *, resolve: Titles = canonical_title) -> LinkingStatistics:
    """Count the distinct entities of each text: one that a text names twice counts once, as it is retrieved once.

    Raises:
        InvalidInputError: There is no text, or the mentions are no lists of lists.
    """
    check_lists(found, "mentions")
    if not found:
        message = "expected the mentions of at least one text, got none"
        raise InvalidInputError(message)
    counts = [len({resolve(mention.title) for mention in mentions}) for mentions in found]
    return LinkingStatistics(sum(map(bool, counts)) / len(counts), max(counts), sum(counts) / len(counts), len(counts))


def title_accuracy(
    found: Sequence[Sequence[Mention]],
    titles: Sequence[str | Iterable[str]],
    *,
    candidates: bool = False,
    resolve: Titles = canonical_title,
) -> float:
    """Return the share of texts in which an expected title was found, whatever else was, from 0 to 1.

    Args:
        found: What the linker found in each text.
        titles: The title that is expected of each text, or several of which one is enough.
        candidates: Whether it is enough that it is among the candidates of a mention.
        resolve: As of `strict_scores`.

    Raises:
        InvalidInputError: Mentions and titles are of different numbers of texts, no lists, or there is no text.
    """
    check_lists(found, "mentions")
    check_list(titles, "titles")
    if len(found) != len(titles) or not found:
        message = f"expected a title for each text, and at least one, got {len(titles)} titles for {len(found)} texts"
        raise InvalidInputError(message)
    right = 0
    for mentions, title in zip(found, titles, strict=True):
        expected = {resolve(each) for each in ([title] if isinstance(title, str) else title)}
        own = {mention.title for mention in mentions}
        if candidates:
            own.update(each.title for mention in mentions for each in mention.candidates)
        right += not expected.isdisjoint(map(resolve, own))
    return right / len(found)


def _spans(mentions: Sequence[Sequence[Mention]], resolve: Titles) -> set[tuple[int, int, int, str]]:
    return {(text, each.start, each.end, resolve(each.title)) for text, own in enumerate(mentions) for each in own}
