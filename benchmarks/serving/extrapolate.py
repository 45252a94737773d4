"""From what was measured to many shards with many rows: latency with its tail, memory, hours and
money.

Latency. A search is some calls to all shards, one after another. The time of one shard in a call
for the nearest rows grows with the rows of a shard: `t(n) = a + b · ln n` for a graph, `a + b · n`
where all are compared, fitted to the means at all sizes that were measured. Calls for the rows of
some parents, or by id, go through an index of keys and stay as they are at the largest size. How
the time of one shard varies is taken from what was measured there: each time, divided by the median
of its size. A call over S shards takes the largest of S such factors, drawn anew; what lies between
the calls, and merging for S shards, is added, and so are the network's round trip and the time to
send the rows. Error bars are the 5th and 95th percentile when the measured times are drawn anew
before the fit, 200 times.

That the fit holds beyond the measured sizes is an assumption, and so is that shards are slow
independently of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.serving.fan_out import BY_ID, UNDER
from benchmarks.serving.measured import Measured, Searches

ROUNDS = 200
SIMULATED = 2_000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Network:
    """Between the one that merges and the shards."""

    round_trip: float = 0.5  # milliseconds
    gigabits: float = 10.0  # a second
    row_bytes: float = 2_500.0


@dataclass(frozen=True)
class Estimate:
    """A figure with its error bar."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{_short(self.value)} ({_short(self.low)}–{_short(self.high)})"


def _short(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def latency(
    engine: Measured, score: str, rows: float, shards: int, network: Network
) -> dict[int, Estimate]:
    """Return the milliseconds of a search at some percentiles, over shards with so many rows."""
    measured = [searches for searches in engine.searches if searches.score == score]
    random = np.random.default_rng(0)
    values = _percentiles(engine, measured, rows, shards, network, random)
    drawn = []
    for _ in range(ROUNDS):
        resampled = [_resampled(searches, random) for searches in measured]
        drawn.append(_percentiles(engine, resampled, rows, shards, network, random, 200))
    estimates = {}
    for percentile in (50, 95, 99):
        low, high = np.percentile([each[percentile] for each in drawn], [5, 95])
        estimates[percentile] = Estimate(values[percentile], float(low), float(high))
    return estimates


def _resampled(searches: Searches, random: np.random.Generator) -> Searches:
    calls = {}
    for kind, times in searches.calls.items():
        if times:
            chosen = random.integers(0, len(times), len(times))
            calls[kind] = [times[place] for place in chosen]
    return Searches(
        searches.score,
        searches.shards,
        searches.rows,
        searches.alone,
        searches.here,
        calls,
        searches.merging,
        searches.rows_sent,
    )


def _percentiles(
    engine: Measured,
    measured: Sequence[Searches],
    rows: float,
    shards: int,
    network: Network,
    random: np.random.Generator,
    count: int = SIMULATED,
) -> dict[int, float]:
    largest = min(measured, key=lambda searches: searches.shards)
    total = np.full(count, _between(largest) + _merging(measured, shards))
    asked = len(largest.here)
    for kind, times in largest.calls.items():
        if not times:
            continue
        calls = len(times) / asked
        factors = _factors(measured, kind)
        mean = float(np.mean(times))
        if kind not in (UNDER, BY_ID):
            mean = max(mean, _fitted(engine.growth, measured, kind, rows))
        for _ in range(round(calls)):
            slowest = random.choice(factors, (count, shards)).max(axis=1)
            total += mean * slowest + network.round_trip
    sent = np.mean(largest.rows_sent) * shards * network.row_bytes
    total += 1000 * sent * 8 / (network.gigabits * 1e9)
    percentiles = np.percentile(total, [50, 95, 99])
    return dict(zip((50, 95, 99), map(float, percentiles), strict=True))


def _between(searches: Searches) -> float:
    """Return the milliseconds of a search outside of the store: the loop, and the score."""
    inside = sum(np.sum(times) for times in searches.calls.values() if times)
    return float(max(0.0, (np.sum(searches.here) - inside) / len(searches.here)))


def _merging(measured: Sequence[Searches], shards: int) -> float:
    """Return the milliseconds of merging, which grow as the shards do."""
    most = max(measured, key=lambda searches: searches.shards)
    return float(np.median(most.merging)) * shards / most.shards


def _factors(measured: Sequence[Searches], kind: str) -> Floats:
    """Return how the times of one shard vary around their mean."""
    factors = []
    for searches in measured:
        times = np.ravel(searches.calls.get(kind, []))
        if len(times):
            factors.append(times / np.mean(times))
    return np.concatenate(factors)


def _fitted(growth: str, measured: Sequence[Searches], kind: str, rows: float) -> float:
    """Return the milliseconds of one shard with so many rows."""
    sizes = []
    means = []
    for searches in measured:
        times = np.ravel(searches.calls.get(kind, []))
        if len(times):
            sizes.append(searches.rows)
            means.append(float(np.mean(times)))
    scale = np.log if growth == "log" else np.asarray
    slope, start = np.polyfit(scale(np.array(sizes)), means, 1)
    return float(start + max(slope, 0.0) * scale(np.array(rows)))


# -- Hours and money --


@dataclass(frozen=True)
class Price:
    """What an hour costs: a range, since it differs between clouds, and by commitment."""

    low: float
    likely: float
    high: float


CORE_HOUR = Price(0.02, 0.045, 0.06)
GPU_HOUR = Price(2.0, 3.0, 5.0)
MACHINE_HOUR = Price(0.30, 0.45, 0.70)  # 8 cores, 64 GiB
MEGATOKEN_IN = Price(0.05, 0.15, 0.40)  # of a small chat model
MEGATOKEN_OUT = Price(0.20, 0.60, 1.60)
