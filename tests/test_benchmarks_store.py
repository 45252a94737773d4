"""The benchmark of stores: it runs, its corpus is what it says, and its oracle tells right from wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.store.contestant import CONTESTANTS
from benchmarks.store.corpus import Corpus, from_vectors, make
from benchmarks.store.operations import FILTERS, LEVELS, OPERATIONS, Asked, K, asked, condition
from benchmarks.store.oracle import Answer, judge
from benchmarks.store.report import fill
from benchmarks.store.rounds import Searched

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    return make(folder, units=600, passages=120, dim=8, queries=200, extra=50)


def passing(corpus: Corpus, given) -> list[int]:
    """Return the units that pass a condition, by their metadata as contestants get it."""
    if given is None:
        return list(range(corpus.units))
    metadata, parents = corpus.metadata(), corpus.column("parents")
    values = [metadata[parents[row]][given.key] for row in range(corpus.units)]
    return [
        row
        for row, value in enumerate(values)
        if (value < given.value if given.operator == "lt" else value == given.value)
    ]


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
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.store", "--small", "--into", str(page), "--json", str(figures)],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text())
    for name in ("raw", "factoid"):
        assert set(found["searched"][name]) == {operation.name for operation in OPERATIONS}
        for operation, own in found["searched"][name].items():
            assert own["cannot"] == "no batch API" or (own["right"] == own["recall"] == 1.0), (name, operation)
            assert own["cannot"] or all(rate > 0 for rate in own["rates"])
        assert found["stored"][name]["bytes"] > 64 * 4
        assert found["stored"][name]["more"] > 0
    text = page.read_text()
    assert "old" not in text
    assert text.endswith("rest\n")
    assert CONTESTANTS["factoid"].label in text


def test_those_not_installed_are_named():
    code = (
        "import sys; from importlib import util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'qdrant_client' else find(name, *rest)\n"
        "from benchmarks.store.__main__ import installed; print(installed(['raw', 'qdrant']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "qdrant is left out: pip install qdrant-client" in done.stderr
    assert "qdrant" not in done.stdout


def test_corpus_is_whole(corpus):
    batches = [*corpus.batches(), *corpus.batches(extra=True)]
    assert np.concatenate([batch.rows for batch in batches]).tolist() == list(range(650))
    assert np.array_equal(np.concatenate([batch.vectors for batch in batches]), corpus.vectors())
    assert np.array_equal(np.concatenate([batch.parents for batch in batches]), corpus.column("parents"))
    for batch in batches:
        assert np.array_equal(np.unique(batch.parents), batch.passages)
    assert np.allclose(np.linalg.norm(corpus.vectors(), axis=1), 1, atol=1e-6)
    assert batches[-1].passages[0] == corpus.passages


@pytest.mark.parametrize("level", LEVELS)
def test_selectivity(tmp_path, level):
    large = make(tmp_path, units=20_000, passages=20_000, dim=2, queries=10, extra=5)
    shares = [len(passing(large, condition(level, at, large))) / 20_000 for at in (0, 1, 30, 96)]
    assert np.allclose(shares, float(level.rstrip(" %")) / 100, rtol=0.12)


def test_first_filters_are_new(corpus):
    for operation in (each for each in FILTERS if each.fresh):
        given = [each.condition for turn in range(-1, 5) for each in asked(operation, corpus, turn)]
        assert len(set(given)) == len(given)


@pytest.mark.parametrize("kind", ["units", "parents"])
@pytest.mark.parametrize("level", ["", *LEVELS])
def test_oracle_agrees_with_brute_force(corpus, kind, level):
    answers, parents = [], corpus.column("parents")
    for query in range(40):
        given = condition(level, query, corpus) if level else None
        answers.append(Answer(kind, Asked(query, given), brute_force(corpus, query, given, kind)))
    assert [(each.right, each.recall) for each in judge(corpus, answers)] == [(True, 1.0)] * 40
    assert len(parents) == 650


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


def test_oracle_refuses_what_the_filter_excludes(corpus):
    given = condition(LEVELS[1], 2, corpus)
    (verdict,) = judge(corpus, [Answer("units", Asked(5, given), brute_force(corpus, 5))])
    assert not verdict.right


def test_oracle_accepts_ties(tmp_path):
    vectors = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0)
    made = from_vectors(tmp_path, vectors, np.arange(40), np.eye(2, dtype=np.float32)[:1], extra=2)
    (verdict,) = judge(made, [Answer("units", Asked(0), tuple(range(19, 9, -1)))])
    assert verdict.right


def test_ratio_is_of_the_same_rounds():
    assert Searched(rates=[1.0, 20.0, 30.0]).ratio(Searched(rates=[2.0, 10.0, 10.0])) == 2.0


def test_page_without_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Stores\n")
    with pytest.raises(SystemExit, match="no comment <!-- table: store -->"):
        fill(page, "store", "text")
