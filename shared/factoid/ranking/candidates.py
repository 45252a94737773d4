"""Choose the passages that are ranked for each query: all of them, or those that indexes find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from factoid.encode import Vectors
from factoid.ranking.channels import PlannedChannel, passages_of
from factoid.ranking.columns import Ids, View
from factoid.ranking.ranked_parents import Parents, RankedParent, Scored, sort_key
from factoid.vectors.lexical import LexicalIndex
from factoid.vectors.matrix import largest
from factoid.vectors.vector_index import membership, places_in

_SCORES = 1 << 24  # in memory at once: 64 MiB
# Candidates that each of several channels gives at least, where the indexes are not exact. A choice
# that was measured later: docs/store-benchmarks.md, "Candidates of each channel". On random vectors
# and words, twice as many find 98 instead of 93 of 100 of the best passages, and take up to a third
# longer.
_CHANNEL_CANDIDATES = 100
_CHANNEL_FACTOR = 4  # times as many candidates as parents that are asked for, at least


class Words(NamedTuple):
    """The words of the passages that may be ranked, and the queries in words."""

    lexical: LexicalIndex
    places: Ids  # of the passages in the index, -1 where words do not count
    texts: Sequence[str]

    def scores(self, number: int) -> Vectors:
        """Return the score of each passage by the words of one query. Shape: (passages,)."""
        return self.lexical.relative_scores(self.texts[number], self.places)


class AllowedPassages(NamedTuple):
    """The passages that may be ranked, and their words."""

    rows: Ids  # ascending
    words: Words | None  # None if words do not count

    @classmethod
    def of(
        cls,
        views: Sequence[View],
        lexical: LexicalIndex | None,
        texts: Sequence[str],
        closed: Ids | None,
    ) -> AllowedPassages:
        """Return all passages that have allowed units in some view.

        The words of closed ones do not count.
        """
        rows = passages_of(views)
        words = None
        if lexical is not None:
            words = Words(lexical, _places(lexical, rows, closed), texts)
        return cls(rows, words)


class Batch(NamedTuple):
    """Queries that are scored together, and the passages that are ranked for them."""

    queries: Vectors  # shape: (n, dim)
    passage_rows: Ids  # ascending
    # for each query the score of each passage by words; none if they do not count
    word_scores: list[Vectors]


def all_passages(
    channels: Sequence[PlannedChannel], allowed: AllowedPassages, queries: Vectors
) -> Iterator[Batch]:
    """Yield queries, as many as are scored in memory at once, with all passages."""
    words = allowed.words
    units = sum(len(channel.view.columns) for channel in channels)
    step = max(1, _SCORES // units)
    for start in range(0, len(queries), step):
        numbers = range(start, min(start + step, len(queries)))
        word_scores = []
        if words is not None:
            word_scores = [words.scores(number) for number in numbers]
        yield Batch(queries[start : start + step], allowed.rows, word_scores)


def passages_of_channels(
    channels: Sequence[PlannedChannel], allowed: AllowedPassages, queries: Vectors, k: int
) -> Iterator[Batch]:
    """Yield each query with the passages that the indexes of the channels find for it."""
    width = _width(k)
    by_index = []
    for channel in channels:
        by_index.append(channel.view.passages(queries, width, "passage", is_only_channel=False))
    for number, passages_of_query in enumerate(zip(*by_index, strict=True)):
        by_channel = list(passages_of_query)
        all_word_scores = None
        if allowed.words is not None:
            all_word_scores = allowed.words.scores(number)
            by_channel.append(_best_of_words(allowed.rows, all_word_scores, width))
        candidates = np.unique(np.concatenate(by_channel))
        places = places_in(allowed.rows, candidates)
        is_allowed = places >= 0
        word_scores = []
        if all_word_scores is not None:
            word_scores.append(all_word_scores[places[is_allowed]])
        yield Batch(queries[number : number + 1], candidates[is_allowed], word_scores)


def passages_of_index(
    channel: PlannedChannel, queries: Vectors, k: int, parents: Parents
) -> Iterator[Batch]:
    """Yield each query with the passages that the index of the only channel finds for it."""
    by_query = channel.view.passages(queries, k, parents, is_only_channel=True)
    for number, passages in enumerate(by_query):
        yield Batch(queries[number : number + 1], np.unique(passages), [])


def _width(k: int) -> int:
    """Return how many candidates each of several channels gives."""
    return max(_CHANNEL_CANDIDATES, _CHANNEL_FACTOR * k)


def _best_of_words(passage_rows: Ids, word_scores: Vectors, count: int) -> Ids:
    """Return the passages with the `count` best scores by words, and others with an equal one.

    Passages without the words are left out.
    """
    places = largest(word_scores, count)
    return passage_rows[places[word_scores[places] > 0]]


def _places(lexical: LexicalIndex, passage_rows: Ids, closed: Ids | None) -> Ids:
    """Return where the words of passages are, -1 for those whose words do not count."""
    places = lexical.places(passage_rows)
    if closed is not None and len(closed):
        places = np.where(membership(passage_rows, closed), -1, places)
    return places


def nearest_units(view: View, queries: Vectors, k: int) -> list[list[RankedParent]]:
    """Return the k best units alone, as an index finds and scores them."""
    name = str(view.granularity)
    results = []
    for positions, scores in view.nearest(queries, k):
        ranked = []
        rows = view.columns.rows[positions].tolist()
        for row, score in zip(rows, scores.tolist(), strict=True):
            ranked.append(RankedParent(row, score, (Scored(row, score),), {name: score}))
        ranked.sort(key=sort_key)
        results.append(ranked[:k])
    return results
