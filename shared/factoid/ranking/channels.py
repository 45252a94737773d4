"""Plan the channels of vectors that make a score: their units, weights, and who gives matches.

A search *compares* granularities: their units may be matches, and candidates come from them. The
passage around such a unit is its *context*: it weighs in the score, by `Weights.passage`, but is a
match only if passages are compared as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import NamedTuple

import numpy as np

from factoid.errors import InvalidInputError
from factoid.ranking.columns import Ids, View
from factoid.units import Granularity
from factoid.vectors.vector_index import membership


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each channel in a blended score.

    Attributes:
        passage: α, the weight of the passage in the score by vectors, from 0 to 1; its best units
            have the rest. If it is more than 0, the passage also counts as one of its units.
        lexical: λ, the weight of words, from 0 (vectors alone) to 1 (BM25 alone). BM25 is divided
            by the highest score that a text could have, and multiplied by the reach of the
            encoder's scores: what the inner product of equal directions is above the query's
            average one.

    Raises:
        InvalidInputError: A weight is out of range.
    """

    # Chosen on several sets of questions: docs/ranking.md, "The default score"
    passage: float = 0.25
    lexical: float = 0.33

    def __post_init__(self) -> None:
        for name in ("passage", "lexical"):
            value = getattr(self, name)
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
                raise InvalidInputError(f"the weight {name} must be from 0 to 1, got {value!r}")


class PlannedChannel(NamedTuple):
    """A channel of vectors before its units are scored."""

    view: View
    weight: float  # in the score of a passage
    gives_matches: bool  # its units may be matches


class ChannelPlan(NamedTuple):
    """The channels of vectors of a search."""

    channels: list[PlannedChannel]
    context_place: int | None  # of the context among the channels; None if there is none


def plan_channels(
    views: Sequence[View],
    passages: View | None,
    alpha: float,
    dense_weight: float,
    closed: Ids | None,
) -> ChannelPlan:
    """Return the channels of vectors.

    A plan with a filter, for passages and propositions:

        channel                 units                                weight  gives matches
        propositions            those that pass                      1 - α   yes
        passages                those that pass                      0       yes
        passages (the context)  all over units that pass, not closed α       no

    The second is left out where passages are not compared. Without a filter the last two are one,
    which is the context and gives matches. The weights are shares of `dense_weight`.

    Args:
        views: The compared granularities.
        passages: That of passages, if they have vectors.
        alpha: The weight of the passage in the score by vectors.
        dense_weight: The weight of the score by vectors.
        closed: Passages whose own vectors do not count.
    """
    finer = []
    for view in views:
        if view.granularity is not Granularity.PASSAGE:
            finer.append(view)
    compares_passages = len(finer) < len(views)
    has_filter = views[0].allowed is not None  # all views have a mask, or none has
    context = None
    context_weight = 0.0
    if passages is not None and (alpha or compares_passages):
        context = passages
        context_weight = alpha
        if not finer:
            context_weight = 1.0
    channels = []
    for view in finer:
        weight = dense_weight * (1 - context_weight) / len(finer)
        channels.append(PlannedChannel(view, weight, True))
    if context is None:
        return ChannelPlan(channels, context_place=None)
    context_gives_matches = compares_passages
    if has_filter:
        if compares_passages:
            # The passages that may be matches are a channel of weight 0. The one below scores the
            # passages of all units that may be matches, and gives none itself.
            channels.append(PlannedChannel(context, 0.0, True))
            context_gives_matches = False
        mask = np.zeros(len(context.columns), np.bool_)
        groups = context.columns.by("passage")
        places, _ = groups.find(without(passages_of(views), closed))
        mask[groups.positions[places]] = True
        context = replace(context, allowed=mask)
    channels.append(PlannedChannel(context, dense_weight * context_weight, context_gives_matches))
    return ChannelPlan(channels, context_place=len(channels) - 1)


def passages_of(views: Sequence[View]) -> Ids:
    """Return the passages that have allowed units in some view, ascending."""
    if len(views) == 1:
        return views[0].units.keys
    return np.unique(np.concatenate([view.units.keys for view in views]))


def without(passage_rows: Ids, closed: Ids | None) -> Ids:
    """Return passages without the closed ones."""
    if closed is None or not len(closed):
        return passage_rows
    return passage_rows[~membership(passage_rows, closed)]
