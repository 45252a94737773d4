"""Shards that are asked in turn give what one store gives, and the extrapolation is its formula."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("psutil", reason="needs psutil, of the group `bench`")

from langchain_core.vectorstores import InMemoryVectorStore

from benchmarks.serving.corpus import Rates
from benchmarks.serving.extrapolate import Network, latency
from benchmarks.serving.fan_out import BY_ID, NEAREST, UNDER, FanOut
from benchmarks.serving.measured import Measured, Searches
from benchmarks.serving.tables import CORE_HOUR, Stage
from factoid.existing import ExistingStore
from langchain_factoid import EncoderEmbeddings, MultiGranularRetriever
from tests.existing.corpus import ENCODER, PROPOSITIONIZER, QUESTION, documents


class Ticks:
    """A clock in which each shard takes as many seconds as its place says."""

    def __init__(self, shards):
        self.time = 0.0
        self.calls = 0
        self.shards = shards

    def now(self):
        # Each shard's answer reads the clock twice, and so does merging, which takes no time.
        place, is_end = divmod(self.calls, 2)
        self.calls += 1
        if is_end and place % (self.shards + 1) < self.shards:
            self.time += 1 + place % (self.shards + 1)
        return self.time


def filled(some):
    store = InMemoryVectorStore(EncoderEmbeddings(ENCODER))
    indexing = {"propositionizer": PROPOSITIONIZER, "unsupported": "keep", "read_words": False}
    existing = MultiGranularRetriever(vectorstore=store, indexing=indexing).existing
    existing.add_documents(some)
    return existing


def test_shards_find_what_one_store_finds():
    whole = filled(documents(60))
    shards = [filled(documents(60)[start::3]) for start in range(3)]
    clock = Ticks(3)
    fan_out = FanOut([store.collection for store in shards], clock)
    merged = ExistingStore(fan_out, whole.encoder, read_words=False)
    for question in (QUESTION, "the weather of place12", "Who wrote entry7 in a ledger?"):
        expected = whole.search(question, 6)
        answer = merged.search(question, 6)
        assert [hit.score for hit in answer.hits] == pytest.approx(
            [hit.score for hit in expected.hits], abs=1e-6
        )
        assert answer.complete == expected.complete
    [first, *_] = [call for call in fan_out.calls if call.kind == NEAREST]
    assert list(first.seconds) == [1.0, 2.0, 3.0]
    assert {call.kind for call in fan_out.calls} <= {NEAREST, UNDER, BY_ID}


def measured(growth, time_of):
    """Return an engine each of whose shards takes a time by its rows, always the same."""
    engine = Measured("x", "", growth, Rates("load", "units"), Rates("index", "units"))
    for shards in (1, 4, 16):
        rows = 16_000 / shards
        searches = Searches("default score", shards, rows)
        for _ in range(5):
            searches.here.append(shards * (time_of(rows) + 2.0) + 1.0)  # 1 ms of the loop
            searches.merging.append(0.25 * shards)
            searches.rows_sent.append(0)
            searches.calls.setdefault(NEAREST, []).append([time_of(rows)] * shards)
            searches.calls.setdefault(BY_ID, []).append([2.0] * shards)
        engine.searches.append(searches)
    return engine


@pytest.mark.parametrize(
    ("growth", "time_of"),
    [
        ("log", lambda rows: 3.0 + 0.5 * math.log(rows)),
        ("linear", lambda rows: 3.0 + 0.001 * rows),
    ],
)
def test_latency_follows_its_formula(growth, time_of):
    engine = measured(growth, time_of)
    network = Network(round_trip=0.5)
    found = latency(engine, "default score", 1e6, 64, network)
    # One call for the nearest, one by id, the loop, merging for 64 shards, two round trips.
    expected = time_of(1e6) + 2.0 + 1.0 + 0.25 * 64 + 2 * 0.5
    for percentile in (50, 95, 99):
        estimate = found[percentile]
        assert estimate.value == pytest.approx(expected)
        assert (estimate.low, estimate.high) == pytest.approx((expected, expected))


def test_the_slowest_of_many_shards_counts():
    engine = measured("log", lambda rows: 4.0)
    for searches in engine.searches:
        searches.calls[NEAREST][0] = [40.0] * searches.shards  # one search in five
        searches.here[0] += 36.0 * searches.shards
    few = latency(engine, "default score", 16_000, 1, Network())
    many = latency(engine, "default score", 16_000, 256, Network())
    assert few[50].value == pytest.approx(4.0 + 2.0 + 1.0 + 0.25 + 2 * 0.5)
    assert many[50].value > few[50].value + 30


def test_hours_and_money_of_a_stage():
    rates = Rates("split", "passages", [10.0] * 9)
    row = Stage("split", rates, 36_000 * 100, "a core", CORE_HOUR).row()
    assert row[5] == "100 (100–100)"
    assert row[6] == "$4.50 ($2.00–$6.00)"
