"""The benchmarks of stores and of kinds of index: they run, their oracle tells right from wrong, their arithmetic is right."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from benchmarks.store.corpus import Corpus, from_vectors, make
from benchmarks.store.extrapolate import Point, bytes_at, memory_at, seconds_at
from benchmarks.store.operations import LEVELS, OPERATIONS, Asked, K, condition
from benchmarks.store.oracle import Answer, judge
from benchmarks.store.rounds import Searched
from tests.test_benchmarks import run


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    return make(folder, units=600, passages=120, dim=8, queries=200, extra=50)


def passing(corpus: Corpus, given) -> list[int]:
    """Return the units that pass a condition, by their metadata as contestants get it."""
    metadata, parents = corpus.metadata(), corpus.column("parents")

    def passes(value) -> bool:
        return value < given.value if given.operator == "lt" else value == given.value

    return [row for row in range(corpus.units) if given is None or passes(metadata[parents[row]][given.key])]


def brute_force(corpus: Corpus, query: int, given=None, kind: str = "units") -> tuple[int, ...]:
    vectors, parents = corpus.vectors(), corpus.column("parents")
    asked_for = corpus.column("queries")[query]
    ranked = sorted(passing(corpus, given), key=lambda row: -float(np.dot(vectors[row].astype(float), asked_for)))
    found = ranked if kind == "units" else list(dict.fromkeys(int(parents[row]) for row in ranked))
    return tuple(found[:K])


def test_small_run(tmp_path):
    pytest.importorskip("faiss")
    page, figures = tmp_path / "store.md", tmp_path / "store.json"
    page.write_text("# Stores\n\n<!-- table: store -->\nold\n<!-- end -->\nrest\n")
    run("store", "--small", "--into", str(page), "--json", str(figures), TMPDIR=str(tmp_path))
    found = json.loads(figures.read_text())
    for name in ("raw", "factoid"):
        assert set(found["searched"][name]) == {operation.name for operation in OPERATIONS}
        for operation, own in found["searched"][name].items():
            assert own["cannot"] == "no batch API" or (own["right"] == own["recall"] == 1.0), (name, operation)
            assert own["cannot"] or all(rate > 0 for rate in own["rates"])
        assert found["stored"][name]["bytes"] > 64 * 4
        assert found["stored"][name]["more"] > 0
    assert "old" not in page.read_text()
    assert page.read_text().endswith("rest\n")


@pytest.mark.parametrize("level", LEVELS)
def test_selectivity(tmp_path, level):
    large = make(tmp_path, units=20_000, passages=20_000, dim=2, queries=10, extra=5)
    shares = [len(passing(large, condition(level, at, large))) / 20_000 for at in (0, 1, 30, 96)]
    assert np.allclose(shares, float(level.rstrip(" %")) / 100, rtol=0.12)


@pytest.mark.parametrize("kind", ["units", "parents"])
@pytest.mark.parametrize("level", ["", *LEVELS])
def test_oracle_agrees_with_brute_force(corpus, kind, level):
    conditions = [condition(level, query, corpus) if level else None for query in range(20)]
    answers = [
        Answer(kind, Asked(query, given), brute_force(corpus, query, given, kind))
        for query, given in enumerate(conditions)
    ]
    assert [(each.right, each.recall) for each in judge(corpus, answers)] == [(True, 1.0)] * 20


def test_oracle_refuses_wrong_answers(corpus):
    best = brute_force(corpus, 3)
    outside = next(row for row in range(600) if row not in best)
    cases = {
        "another order": ((best[1], best[0], *best[2:]), 1.0),
        "one missing": (best[:-1], 0.9),
        "one twice": ((*best[:-1], best[0]), 0.9),
        "one that is worse": ((*best[:-1], outside), 0.9),
        "one that is not there": ((*best[:-1], 10_000), 0.9),
        "one more": ((*best, outside), 1.0),
        "nothing": ((), 0.0),
    }
    verdicts = judge(corpus, [Answer("units", Asked(3), found) for found, _ in cases.values()])
    for (case, (_, recall)), verdict in zip(cases.items(), verdicts, strict=True):
        assert not verdict.right, case
        assert verdict.recall == pytest.approx(recall), case
    given = condition(LEVELS[1], 2, corpus)
    (verdict,) = judge(corpus, [Answer("units", Asked(5, given), brute_force(corpus, 5))])
    assert not verdict.right, "the filter excludes some"


def test_oracle_accepts_ties(tmp_path):
    vectors = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0)
    made = from_vectors(tmp_path, vectors, np.arange(40), np.eye(2, dtype=np.float32)[:1], extra=2)
    (verdict,) = judge(made, [Answer("units", Asked(0), tuple(range(19, 9, -1)))])
    assert verdict.right


def test_ratio_is_of_the_same_rounds():
    assert Searched(rates=[1.0, 20.0, 30.0]).ratio(Searched(rates=[2.0, 10.0, 10.0])) == 2.0


# Kinds of index: recall and bytes are what an independent count says


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    pytest.importorskip("faiss")
    given = np.random.default_rng(0).standard_normal((1000, 64)).astype(np.float32)
    return given / np.linalg.norm(given, axis=1, keepdims=True)


def test_trials_of_kinds(vectors):
    from benchmarks.store.trials import trials

    (exact,) = trials("Flat", vectors, vectors[:20], training=vectors, refine=[1])
    assert (exact.recall, exact.count, exact.dim, exact.lists) == (1, 1000, 64, 0)
    assert 0 <= exact.bytes - vectors.nbytes < 200
    few, more, every = trials("SQ4", vectors, vectors[:50], training=vectors, refine=[1, 4, 100])
    assert few.recall < more.recall <= every.recall == 1  # every vector is scored again
    few, every = (
        trials("IVF4,Flat", vectors, vectors[:50], training=vectors, refine=[1], probes=probes)[0] for probes in (1, 4)
    )
    assert few.recall < every.recall == 1
    assert (few.probes, every.probes, every.lists) == (1, 4, 4)


def test_tables_of_kinds(vectors):
    from benchmarks.store.kinds import enlarged, extrapolated, measure, recalls

    larger = enlarged(vectors, 4000)
    assert np.allclose(np.linalg.norm(larger, axis=1), 1, atol=1e-6)
    assert len(np.unique(larger, axis=0)) == 4000
    measured = [measure(name, vectors, larger, vectors[:10], [1, 2]) for name in ("Flat", "no kind")]
    exact, unknown = recalls(measured, 64).splitlines()[2:]
    assert exact.startswith("| `Flat` | 1.000 | 1.000 | 256 | 1.00 |")
    assert "not a FAISS factory string" in unknown
    (line,) = extrapolated(measured).splitlines()[2:]
    assert line.split(" | ")[2] == f"{257e6 * (256 + 48) / 2**30:.0f}"  # the refinement is the faster one


COUNT = 257_000_000


def exhaustive(count: int) -> Point:
    return Point(count, 5000 + 56 * count, 1e-4 + 2e-9 * count)


def inverted(count: int, lists: int, probes: int) -> Point:
    return Point(count, 384 * 4 * lists + 64 * count, 1e-4 + 3e-9 * (lists + count * probes / lists), lists, probes)


def test_extrapolation_of_known_figures():
    small, large = exhaustive(6000), exhaustive(200_000)
    assert bytes_at(COUNT, small, large) == 5000 + 56 * COUNT
    assert memory_at(COUNT, small, large) == 5000 + (56 + 8 + 40) * COUNT
    for shards in (1, 8):
        assert seconds_at(COUNT, small, large, shards=shards) == pytest.approx(1e-4 + 2e-9 * COUNT / shards)
    seconds = seconds_at(COUNT, inverted(6000, 64, 8), inverted(200_000, 512, 16), lists=65_536, probes=64)
    assert seconds == pytest.approx(1e-4 + 3e-9 * (65_536 + COUNT * 64 / 65_536))
    seconds = seconds_at(COUNT, small, Point(200_000, 0, 1e-3), graph=True)
    assert seconds == pytest.approx(1e-3 * math.log(COUNT) / math.log(200_000))
    assert seconds_at(COUNT, Point(6000, 0, 2e-3), Point(200_000, 0, 1e-3)) == 1e-3, "noise makes no query faster"
