"""Rank parents by one score from several channels.

Units, their passage, and the words that it shares with the query.

    S(passage) = (1 - λ) · V(passage) + λ · words
    V(passage) = (1 - α) · mean over granularities of its best unit + α · the passage itself

as AGRaME scores a unit with its passage (§3.2), but with single vectors. The passage itself is one
of its units: where no finer unit is as near to the query, it takes their place.

Where units are ranked for themselves, one has a single granularity, and stands for the mean:

    S(unit) = (1 - λ) · V(unit) + λ · words of its passage
    V(unit) = (1 - α) · the unit + α · its passage

Words are BM25 as a share of the highest possible score, so that they count less where no text has
many of them; multiplied by the reach of the encoder's scores (`Scale`), since the cosines of some
encoders lie within a tenth of each other. A convex combination of scores ranks better than one of
ranks (Bruch et al., 2023).

All units are scored, or those that a filter allows. Where an index is not exact, only the units of
those passages are scored that the indexes and words find; their scores are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from factoid.encode import Vectors
from factoid.ranking.candidates import (
    AllowedPassages,
    Batch,
    all_passages,
    nearest_units,
    passages_of_channels,
    passages_of_index,
)
from factoid.ranking.channels import ChannelPlan, Weights, plan_channels
from factoid.ranking.columns import Grouping, Ids, View
from factoid.ranking.ranked_parents import LEXICAL, MATCHES, Parents, RankedParent, Scored, sort_key
from factoid.ranking.scale import Scale
from factoid.units import Granularity
from factoid.vectors.lexical import LexicalIndex
from factoid.vectors.matrix import best_first, largest
from factoid.vectors.vector_index import membership

_WIDER = 4  # times as many passages, where the best ones are of too few documents


class _Channel(NamedTuple):
    """Units that take part, and their scores for several queries."""

    view: View
    weight: float  # in the score of a passage
    gives_matches: bool  # its units may be matches
    units: Grouping  # by passage
    scores: Vectors  # in the order of `units.positions`. Shape: (queries, units)


class _UnitsOfParents(NamedTuple):
    """Units of one channel in some parents: for each unit its parent, position and score."""

    view: View
    parent_numbers: Ids  # in the order of the parents that were asked for
    positions: Ids  # in the view's columns
    scores: Vectors


def best_parents(
    views: Sequence[View],
    passages: View | None,
    queries: Vectors,
    k: int,
    *,
    parents: Parents,
    weights: Weights,
    lexical: LexicalIndex | None = None,
    texts: Sequence[str] = (),
    scale: Scale | None = None,
    closed: Ids | None = None,
) -> list[list[RankedParent]]:
    """Return the k best parents for each query by their blended score; equal ones by row.

    They are exact if the indexes are. A document scores as its best passage, and a unit as its
    passage would if it were the nearest unit of each granularity. A passage that lacks units of a
    granularity, or a vector of its own, scores by the mean of what it has. Passages of allowed
    units count, unless they are closed: these score by their allowed units alone.

    Args:
        views: One for each compared granularity, all filtered or none.
        passages: That of passages; None if there are no vectors of them, and α counts for the
            units.
        queries: Finite, and of unit length where the similarity is the cosine. Shape: (n, dim),
            float32.
        k: Number of parents; all are returned if there are fewer.
        parents: What a parent is.
        weights: The weight of each channel; that of words needs `lexical`.
        lexical: BM25 of passages.
        texts: The queries in words.
        scale: That of the scores, on which words are weighed; None for scores from 0 to 1.
        closed: Rows of passages whose own vectors and words do not count, ascending; the views of
            passages leave them out. None if there is no filter that could close any.
    """
    # -- Plan: which channels make the score, and whether all of their units are scored --
    lexical_weight = 0.0
    if lexical is not None:
        lexical_weight = weights.lexical
    plan = plan_channels(views, passages, weights.passage, 1 - lexical_weight, closed)
    is_blended = lexical is not None or len(plan.channels) > 1
    is_exhaustive = all(channel.view.is_small() for channel in plan.channels)

    # -- Candidates: the passages that are ranked --
    if is_exhaustive or is_blended:
        allowed = AllowedPassages.of(views, lexical, texts, closed)
        if not len(allowed.rows):
            return [[] for _ in queries]
        if is_exhaustive:
            batches = all_passages(plan.channels, allowed, queries)
        else:
            batches = passages_of_channels(plan.channels, allowed, queries, k)
    elif parents == "unit":
        return nearest_units(views[0], queries, k)
    else:  # the only index finds the best by itself
        batches = passages_of_index(plan.channels[0], queries, k, parents)

    results: list[list[RankedParent]] = []
    for batch in batches:
        # -- Scores: of the units of the candidates, in each channel --
        channels, best_scores = _scores(plan, batch, is_exhaustive=is_exhaustive)
        word_scores = batch.word_scores
        if word_scores and scale is not None:
            reaches = scale.reach(batch.queries).tolist()
            scaled = []
            for reach, of_query in zip(reaches, word_scores, strict=True):
                scaled.append(reach * of_query)
            word_scores = scaled

        # -- Ranking: of the parents, by the weighted sum of the channels --
        ranking = _Ranking(
            channels=channels,
            context_place=plan.context_place,
            best_scores=best_scores,
            passage_rows=batch.passage_rows,
            queries=batch.queries,
            parents=parents,
            k=k,
            closed=closed,
        )
        for number in range(len(batch.queries)):
            words_of_query = None
            if word_scores:
                words_of_query = word_scores[number]
            results.append(ranking.best(number, words_of_query, lexical_weight))
    return results


# -- Scores --


def _scores(
    plan: ChannelPlan, batch: Batch, *, is_exhaustive: bool
) -> tuple[list[_Channel], Vectors]:
    """Score the units of the passages of a batch in each channel.

    Returns:
        The channels with their units, and the best score in each passage, NaN where there is none.
        Shape: (channels, queries, passages).
    """
    passage_rows = batch.passage_rows
    shape = (len(plan.channels), len(batch.queries), len(passage_rows))
    best_scores = np.full(shape, np.nan, np.float32)
    channels = []
    # `best` is filled in place
    for channel, best in zip(plan.channels, best_scores, strict=True):
        view = channel.view
        if is_exhaustive:
            units = view.units.within(passage_rows)  # grouped once for all batches
        else:
            units = view.within(passage_rows)  # only these are grouped
        scores = view.scores(batch.queries, units.positions)
        if len(units.keys) == len(passage_rows):
            best[:] = np.maximum.reduceat(scores, units.bounds[:-1], axis=1)
        elif len(units.keys):
            places = np.searchsorted(passage_rows, units.keys)
            best[:, places] = np.maximum.reduceat(scores, units.bounds[:-1], axis=1)
        channels.append(_Channel(*channel, units, scores))
    return channels, best_scores


# -- Ranking --


@dataclass(frozen=True)
class _Ranking:
    """Ranks passages, or the documents or units that they belong to or hold."""

    channels: Sequence[_Channel]
    context_place: int | None  # as in `ChannelPlan`: in `channels` and in `best_scores`
    # those in each passage, NaN where there is none. Shape: (channels, queries, passages)
    best_scores: Vectors
    passage_rows: Ids  # ascending
    queries: Vectors
    parents: Parents
    k: int
    # passages whose words do not count, and that are not returned for a document
    closed: Ids | None

    def best(
        self, number: int, word_scores: Vectors | None, lexical_weight: float
    ) -> list[RankedParent]:
        """Return the best parents for one query.

        Args:
            number: The query's.
            word_scores: The score of each passage by words; None if they do not count.
            lexical_weight: That of words.
        """
        best_scores = self.best_scores[:, number]
        totals = self._vector_scores(best_scores)
        words = np.zeros(len(self.passage_rows), np.float32)
        if word_scores is not None:
            words = word_scores
            totals += lexical_weight * words
        order = self._order(totals)
        if self.parents == "unit":
            return self._best_units(number, order, best_scores, words, lexical_weight)
        order = order[: self.k]
        parent_rows = self.passage_rows
        if self.parents == "document":
            parent_rows = self._documents
        names = [str(channel.view.granularity) for channel in self.channels]
        columns = (parent_rows, totals, best_scores.T, words)
        rows = zip(
            *(column[order].tolist() for column in columns),
            self._matches(number, order),
            strict=True,
        )
        ranked = []
        for key, score, scores, word_score, matches in rows:
            ranked.append(RankedParent(key, score, matches, _named(names, scores, word_score)))
        if self.parents == "document" and self.closed is not None:
            passages = self._open_passages(number, order, totals, self.closed)
            ranked = [parent._replace(passage=passages.get(parent.key)) for parent in ranked]
        return ranked

    def _open_passages(
        self, number: int, best: Ids, totals: Vectors, closed: Ids
    ) -> dict[int, int]:
        """Return the best open passage of each of some documents that has one.

        It has the best score, or if no scored one is open, the best unit.
        """
        chosen = self._documents[best]
        is_open = ~membership(self.passage_rows, closed) & membership(self._documents, chosen)
        at = np.flatnonzero(is_open)
        passages = _firsts(self._documents[at], self.passage_rows[at], totals[at])
        if len(passages) == len(best):
            return passages
        for units in self._units(number, best):
            passage_rows = units.view.columns.passages[units.positions]
            at = np.flatnonzero(~membership(passage_rows, closed))
            documents = chosen[units.parent_numbers[at]]
            passages = _firsts(documents, passage_rows[at], units.scores[at]) | passages
        return passages

    @cached_property
    def _documents(self) -> Ids:
        """The documents of all passages."""
        documents = np.zeros(len(self.passage_rows), np.int64)
        for channel in self.channels:
            units = channel.units
            first = units.positions[units.bounds[:-1]]  # a unit of each passage
            places = np.searchsorted(self.passage_rows, units.keys)
            documents[places] = channel.view.columns.documents[first]
        return documents

    def _vector_scores(self, best_scores: Vectors) -> Vectors:
        """Return V of each passage; where units are ranked, V of the best unit in it.

        The k best units lie in the k passages that are first by this. Shape: (passages,).
        """
        if self.parents != "unit":
            return self._scores_of_passages(best_scores)
        gives_matches = [channel.gives_matches for channel in self.channels]
        best_units = np.fmax.reduce(best_scores[gives_matches])
        return self._scores_of_units(best_units, best_scores)

    def _scores_of_passages(self, best_scores: Vectors) -> Vectors:
        """Return V(passage), the weighted mean of the best scores that are known in each passage.

        A passage may lack units of a granularity, or a vector of its own.
        """
        if self.context_place is not None and self.channels[self.context_place].weight:
            best_scores = _with_passage_as_unit(best_scores, best_scores[self.context_place])
        weights = np.array([[channel.weight] for channel in self.channels], np.float32)
        is_known = ~np.isnan(best_scores)
        if is_known.all():
            return np.asarray((weights * best_scores).sum(axis=0))
        # The weights of what is not known go to what is.
        present = np.where(is_known, weights, 0)
        # A passage may be known only through channels of weight 0: then they count.
        present = np.where(is_known & (present.sum(axis=0) == 0), 1, present)
        weighted = present * np.where(is_known, best_scores, 0)
        # Not divided by 0: a candidate has a unit in some channel, so some score of it is known.
        return np.asarray(weights.sum() * weighted.sum(axis=0) / present.sum(axis=0))

    def _scores_of_units(self, scores: Vectors, best_scores: Vectors) -> Vectors:
        """Return V(unit) of some units.

        Args:
            scores: Those of the units themselves. Shape: (units,).
            best_scores: Those in the passage of each unit. Shape: (channels, units).
        """
        weights = [channel.weight for channel in self.channels]
        if self.context_place is None:
            return np.asarray(sum(weights) * scores)
        passage_weight = weights.pop(self.context_place)
        passage_scores = best_scores[self.context_place]
        # Where the passage has no vector, the unit has its weight, too.
        passage_scores = np.where(np.isnan(passage_scores), scores, passage_scores)
        return np.asarray(sum(weights) * scores + passage_weight * passage_scores)

    def _order(self, totals: Vectors) -> Ids:
        """Return at least the k best passages, best first, or all if there are fewer.

        Where documents are ranked, these are the best passages of at least k of them.
        """
        count = self.k
        while True:
            passages = largest(totals, count)
            passages = passages[np.argsort(-totals[passages], kind="stable")]
            if self.parents != "document":
                return passages
            # The first passage of each document is its best one.
            documents, first = np.unique(self._documents[passages], return_index=True)
            if len(first) >= self.k or len(passages) == len(totals):
                best_passages = passages[first]
                return best_passages[best_first(totals[best_passages], documents)]
            count *= _WIDER

    def _units(self, number: int, best: Ids) -> Iterator[_UnitsOfParents]:
        """Yield the units of some parents that may be found, one channel at a time."""
        for channel in self.channels:
            if not channel.gives_matches:
                continue
            view = channel.view
            if self.parents == "document":  # some may be in passages that were not found
                groups = view.columns.by(self.parents)
                places, parent_numbers = groups.find(self._documents[best])
                positions = groups.positions[places]
                if view.allowed is not None:
                    is_allowed = view.allowed[positions]
                    positions = positions[is_allowed]
                    parent_numbers = parent_numbers[is_allowed]
                [scores] = view.scores(self.queries[number : number + 1], positions)
            else:
                places, parent_numbers = channel.units.find(self.passage_rows[best])
                positions = channel.units.positions[places]
                scores = channel.scores[number, places]
            yield _UnitsOfParents(view, parent_numbers, positions, scores)

    def _matches(self, number: int, best: Ids) -> list[tuple[Scored, ...]]:
        """Return the best units of each of some parents; equal ones by row."""
        columns = []
        for units in self._units(number, best):
            columns.append(
                (units.parent_numbers, units.view.columns.rows[units.positions], units.scores)
            )
        parent_numbers, rows, scores = map(np.concatenate, zip(*columns, strict=True))
        if len(columns) > 1:
            # A passage without finer units stands for them (`store/indexes/compared.py`): it may be
            # in the views of several granularities, everywhere with the same score.
            _, first = np.unique(np.stack([parent_numbers, rows]), axis=1, return_index=True)
            parent_numbers = parent_numbers[first]
            rows = rows[first]
            scores = scores[first]
        order = np.lexsort((rows, -scores, parent_numbers))
        places, ends = _first_of_groups(parent_numbers[order], len(best), MATCHES)
        order = order[places]
        matches = list(map(Scored, rows[order].tolist(), scores[order].tolist()))
        return [tuple(matches[start:end]) for start, end in pairwise([0, *ends.tolist()])]

    def _best_units(
        self, number: int, best: Ids, best_scores: Vectors, words: Vectors, lexical_weight: float
    ) -> list[RankedParent]:
        """Rank the units of the best passages.

        By their own score, their passage's, and its words.
        """
        # By row: a passage without finer units stands for them, and may be in several views.
        ranked: dict[int, RankedParent] = {}
        for units in self._units(number, best):
            rows = units.view.columns.rows[units.positions]
            passages = best[units.parent_numbers]
            by_vectors = self._scores_of_units(units.scores, best_scores[:, passages])
            totals = by_vectors + lexical_weight * words[passages]
            names = [str(units.view.granularity)]
            columns: list[np.ndarray[Any, Any]] = [rows, totals, words[passages], units.scores]
            if self.context_place is not None:
                names.append(str(Granularity.PASSAGE))
                columns.append(best_scores[self.context_place, passages])
            order = best_first(totals, rows)[: self.k]
            ordered = [column[order].tolist() for column in columns]
            for row, total, word_score, *values in zip(*ordered, strict=True):
                if row not in ranked:
                    matches = (Scored(row, values[0]),)
                    ranked[row] = RankedParent(
                        row, total, matches, _named(names, values, word_score)
                    )
        return sorted(ranked.values(), key=sort_key)[: self.k]


def _with_passage_as_unit(best_scores: Vectors, passage_scores: Vectors) -> Vectors:
    """Return the best scores where a passage is one of its own units.

    What is not known stays so. Shapes: (channels, passages) and (passages,) to the first.
    """
    nearest = np.fmax(best_scores, passage_scores)
    return np.asarray(np.where(np.isnan(best_scores), np.nan, nearest))


def _first_of_groups(groups: Ids, count: int, limit: int) -> tuple[Ids, Ids]:
    """Return the places of the first members of each group, and where each group ends in these.

    Args:
        groups: The number of the group of each member, ascending.
        count: How many groups there are, numbered from 0.
        limit: How many members of each group are wanted.
    """
    bounds = np.searchsorted(groups, np.arange(count + 1))
    place_in_group = np.arange(len(groups)) - bounds[groups]
    places = np.flatnonzero(place_in_group < limit)
    ends = np.cumsum(np.minimum(np.diff(bounds), limit))
    return places, ends


def _firsts(documents: Ids, passages: Ids, scores: Vectors) -> dict[int, int]:
    """Return the passage of each document that has the best score; of equal ones the first."""
    order = best_first(scores, passages)
    distinct, first = np.unique(documents[order], return_index=True)
    return dict(zip(distinct.tolist(), passages[order[first]].tolist(), strict=True))


def _named(names: Sequence[str], scores: Sequence[float], word_score: float) -> dict[str, float]:
    """Return the parts of a score by name, without those that are not there."""
    parts = dict(zip(names, scores, strict=True))
    if any(map(isnan, scores)):
        parts = {name: score for name, score in parts.items() if not isnan(score)}
    if word_score:
        parts[LEXICAL] = word_score
    return parts
