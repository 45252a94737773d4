"""Extrapolation of bytes and latency, on figures whose answer is known."""

from __future__ import annotations

import math

import pytest

from benchmarks.store.extrapolate import Point, bytes_at, bytes_each, memory_at, seconds_at

COUNT = 257_000_000


def exhaustive(count: int) -> Point:
    return Point(count, 5000 + 56 * count, 1e-4 + 2e-9 * count)


def inverted(count: int, lists: int, probes: int) -> Point:
    return Point(count, 384 * 4 * lists + 64 * count, 1e-4 + 3e-9 * (lists + count * probes / lists), lists, probes)


def test_bytes_of_a_line():
    small, large = exhaustive(6000), exhaustive(200_000)
    assert bytes_each(small, large) == 56
    assert bytes_at(COUNT, small, large) == 5000 + 56 * COUNT
    assert memory_at(COUNT, small, large) == 5000 + (56 + 8 + 40) * COUNT


@pytest.mark.parametrize("shards", [1, 8])
def test_seconds_of_an_exhaustive_scan(shards):
    found = seconds_at(COUNT, exhaustive(6000), exhaustive(200_000), shards=shards)
    assert found == pytest.approx(1e-4 + 2e-9 * COUNT / shards)


def test_seconds_of_inverted_lists():
    found = seconds_at(COUNT, inverted(6000, 64, 8), inverted(200_000, 512, 16), lists=65_536, probes=64)
    assert found == pytest.approx(1e-4 + 3e-9 * (65_536 + COUNT * 64 / 65_536))


def test_seconds_of_a_graph():
    found = seconds_at(COUNT, exhaustive(6000), Point(200_000, 0, 1e-3), graph=True)
    assert found == pytest.approx(1e-3 * math.log(COUNT) / math.log(200_000))


def test_noise_makes_no_query_faster():
    assert seconds_at(COUNT, Point(6000, 0, 2e-3), Point(200_000, 0, 1e-3)) == 1e-3
