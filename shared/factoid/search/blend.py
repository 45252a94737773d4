"""One score from several channels: units, their passage, and the words it shares with the query.

    S(passage) = (1 - λ) · [(1 - α) · mean over granularities of its best unit + α · the passage itself] + λ · BM25

as AGRaME scores a unit with its passage (§3.2), but with single vectors. BM25 is divided by the query's best, so it is in [0, 1]
like cosines of related texts; or by half the score of a text with all words of the query if that is more, so that words count
less where no text has many of them. A convex combination of scores ranks better than one of ranks (Bruch et al., 2023).

The k best are exact: each channel returns its best passages and a bound on all others, candidates are scored exactly in every
channel, and the search goes deeper until no other passage can reach the k-th (Fagin's threshold algorithm).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan
from numbers import Real
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factoid.encode import Vectors
from factoid.errors import InvalidInputError
from factoid.index.lexical import LexicalIndex
from factoid.search.columns import Columns, Ids, Mask
from factoid.search.rollup import (
    Group,
    Level,
    Parents,
    Scored,
    View,
    attach_matches,
    best_of_each,
    best_parents,
    scored_units,
)
from factoid.units import Granularity

LEXICAL = "lexical"

_DEPTH = 4  # passages that each channel returns at first, for each of the k; also the factor of deeper searches
_LEAST_DEPTH = 256  # a second look at exact indexes costs more than a deeper first one
_WORDS = 16  # times as many passages by words, which are cheap
_ENOUGH = 0.5  # of the score of a text with all words of the query: the best text counts less if it has less
_TINY = 1e-9
_NO_ROWS, _NO_SCORES = np.empty(0, np.int64), np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each channel in a blended score.

    Attributes:
        passage: α, the passage's share of the vectors' part, from 0 to 1; the rest is the share of its best units.
        lexical: λ, the share of words in the whole, from 0 (vectors alone) to 1 (BM25 alone). BM25 is divided by its best for
            the query, or by half the score of a text with all its words if that is more, and multiplied by the inner product
            that two vectors of equal direction would have: 1 for unit length.

    Raises:
        InvalidInputError: A weight is out of range.
    """

    passage: float = 0.4
    lexical: float = 0.2

    def __post_init__(self) -> None:
        for name in ("passage", "lexical"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
                raise InvalidInputError(f"the weight {name} must be from 0 to 1, got {value!r}")


class _Channel(NamedTuple):
    view: View
    weight: float  # in the score of a passage
    searched: bool = True  # its units may be found
    filtered: Mask | None = None  # units that the filter allows, if the view also has passages of other units


def best_blended(
    views: Sequence[View],
    passages: View | None,
    queries: Vectors,
    k: int,
    *,
    level: Level,
    weights: Weights,
    lexical: LexicalIndex | None = None,
    texts: Sequence[str] = (),
    min_score: float | None = None,
) -> list[list[Group]]:
    """Return the k best parents for each query by their blended score; equal ones by row.

    A document scores as its best passage, and a unit as its passage would if it were the best unit of each granularity. A passage
    that lacks units of a granularity, or a vector of its own, scores by the mean of what it has. Passages of allowed units count,
    whether or not the filter allows them.

    `views` has one view for each searched granularity, all filtered or none, and `passages` is that of passages; if it is None,
    because the store has no vectors of them, α counts for the units. `lexical` is BM25 of passages for `texts`, the queries in
    words; None for vectors alone. The other arguments are those of `best_groups`.
    """
    if lexical is None:
        weights = replace(weights, lexical=0.0)
    scales = weights.lexical * views[0].length * np.linalg.norm(queries, axis=1)
    channels, eligible, complete = _channels(views, passages, weights)
    restricted = None if complete and views[0].allowed is None else eligible
    shares = np.array([channel.weight for channel in channels])
    ranking = _Ranking(channels, shares, lexical, restricted, complete, level, k, min_score)
    results: list[list[Group]] = [[]] * len(queries)
    pending, depth = np.arange(len(queries)), max(_DEPTH * k, _LEAST_DEPTH)
    while len(pending):
        parents: list[Parents] = []
        worst = np.full((len(channels), len(pending)), -np.inf)  # -inf where a channel returned all it has
        for channel, scores in zip(channels, worst, strict=True):
            parents.append(best_parents(channel.view, queries[pending], depth, level="passage"))
            counts = np.bincount(parents[-1].queries, minlength=len(pending))
            more = counts == depth
            scores[more] = parents[-1].scores[np.cumsum(counts)[more] - 1]
        ceilings = ranking.ceilings(worst)
        which, keys, _ = map(np.concatenate, zip(*parents, strict=True))
        counts = np.bincount(which, minlength=len(pending))
        keys_of_queries = np.split(keys[np.argsort(which, kind="stable")], np.cumsum(counts)[:-1])
        unproven = []
        for number, candidates, ceiling in zip(pending.tolist(), keys_of_queries, ceilings.tolist(), strict=True):
            text = texts[number] if lexical is not None else ""
            query, scale = queries[number : number + 1], float(scales[number])
            results[number], proven = ranking.of(query, text, candidates, ceiling, depth, scale)
            if not proven and depth < len(eligible):
                unproven.append(number)
        pending, depth = np.array(unproven, np.int64), depth * _DEPTH
    if level == "document":  # its best units may be in other passages than those ranked
        attach_matches(results, views, queries, level=level)
    return results


def best_by_words(
    lexical: LexicalIndex,
    texts: Sequence[str],
    k: int,
    columns: Columns,
    *,
    level: Level,
    allowed: Mask | None = None,
    min_score: float | None = None,
) -> list[list[Group]]:
    """Return the k best passages, or documents by their best passage, for each query by BM25 alone.

    The columns are those of the passages. `allowed` masks those that the filter allows; None for all.
    """
    some = None if allowed is None else columns.rows[allowed]
    results = []
    for text in texts:
        words, depth = lexical.words(text), k
        while True:
            rows, scores = lexical.search(words, depth, allowed=some)
            parents = rows if level != "document" else columns.documents[np.searchsorted(columns.rows, rows)]
            first = np.sort(np.unique(parents, return_index=True)[1])
            if len(first) >= k or len(rows) < depth:
                break
            depth *= _DEPTH
        groups, shares = [], scores / scores.max(initial=_ENOUGH * lexical.expected_score(words))
        for at in first[:k].tolist():
            score = float(shares[at])
            groups.append(Group(int(parents[at]), score, (Scored(int(rows[at]), score),), {LEXICAL: score}))
        results.append([group for group in groups if min_score is None or group.score >= min_score])
    return results


def _channels(views: Sequence[View], passages: View | None, weights: Weights) -> tuple[list[_Channel], Ids, bool]:
    """Return the channels of vectors, the passages that may be found, and whether each has units in every channel."""
    finer, parents = [], []
    for view in views:
        parents.append(view.parents("passage"))
        if view.granularity is not Granularity.PASSAGE:
            finer.append(view)
    eligible = parents[0] if len(parents) == 1 else np.unique(np.concatenate(parents))
    context = passages if weights.passage or len(finer) < len(views) else None
    share = 0.0 if context is None else weights.passage if finer else 1.0
    dense = 1 - weights.lexical
    channels = [_Channel(view, dense * (1 - share) / len(finer)) for view in finer]
    if context is not None:
        keys = context.columns.members["passage"].keys
        mask = None if np.array_equal(keys, eligible) else np.isin(context.columns.parents, eligible)
        searched = len(finer) < len(views)
        channels.append(_Channel(replace(context, allowed=mask), dense * share, searched, context.allowed))
        parents.append(keys if mask is None else channels[-1].view.parents("passage"))
    return channels, eligible, set(map(len, parents)) == {len(eligible)}


@dataclass(frozen=True)
class _Ranking:
    """Rank the passages that several channels return: the part that all queries of a search share."""

    channels: Sequence[_Channel]
    shares: NDArray[np.float64]  # the weights of the channels
    lexical: LexicalIndex | None
    restricted: Ids | None  # the passages that may be found, ascending; None for all
    complete: bool  # each passage has units in every channel
    level: Level
    k: int
    min_score: float | None

    def of(
        self, query: Vectors, text: str, keys: Ids, ceiling: float, depth: int, words_weight: float
    ) -> tuple[list[Group], bool]:
        """Return the best parents of a query, and whether no other can be better.

        `keys` are the passages that the channels returned, and `ceiling` bounds the score of all others, without words.
        """
        rows, shares, count = _NO_ROWS, _NO_SCORES, _WORDS * depth
        if self.lexical is not None:
            words = self.lexical.words(text)
            rows, scores = self.lexical.search(words, count, allowed=self.restricted)
            highest = scores.max(initial=_ENOUGH * self.lexical.expected_score(words))
            shares = scores / highest
        keys = np.union1d(keys, rows[:depth])
        for _ in range(2):
            of_keys = _at(keys, rows, shares)
            if self.lexical is not None and len(rows) == count:  # there may be more that share a word
                unknown = ~np.isin(keys, rows)
                of_keys[unknown] = self.lexical.scores(words, keys[unknown]) / highest
            groups = self._ranked(query, keys, of_keys, words_weight)
            reached = groups[-1].score if len(groups) == self.k else -np.inf
            if self.min_score is not None:
                reached = max(reached, self.min_score)
            # Passages whose words alone lift them above the bound on the vectors of all passages not met.
            lifted = np.setdiff1d(rows[ceiling + words_weight * shares > reached], keys)
            if not len(lifted):
                break
            keys = np.union1d(keys, lifted)
        if len(rows) == count:
            ceiling += words_weight * float(shares[-1])
        if self.min_score is not None:
            groups = [group for group in groups if group.score >= self.min_score]
        return groups, reached >= ceiling

    def ceilings(self, worst: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the best possible score, without words, of a passage that no channel returned, or of a unit in it.

        `worst` holds the worst score that each channel returned, -inf if it returned all it has. Shapes: (channels, queries) to
        (queries,).
        """
        ceilings: NDArray[np.float64] = self.shares.sum() * worst.max(axis=0)
        if self.complete:
            ended = np.isinf(worst).any(axis=0)
            if self.level == "unit":
                finer = np.array([channel.view.granularity is not Granularity.PASSAGE for channel in self.channels])
                worst = np.where(finer[:, None], worst[finer].max(axis=0, initial=-np.inf), worst)
            ceilings = np.where(ended, -np.inf, self.shares @ np.where(ended, 0, worst))
        return ceilings

    def _ranked(self, query: Vectors, keys: Ids, words: Vectors, words_weight: float) -> list[Group]:
        """Return the k best parents among passages whose words are already scored."""
        parts = np.full((len(self.channels), len(keys)), np.nan)
        documents = np.zeros(len(keys), np.int64)
        units, names = [], []
        for (view, *_), part in zip(self.channels, parts, strict=True):
            positions, passages, scores = scored_units(view, query, np.zeros_like(keys), keys, level="passage")
            np.fmax.at(part, passages, scores)
            documents[passages] = view.columns.documents[positions]
            units.append((positions, passages, scores))
            names.append(str(view.granularity))
        if self.level == "unit":
            return self._best_units(units, parts, words, words_weight)
        shares = self.shares[:, None]
        known = ~np.isnan(parts)
        present = np.where(known, shares, 0.0)
        present[:, present.sum(axis=0) == 0] = 1.0  # a part of weight 0 counts if there is no other
        present = np.where(known, present, 0.0)
        means = (present * np.where(known, parts, 0.0)).sum(axis=0) / np.maximum(present.sum(axis=0), _TINY)
        totals = shares.sum() * means + words_weight * words
        order = np.lexsort((keys, -totals))
        order = order[known.any(axis=0)[order]]
        if self.level == "document":
            order = order[np.sort(np.unique(documents[order], return_index=True)[1])]
        best = order[: self.k]
        parents = (keys if self.level == "passage" else documents)[best].tolist()
        matches = [()] * len(best) if self.level == "document" else self._matches(units, best, len(keys))
        names.append(LEXICAL)
        parts_of_best = np.vstack([parts, np.where(words, words, np.nan)])[:, best].T.tolist()
        groups = []
        for parent, total, scores, scored in zip(parents, totals[best].tolist(), parts_of_best, matches, strict=True):
            known_parts = {name: score for name, score in zip(names, scores, strict=True) if not isnan(score)}
            groups.append(Group(parent, total, scored, known_parts))
        return groups

    def _matches(self, units: Sequence[tuple[Ids, Ids, Vectors]], best: Ids, count: int) -> list[tuple[Scored, ...]]:
        """Return the best units of each of the best passages, out of the scored units of all `count` candidates."""
        places = np.full(count, -1)
        places[best] = np.arange(len(best))
        scored = []
        for channel, (positions, passages, scores) in zip(self.channels, units, strict=True):
            if not channel.searched:
                continue
            chosen = places[passages] >= 0
            if channel.filtered is not None:
                chosen &= channel.filtered[positions]
            scored.append((places[passages[chosen]], channel.view.columns.rows[positions[chosen]], scores[chosen]))
        return best_of_each(scored, len(best))

    def _best_units(
        self, units: Sequence[tuple[Ids, Ids, Vectors]], parts: Vectors, words: Vectors, words_weight: float
    ) -> list[Group]:
        """Rank units by their own score, their passage's, and its words; the channel of passages is the last one."""
        context = self.channels[-1] if self.channels[-1].view.granularity is Granularity.PASSAGE else None
        finer = sum(channel.weight for channel in self.channels if channel is not context)
        groups = []
        for (view, _, searched, filtered), (positions, passages, scores) in zip(self.channels, units, strict=True):
            if not searched:
                continue
            totals = finer * scores + words_weight * words[passages]
            around = parts[-1][passages]
            if context is not None:
                totals = totals + context.weight * np.where(np.isnan(around), scores, around)
            if filtered is not None:
                totals = np.where(filtered[positions], totals, -np.inf)
            rows = view.columns.rows[positions]
            for at in np.lexsort((rows, -totals))[: min(self.k, np.isfinite(totals).sum())].tolist():
                best = Scored(int(rows[at]), float(scores[at]))
                known = {str(view.granularity): best.score}
                if context is not None and not isnan(around[at]):
                    known[Granularity.PASSAGE.value] = float(around[at])
                if words[passages[at]]:
                    known[LEXICAL] = float(words[passages[at]])
                groups.append(Group(best.row, float(totals[at]), (best,), known))
        return sorted(groups, key=lambda group: (-group.score, group.key))[: self.k]


def _at(keys: Ids, rows: Ids, values: Vectors) -> Vectors:
    """Return the values of keys, by rows in any order; 0 for those that are not among them. Shape: (keys,)."""
    aligned = np.zeros(len(keys), np.float32)
    order = np.argsort(rows)
    places = np.searchsorted(rows, keys, sorter=order)
    known = places < len(rows)
    known[known] = rows[order[places[known]]] == keys[known]
    aligned[known] = values[order[places[known]]]
    return aligned
