"""Rank parents by one score from several channels.

Units, their passage, and the words that it shares with the query.

    S(passage) = (1 - λ) · [(1 - α) · mean over granularities of its best unit + α · the passage itself] + λ · words

as AGRaME scores a unit with its passage (§3.2), but with single vectors. The passage itself is one
of its units: where no finer unit is as near to the query, it takes their place. Words are BM25 as a
share of the highest possible score, so that they count less where no text has many of them;
multiplied by the reach of the encoder's scores (`Scale`), since the cosines of some encoders lie
within a tenth of each other. A convex combination of scores ranks better than one of ranks (Bruch
et al., 2023).

All units are scored, or those that a filter allows. Where an index is not exact, only the units of
those passages are scored that the indexes and words find; their scores are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import isnan
from numbers import Real
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.inner_products import products
from factoid.ranking.columns import Columns, Groups, Ids, Mask, View
from factoid.ranking.scale import Scale
from factoid.units import Granularity
from factoid.vectors.lexical import LexicalIndex
from factoid.vectors.matrix import largest
from factoid.vectors.vector_index import membership, ranks

# How results are grouped: each unit alone, by its passage, or by its document.
Level = Literal["unit", "passage", "document"]

LEXICAL = "lexical"
MATCHES = 3  # best units to return with each parent
_SCORES = 1 << 24  # in memory at once: 64 MiB
_FOUND = 100  # vectors that it finds at least if several channels rank them
_FACTOR = 4  # by which a search is widened


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each channel in a blended score.

    Attributes:
        passage: α, the passage's share of the vectors' part, from 0 to 1; the rest is the share of
            its best units. If it is more than 0, the passage also counts as one of its units.
        lexical: λ, the share of words in the whole, from 0 (vectors alone) to 1 (BM25 alone). BM25
            is divided by the highest score that a text could have, and multiplied by the reach of
            the encoder's scores: what the inner product of equal directions is above the query's
            average one.

    Raises:
        InvalidInputError: A weight is out of range.
    """

    passage: float = 0.25
    lexical: float = 0.33

    def __post_init__(self) -> None:
        for name in ("passage", "lexical"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
                raise InvalidInputError(f"the weight {name} must be from 0 to 1, got {value!r}")


class Scored(NamedTuple):
    """A row id and its score; higher is better."""

    row: int
    score: float


class Group(NamedTuple):
    """A parent, its score, its best units, and the score of each channel by name."""

    key: int  # row of the passage or document; of the unit itself if it has no parent
    score: float
    matches: tuple[Scored, ...]  # the best units below it that the filter allows, best first
    parts: Mapping[str, float]
    # of a document, if passages may be closed: the row of its best open one
    passage: int | None = None


class _Channel(NamedTuple):
    """Units that take part, and their scores for several queries."""

    view: View
    weight: float  # in the score of a passage
    searched: bool  # the units may be found
    units: Groups  # by passage
    scores: Vectors  # in the order of `units.positions`. Shape: (queries, units)


def best_groups(
    views: Sequence[View],
    passages: View | None,
    queries: Vectors,
    k: int,
    *,
    level: Level,
    weights: Weights,
    lexical: LexicalIndex | None = None,
    texts: Sequence[str] = (),
    scale: Scale | None = None,
    closed: Ids | None = None,
) -> list[list[Group]]:
    """Return the k best parents for each query by their blended score; equal ones by row.

    They are exact if the indexes are. A document scores as its best passage, and a unit as its
    passage would if it were the nearest unit of each granularity. A passage that lacks units of a
    granularity, or a vector of its own, scores by the mean of what it has. Passages of allowed
    units count, unless they are closed: these score by their allowed units alone.

    Args:
        views: One for each searched granularity, all filtered or none.
        passages: That of passages; None if there are no vectors of them, and α counts for the
            units.
        queries: Finite, and of unit length where the similarity is the cosine. Shape: (n, dim),
            float32.
        k: Number of parents; all are returned if there are fewer.
        level: What a parent is.
        weights: The weight of each channel; that of words needs `lexical`.
        lexical: BM25 of passages.
        texts: The queries in words.
        scale: That of the scores, on which words are weighed; None for scores from 0 to 1.
        closed: Rows of passages whose own vectors and words do not count, ascending; the views of
            passages leave them out. None if there is no filter that could close any.
    """
    share = 0.0 if lexical is None else weights.lexical
    plan = _plan(views, passages, weights.passage, 1 - share, closed)
    blended = lexical is not None or len(plan) > 1
    whole, total = True, 0
    for view, *_ in plan:
        whole &= view.index.exact or view.is_small()
        total += view.columns.rows.size
    if not (whole or blended or level != "unit" or views[0].index.lossy):
        return _nearest(views[0], queries, k)
    keys, nearest = np.empty(0, np.int64), []
    if whole or blended:
        keys = _passages(views)
        if not len(keys):
            return [[] for _ in queries]
    if not whole:
        wanted = (max(_FOUND, _FACTOR * k), "passage") if blended else (k, level)
        nearest = [view.passages(queries, *wanted, alone=not blended) for view, *_ in plan]
    places = None
    if lexical is not None:
        places = lexical.places(keys)
        if closed is not None and len(closed):
            places = np.where(membership(keys, closed), -1, places)
    results: list[list[Group]] = []
    step = max(1, _SCORES // total) if whole else 1
    for start in range(0, len(queries), step):
        some = queries[start : start + step]
        words: list[Vectors] = []
        if lexical is not None and places is not None:
            words = [lexical.shares(text, places) for text in texts[start : start + step]]
        chosen = keys
        if not whole:
            candidates = [passages[start] for passages in nearest]
            if words:
                candidates.append(_best_by_shares(keys, words[0], max(_FOUND, _FACTOR * k)))
            chosen = np.unique(np.concatenate(candidates))
        if blended and not whole:
            places_of_chosen = ranks(chosen, keys)
            eligible = places_of_chosen >= 0
            chosen = chosen[eligible]
            words = [shares[places_of_chosen[eligible]] for shares in words]
        parts = np.full((len(plan), len(some), len(chosen)), np.nan, np.float32)
        channels = []
        for (view, weight, searched), best in zip(plan, parts, strict=True):
            units = view.units.within(chosen) if whole else view.within(chosen)
            scores = view.scores(some, units.positions)
            if len(units.keys):
                at = (
                    slice(None)
                    if len(units.keys) == len(chosen)
                    else np.searchsorted(chosen, units.keys)
                )
                best[:, at] = np.maximum.reduceat(scores, units.bounds[:-1], axis=1)
            channels.append(_Channel(view, weight, searched, units, scores))
        ranking = _Ranking(channels, parts, chosen, some, level, k, closed)
        if words and scale is not None:
            words = [
                reach * shares
                for reach, shares in zip(scale.reach(some).tolist(), words, strict=True)
            ]
        results += [
            ranking.best(number, words[number] if words else None, share)
            for number in range(len(some))
        ]
    return results


def _best_by_shares(keys: Ids, shares: Vectors, count: int) -> Ids:
    """Return the passages with the `count` largest shares of words, and others with an equal one.

    None without words.
    """
    at = largest(shares, count)
    return keys[at[shares[at] > 0]]


def _passages(views: Sequence[View]) -> Ids:
    """Return the passages that have allowed units in some view, ascending."""
    if len(views) == 1:
        return views[0].units.keys
    return np.unique(np.concatenate([view.units.keys for view in views]))


def _without(keys: Ids, closed: Ids | None) -> Ids:
    """Return passages without the closed ones."""
    return keys if closed is None or not len(closed) else keys[~membership(keys, closed)]


def _plan(
    views: Sequence[View], passages: View | None, alpha: float, dense: float, closed: Ids | None
) -> list[tuple[View, float, bool]]:
    """Return the channels of vectors, that of passages last.

    The view, its weight, and whether its units may be found.
    """
    finer = [view for view in views if view.granularity is not Granularity.PASSAGE]
    searched = len(finer) < len(views)
    context = passages if alpha or searched else None
    share = 0.0 if context is None else alpha if finer else 1.0
    plan = [(view, dense * (1 - share) / len(finer), True) for view in finer]
    if context is None:
        return plan
    # it is searched: other passages of units give context, and are not found
    if context.allowed is not None:
        plan.append((context, 0.0, True))
        searched = False
    if views[0].allowed is not None:
        mask = np.zeros(len(context.columns), np.bool_)
        groups = context.columns.by("passage")
        mask[groups.positions[groups.find(_without(_passages(views), closed))[0]]] = True
        context = replace(context, allowed=mask)
    return [*plan, (context, dense * share, searched)]


def _nearest(view: View, queries: Vectors, k: int) -> list[list[Group]]:
    """Return the k best units alone, as an index finds and scores them."""
    results, name = [], str(view.granularity)
    for positions, scores in view.nearest(queries, k):
        pairs = zip(view.columns.rows[positions].tolist(), scores.tolist(), strict=True)
        groups = [Group(row, score, (Scored(row, score),), {name: score}) for row, score in pairs]
        results.append(sorted(groups, key=lambda group: (-group.score, group.key))[:k])
    return results


@dataclass(frozen=True)
class _Ranking:
    """Ranks passages, or the documents or units that they belong to or hold."""

    channels: Sequence[_Channel]
    # best scores in each passage, NaN where there is none. Shape: (channels, queries, passages)
    parts: Vectors
    keys: Ids  # the passages, ascending
    queries: Vectors
    level: Level
    k: int
    # passages whose words do not count, and that are not returned for a document
    closed: Ids | None

    def best(self, number: int, words: Vectors | None, weight: float) -> list[Group]:
        """Return the best parents for one query.

        Its words' scores of the passages have this weight.
        """
        parts = self.parts[:, number]
        totals = self._dense(parts)
        by_words = np.zeros(len(self.keys), np.float32)
        if words is not None:
            by_words = words
            totals += weight * by_words
        order = self._order(totals)
        if self.level == "unit":
            return self._best_units(number, order, parts, by_words, weight)
        order = order[: self.k]
        parents = self.keys if self.level == "passage" else self._documents
        names = [str(channel.view.granularity) for channel in self.channels]
        columns = [column[order].tolist() for column in (parents, totals, parts.T, by_words)]
        groups = [
            Group(key, score, matches, _named(names, scores, of_words))
            for key, score, scores, of_words, matches in zip(
                *columns, self._matches(number, order), strict=True
            )
        ]
        if self.level == "document" and self.closed is not None:
            passages = self._open_passages(number, order, totals, self.closed)
            groups = [group._replace(passage=passages.get(group.key)) for group in groups]
        return groups

    def _open_passages(
        self, number: int, best: Ids, totals: Vectors, closed: Ids
    ) -> dict[int, int]:
        """Return the best open passage of each of some documents that has one.

        It has the best score, or if no scored one is open, the best unit.
        """
        chosen = self._documents[best]
        is_open = ~membership(self.keys, closed) & membership(self._documents, chosen)
        at = np.flatnonzero(is_open)
        passages = _firsts(self._documents[at], self.keys[at], totals[at])
        if len(passages) == len(best):
            return passages
        for view, which, positions, scores in self._units(number, best):
            parents = view.columns.parents[positions]
            at = np.flatnonzero(~membership(parents, closed))
            passages = _firsts(chosen[which[at]], parents[at], scores[at]) | passages
        return passages

    @cached_property
    def _documents(self) -> Ids:
        """The documents of all passages."""
        documents = np.zeros(len(self.keys), np.int64)
        for view, _, _, units, _ in self.channels:
            at = np.searchsorted(self.keys, units.keys)
            documents[at] = view.columns.documents[units.positions[units.bounds[:-1]]]
        return documents

    def _dense(self, parts: Vectors) -> Vectors:
        """Return the part of vectors in the score of each passage, or of the best unit in it.

        Shape: (passages,).
        """
        weights = np.array(list(map(attrgetter("weight"), self.channels)), np.float32)[:, None]
        if self.level == "unit":
            searched = [channel.searched for channel in self.channels]
            return self._blended(np.fmax.reduce(parts[searched]), parts)
        if self._has_context and self.channels[-1].weight:
            nearest = np.fmax(parts, parts[-1])
            parts = np.where(np.isnan(parts), np.nan, nearest)
        known = ~np.isnan(parts)
        if known.all():
            return np.asarray((weights * parts).sum(axis=0))
        present = np.where(known, weights, 0)
        # of weight 0, and there is no other
        present = np.where(known & (present.sum(axis=0) == 0), 1, present)
        return np.asarray(
            weights.sum() * (present * np.where(known, parts, 0)).sum(axis=0) / present.sum(axis=0)
        )

    def _blended(self, scores: Vectors, parts: Vectors) -> Vectors:
        """Return the part of vectors in the scores of units, given the parts of their passages.

        Shape: (units,).
        """
        weights = [channel.weight for channel in self.channels]
        if not self._has_context:
            return np.asarray(sum(weights) * scores)
        around = np.where(np.isnan(parts[-1]), scores, parts[-1])
        return np.asarray(sum(weights[:-1]) * scores + weights[-1] * around)

    @property
    def _has_context(self) -> bool:
        return self.channels[-1].view.granularity is Granularity.PASSAGE

    def _order(self, totals: Vectors) -> Ids:
        """Return the best passages, best first.

        At least k, or one of each of at least k documents, or all.
        """
        count = self.k
        while True:
            at = largest(totals, count)
            order = at[np.argsort(-totals[at], kind="stable")]
            if self.level != "document":
                return order
            documents, first = np.unique(self._documents[order], return_index=True)
            if len(first) >= self.k or len(order) == len(totals):
                return order[first[np.lexsort((documents, -totals[order[first]]))]]
            count *= _FACTOR

    def _units(self, number: int, best: Ids) -> Iterator[tuple[View, Ids, Ids, Vectors]]:
        """Yield the units of some parents that may be found.

        Their view, numbers of their parents, positions and scores.
        """
        for view, _, searched, units, scores in self.channels:
            if not searched:
                continue
            if self.level == "document":  # some may be in passages that were not found
                groups = view.columns.by(self.level)
                places, which = groups.find(self._documents[best])
                positions = groups.positions[places]
                if view.allowed is not None:
                    passing = view.allowed[positions]
                    positions, which = positions[passing], which[passing]
                values = view.scores(self.queries[number : number + 1], positions)[0]
            else:
                places, which = units.find(self.keys[best])
                positions, values = units.positions[places], scores[number, places]
            yield view, which, positions, values

    def _matches(self, number: int, best: Ids) -> list[tuple[Scored, ...]]:
        """Return the best units of each of some parents; equal ones by row."""
        found = [
            (which, view.columns.rows[at], scores)
            for view, which, at, scores in self._units(number, best)
        ]
        which, rows, scores = map(np.concatenate, zip(*found, strict=True))
        if len(found) > 1:  # a unit may be compared at several granularities, with one score
            _, first = np.unique(np.stack([which, rows]), axis=1, return_index=True)
            which, rows, scores = which[first], rows[first], scores[first]
        order = np.lexsort((rows, -scores, which))
        starts = np.searchsorted(which, np.arange(len(best) + 1), sorter=order)
        order = order[np.arange(len(order)) - starts[which[order]] < MATCHES]
        units = list(map(Scored, rows[order].tolist(), scores[order].tolist()))
        ends = np.cumsum(np.minimum(np.diff(starts), MATCHES)).tolist()
        return [tuple(units[start:end]) for start, end in pairwise([0, *ends])]

    def _best_units(
        self, number: int, best: Ids, parts: Vectors, words: Vectors, weight: float
    ) -> list[Group]:
        """Rank the units of the best passages by their own score, their passage's, and its words."""
        groups: dict[int, Group] = {}  # by row: a unit may be compared at several granularities
        for view, which, positions, scores in self._units(number, best):
            name, rows = str(view.granularity), view.columns.rows[positions]
            at = best[which]
            totals = self._blended(scores, parts[:, at]) + weight * words[at]
            order = np.lexsort((rows, -totals))[: self.k]
            of_units = [scores, parts[-1, at]] if self._has_context else [scores]
            columns = [column[order].tolist() for column in (rows, totals, words[at], *of_units)]
            for row, total, of_words, *values in zip(*columns, strict=True):
                parts_of_unit = _named((name, str(Granularity.PASSAGE)), values, of_words)
                groups.setdefault(row, Group(row, total, (Scored(row, values[0]),), parts_of_unit))
        return sorted(groups.values(), key=lambda group: (-group.score, group.key))[: self.k]


def _firsts(documents: Ids, passages: Ids, scores: Vectors) -> dict[int, int]:
    """Return the passage of each document that has the best score; of equal ones the first."""
    order = np.lexsort((passages, -scores))
    distinct, first = np.unique(documents[order], return_index=True)
    return dict(zip(distinct.tolist(), passages[order[first]].tolist(), strict=True))


def _named(names: Sequence[str], scores: Sequence[float], of_words: float) -> dict[str, float]:
    """Return the parts of a score by name, without those that are not there."""
    parts = dict(zip(names, scores, strict=False))
    if any(map(isnan, scores)):
        parts = {name: score for name, score in parts.items() if not isnan(score)}
    return parts | {LEXICAL: of_words} if of_words else parts


def best_by_words(
    lexical: LexicalIndex,
    texts: Sequence[str],
    k: int,
    columns: Columns,
    *,
    level: Level,
    allowed: Mask | None = None,
) -> list[list[Group]]:
    """Return the k best passages, or documents by their best passage, for each query by BM25 alone.

    The columns are those of the passages. `allowed` masks those that the filter allows; None for
    all.
    """
    rows = columns.rows
    parents = columns.documents if level == "document" else columns.rows
    if allowed is not None:
        rows = rows[allowed]
        parents = parents[allowed]
    places = lexical.places(rows)
    results = []
    for text in texts:
        shares = lexical.shares(text, places)
        matching = np.flatnonzero(shares)
        count = k
        while True:
            best = matching[largest(shares[matching], count)]
            best = best[np.lexsort((rows[best], -shares[best]))]
            _, first = np.unique(parents[best], return_index=True)
            if len(first) >= k or len(best) == len(matching):
                break
            count *= _FACTOR
        best = best[np.sort(first)[:k]]
        groups = []
        for key, row, share in zip(
            *(column[best].tolist() for column in (parents, rows, shares)), strict=True
        ):
            groups.append(Group(key, share, (Scored(row, share),), {LEXICAL: share}))
        results.append(groups)
    return results


def diverse_groups(
    views: Sequence[View],
    query: Vectors,
    groups: Sequence[Group],
    k: int,
    *,
    lambda_mult: float = 0.5,
) -> list[Group]:
    """Choose k parents by maximal marginal relevance (Carbonell and Goldstein, 1998).

    Near the query, far from those before. Both similarities are cosines of best units, so that they
    can be weighed against each other: `lambda_mult` is the weight of the similarity to the query,
    from 0 (only diversity counts) to 1 (it does not). Candidates come best first, each with at
    least one match.
    """
    if not groups:
        return []
    rows = np.array([group.matches[0].row for group in groups], np.int64)
    vectors = np.zeros((len(rows), len(query)), np.float32)
    for view in views:
        places, which = view.columns.by("unit").find(rows)
        if len(places):
            vectors[which] = view.exact(
                view.columns.vectors[view.columns.by("unit").positions[places]]
            )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors / np.where(norms > 0, norms, 1)  # a zero vector is near nothing
    relevance = products(directions, query / (np.linalg.norm(query) or 1))
    marginal, nearest = relevance.copy(), np.full(len(vectors), -np.inf)
    chosen: list[int] = []
    while len(chosen) < min(k, len(vectors)):
        best = int(marginal.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, products(directions, directions[best]))
        marginal = lambda_mult * relevance - (1 - lambda_mult) * nearest
        marginal[chosen] = -np.inf
    return [groups[place] for place in chosen]
