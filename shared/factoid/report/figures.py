"""Places of lines and dots in the figures of a page, in units of their SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from factoid.evaluate.comparison import Bin, Comparison
from factoid.evaluate.measures import BUDGETS

WIDTH = 640
HEIGHT = 320
_LEFT = 66  # margins
_RIGHT = 20
_TOP = 12
_BOTTOM = 52
_STEPS = 5  # between ticks, about


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis: its place and its label."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Series:
    """The numbers of one setting in a figure.

    Attributes:
        name: The setting.
        number: Its place among the settings, from 0: it decides colour and dashes.
        points: Places. Shape: (points, 2).
        labels: The value at each point, in words.
    """

    name: str
    number: int
    points: Sequence[tuple[float, float]]
    labels: Sequence[str]

    @property
    def path(self) -> str:
        """The points as SVG takes them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


@dataclass(frozen=True, slots=True)
class Figure:
    """Two axes and what stands between them."""

    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    series: Sequence[Series]
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


def words_curve(comparison: Comparison) -> Figure:
    """Return the share of questions answered within the first words of context.

    It is Figure 4 of Dense X Retrieval.
    """
    most = BUDGETS[-1]
    series = []
    for number, tried in enumerate(comparison.tried):
        points = []
        labels = []
        for words, share in zip(BUDGETS, comparison.curves[tried.name], strict=True):
            points.append((_x(words / most), _y(share)))
            labels.append(f"{tried.name}: {100 * share:.1f} % within {words} words")
        series.append(Series(tried.name, number, points, labels))
    ticks = [Tick(_x(words / most), str(words)) for words in (0, 100, 200, 300, 400, 500)]
    return Figure(ticks, _shares(0.0, 1.0), series)


def cost_and_quality(comparison: Comparison) -> Figure:
    """Return the deciding measure of each setting over the size of its vectors."""
    sizes = {}  # in MB
    means = {}
    for row in comparison.rows:
        sizes[row.tried.name] = row.tried.bytes / 1e6
        means[row.tried.name] = row.means[comparison.measure]
    step = _step(max(sizes.values()) or 1.0)
    most = step * math.ceil(max(sizes.values()) * 1.05 / step) or step
    low = math.floor(10 * min(means.values()) - 0.5) / 10
    low = min(max(low, 0.0), 0.9)
    series = []
    for number, name in enumerate(sizes):
        point = (_x(sizes[name] / most), _y((means[name] - low) / (1 - low)))
        label = f"{name}: {comparison.measure} {100 * means[name]:.1f} %, {sizes[name]:.1f} MB"
        series.append(Series(name, number, [point], [label]))
    count = round(most / step)
    ticks = [Tick(_x(place / count), f"{place * step:g}") for place in range(count + 1)]
    return Figure(ticks, _shares(low, 1.0), series)


def by_popularity(comparison: Comparison) -> Figure:
    """Return the deciding measure of each setting in bins of popularity.

    They are Figures 3 and 6 of Dense X Retrieval.
    """
    bins = comparison.bins
    places = [_x((number + 0.5) / len(bins)) for number in range(len(bins))]
    series = []
    for number, tried in enumerate(comparison.tried):
        points = []
        labels = []
        for place, of_bin in zip(places, bins, strict=True):
            mean = of_bin.means[tried.name]
            points.append((place, _y(mean)))
            labels.append(f"{tried.name}: {100 * mean:.1f} % at {span(of_bin)}")
        series.append(Series(tried.name, number, points, labels))
    ticks = [Tick(place, span(of_bin)) for place, of_bin in zip(places, bins, strict=True)]
    return Figure(ticks, _shares(0.0, 1.0), series)


def span(of_bin: Bin) -> str:
    """Return the popularity of a bin in words, such as "3 to 17"."""
    if of_bin.low == of_bin.high:
        return f"{of_bin.low:,g}"
    return f"{of_bin.low:,g} to {of_bin.high:,g}"


def _x(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def _shares(low: float, high: float) -> list[Tick]:
    """Return ticks at shares in per cent."""
    ticks = []
    for place in range(_STEPS + 1):
        share = low + (high - low) * place / _STEPS
        ticks.append(Tick(_y(place / _STEPS), f"{100 * share:.0f}"))
    return ticks


def _step(most: float) -> float:
    """Return a round distance of ticks."""
    rough = most / _STEPS
    power = 10 ** math.floor(math.log10(rough))
    for factor in (1, 2, 5):
        if power * factor >= rough:
            return float(power * factor)
    return float(power * 10)
