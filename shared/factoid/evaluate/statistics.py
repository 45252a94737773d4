"""Paired statistics of settings that answered the same questions, resampled by document.

Questions about one document are not independent, so documents are drawn, with all their questions
(Miller, 2024, *Adding Error Bars to Evals*). Everything is seeded: the same values give the same
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from factoid.errors import InvalidInputError

LEVEL = 0.05
"""The share of false alarms that is accepted."""

POWER = 0.8
DISAGREEMENT = 0.2
"""The share of questions on which two settings usually differ, before anything is measured."""

_RESAMPLES = 4000
_FEWEST = 1000  # resamples, of very many groups
_DRAWS = 8_000_000  # of groups, in all resamples
_EXACT = 12  # documents, of which all 4,096 signs are tried
_BLOCK = 500  # resamples in memory at once
_ROUNDING = 1e-9  # by which equal sums may differ
_Z = 1.959964  # of the normal distribution, for 95 %
_Z_POWER = 0.841621  # for a power of 80 %

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """How one setting differs from another on the same questions.

    Attributes:
        mean: Mean of the differences, in units of the measure.
        low, high: The 95 % interval of the mean.
        p: Two-sided p-value of no difference.
        wins, losses, ties: Numbers of questions.
    """

    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The cheapest setting that is not worse than the best.

    Attributes:
        setting: Its name.
        best: The setting with the highest mean.
        level: All settings that are not distinguishable from the best, cheapest first.
        difference: The recommended setting less the best one; None if it is the best.
    """

    setting: str
    best: str
    level: tuple[str, ...]
    difference: Difference | None


def difference(
    values: Sequence[float], others: Sequence[float], groups: Sequence[str]
) -> Difference:
    """Compare two settings, question by question.

    The interval is a percentile bootstrap over groups, widened as Student's distribution is against
    the normal one: few groups are known to give too narrow ones. The p-value is that of random
    signs: each group's differences are multiplied by 1 or -1.

    Args:
        values: A measure of each question. Shape: (questions,).
        others: That of the setting that it is compared with.
        groups: The document of each question.

    Raises:
        InvalidInputError: The lengths differ, or there are no questions.
    """
    gains = np.asarray(values, np.float64) - _like(others, values)
    sums, sizes = _by_group(gains, groups)
    mean = float(gains.mean())
    low = mean
    high = mean
    if gains.any() and len(sums) > 1:
        means = _resampled_means(sums, sizes)
        lower, upper = np.percentile(means, [100 * LEVEL / 2, 100 - 100 * LEVEL / 2])
        widening = _widening(len(sums))
        low = mean - widening * (mean - float(lower))
        high = mean + widening * (float(upper) - mean)
    wins = int(np.count_nonzero(gains > 0))
    losses = int(np.count_nonzero(gains < 0))
    ties = len(gains) - wins - losses
    return Difference(mean, low, high, _p_of_signs(sums), wins, losses, ties)


def interval(values: Sequence[float], groups: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of a measure's mean, resampled by group as in `difference`."""
    compared = difference(values, [0.0] * len(values), groups)
    return compared.low, compared.high


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number (Holm, 1979).

    Of those below α, one is a false alarm with a chance of α at most.
    """
    order = np.argsort(p_values, kind="stable").tolist()
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for place, number in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * p_values[number]))
        corrected[number] = highest
    return corrected


def not_worse(values: Mapping[str, Sequence[float]], groups: Sequence[str]) -> dict[str, float]:
    """Return for each setting the p-value of "no other setting is better".

    The largest difference of another setting to it, each over its own spread, is compared with the
    largest one where all differences of a document get one random sign. The best of many settings
    looks better than it is, and this allows for that: a setting that is as good as the best is
    below `LEVEL` with a chance of `LEVEL` at most (maxT of Westfall and Young, 1993).
    """
    names = list(values)
    table = np.array([np.asarray(values[name], np.float64) for name in names])
    _check(table.shape[1], groups)
    sums, _ = _by_group(table.T, groups)  # (groups, settings)
    result = dict.fromkeys(names, 1.0)
    for number, name in enumerate(names):
        gains = sums - sums[:, [number]]
        spread = np.sqrt((gains**2).sum(axis=0))
        gains = gains[:, spread > 0] / spread[spread > 0]
        if gains.size:
            largest = gains.sum(axis=0).max() - _ROUNDING
            result[name] = _share_as_large(gains, largest, _largest)
    return result


def recommend(
    values: Mapping[str, Sequence[float]], groups: Sequence[str], costs: Mapping[str, float]
) -> Recommendation:
    """Return the cheapest setting that is not worse than the best, by `not_worse` at `LEVEL`.

    Args:
        values: A measure of each question by setting, higher is better.
        groups: The document of each question.
        costs: What each setting costs, in any unit; of equal ones the earlier setting is cheaper.

    Raises:
        InvalidInputError: There are no settings, or no questions.
    """
    if not values:
        raise InvalidInputError("expected at least one setting, got none")
    means = {name: float(np.mean(scores)) for name, scores in values.items()}
    best = max(means, key=lambda name: (means[name], -costs[name]))
    p_values = not_worse(values, groups)
    level = []
    for name in values:
        if name == best or p_values[name] > LEVEL:
            level.append(name)
    level.sort(key=lambda name: costs[name])
    cheapest = level[0]
    compared = None
    if cheapest != best:
        compared = difference(values[cheapest], values[best], groups)
    return Recommendation(cheapest, best, tuple(level), compared)


def smallest_difference(questions: int, disagreement: float = DISAGREEMENT) -> float:
    """Return the smallest difference of shares that so many questions show in four of five cases.

    Args:
        questions: Their number, as if they were independent.
        disagreement: The share of questions on which the two settings differ.
    """
    return min(1.0, (_Z + _Z_POWER) * math.sqrt(disagreement / questions))


def questions_needed(
    values: Sequence[float], others: Sequence[float], groups: Sequence[str]
) -> int | None:
    """Return about how many questions would show the difference of two settings.

    That is in four of five cases, if the difference stays as large, and if as many questions as now
    are about one document. None if there is no difference.

    Args:
        values: A measure of each question. Shape: (questions,).
        others: That of the other setting.
        groups: The document of each question.
    """
    gains = np.asarray(values, np.float64) - _like(others, values)
    sums, sizes = _by_group(gains, groups)
    mean = float(gains.mean())
    if abs(mean) <= _ROUNDING:
        return None
    spread = math.sqrt(float(((sums - mean * sizes) ** 2).sum())) / len(gains)  # of the mean
    spread *= math.sqrt(len(sums) / max(len(sums) - 1, 1))
    return max(2, math.ceil(len(gains) * ((_Z + _Z_POWER) * spread / mean) ** 2))


# -- Resampling --


def _check(count: int, groups: Sequence[str]) -> None:
    if not count or count != len(groups):
        raise InvalidInputError(
            f"expected as many groups as questions, and at least one, got {len(groups)} and {count}"
        )


def _like(others: Sequence[float], values: Sequence[float]) -> Values:
    if len(others) != len(values):
        raise InvalidInputError(
            f"expected values of the same questions, got {len(values)} and {len(others)}"
        )
    return np.asarray(others, np.float64)


def _by_group(values: Values, groups: Sequence[str]) -> tuple[Values, Values]:
    """Return the sum of each group's values, and its number of questions.

    Shape of the values: (questions, …).
    """
    _check(len(values), groups)
    _, numbers = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)
    sizes = np.bincount(numbers).astype(np.float64)
    sums = np.zeros((len(sizes), *values.shape[1:]))
    np.add.at(sums, numbers, values)
    return sums, sizes


def _resampled_means(sums: Values, sizes: Values) -> Values:
    """Return the mean over all questions of groups drawn with replacement. Shape: (resamples,)."""
    groups = len(sums)
    resamples = max(_FEWEST, min(_RESAMPLES, _DRAWS // groups))
    generator = np.random.default_rng(0)
    means = []
    for _ in range(0, resamples, _BLOCK):
        counts = generator.multinomial(groups, np.full(groups, 1 / groups), _BLOCK)
        means.append((counts @ sums) / (counts @ sizes))
    return np.concatenate(means)


def _widening(groups: int) -> float:
    """Return how much wider an interval is for so few groups.

    That is Student's quantile over the normal distribution's.
    """
    freedom = groups - 1
    # Cornish and Fisher's expansion; the terms that are left out matter below four groups.
    quantile = _Z + (_Z**3 + _Z) / (4 * freedom)
    quantile += (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)
    quantile += (3 * _Z**7 + 19 * _Z**5 + 17 * _Z**3 - 15 * _Z) / (384 * freedom**3)
    return quantile / _Z * math.sqrt(groups / freedom)


def _p_of_signs(sums: Values) -> float:
    """Return the two-sided p-value of a sum of groups whose signs are due to chance."""
    sums = sums[sums != 0]
    if not len(sums):
        return 1.0
    sums = sums / np.abs(sums).max()
    total = abs(sums.sum()) - _ROUNDING
    return _share_as_large(sums, total, np.abs)


def _largest(sums: Values) -> Values:
    return np.asarray(sums.max(axis=1))


def _share_as_large(gains: Values, least: float, statistic: Callable[[Values], Values]) -> float:
    """Return the share of random signs whose statistic is as large as the measured one.

    Of few groups all signs are tried.

    Args:
        gains: Sums of groups. Shape: (groups, …).
        least: The statistic that was measured.
        statistic: Of sums with several signs. Shape: (signs, …) → (signs,).
    """
    if len(gains) <= _EXACT:
        signs = np.array(list(product((1.0, -1.0), repeat=len(gains))))
        return float(np.mean(statistic(signs @ gains) >= least))
    generator = np.random.default_rng(0)
    larger = 0
    for _ in range(0, _RESAMPLES, _BLOCK):
        signs = generator.integers(0, 2, (_BLOCK, len(gains))) * 2.0 - 1
        larger += int(np.count_nonzero(statistic(signs @ gains) >= least))
    return (1 + larger) / (1 + _RESAMPLES)
