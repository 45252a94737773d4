"""Trials of index kinds: recall and bytes are what an independent count says."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("faiss")
pytest.importorskip("factoid.index.kinds")

from benchmarks.store.kinds import enlarged, extrapolated, factory, measure, recalls
from benchmarks.store.trials import trials


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    random = np.random.default_rng(0)
    given = random.standard_normal((1000, 64)).astype(np.float32)
    return given / np.linalg.norm(given, axis=1, keepdims=True)


def test_exact_kind_finds_all(vectors):
    (trial,) = trials("Flat", vectors, vectors[:20], training=vectors, refine=[1])
    assert trial.recall == 1
    assert (trial.count, trial.dim, trial.lists) == (1000, 64, 0)
    assert 0 <= trial.bytes - vectors.nbytes < 200


def test_refinement_finds_more(vectors):
    found = trials("SQ4", vectors, vectors[:50], training=vectors, refine=[1, 4, 100])
    recalls = [trial.recall for trial in found]
    assert recalls[0] < recalls[1] <= recalls[2]
    assert recalls[2] == 1  # every vector is scored again


def test_all_lists_are_all_vectors(vectors):
    few, every = (
        trials("IVF4,Flat", vectors, vectors[:50], training=vectors, refine=[1], probes=probes)[0] for probes in (1, 4)
    )
    assert few.recall < every.recall == 1
    assert (few.probes, every.probes, every.lists) == (1, 4, 4)


def test_tables(vectors):
    measured = [measure(name, vectors, enlarged(vectors, 4000), vectors[:10], [1, 2]) for name in ("Flat", "no kind")]
    exact, unknown = recalls(measured, 64).splitlines()[2:]
    assert exact.startswith("| `Flat` | 1.000 | 1.000 | 256 | 1.00 |")
    assert "no FAISS factory string" in unknown
    (line,) = extrapolated(measured).splitlines()[2:]
    assert line.split(" | ")[2] == f"{257e6 * (256 + 48) / 2**30:.0f}"  # the refinement is the faster one


def test_factory():
    assert factory("IVF*,SQ8", 128) == "IVF128,SQ8"
    assert factory("OPQ48,PQ48", 128) == "OPQ48,PQ48"


def test_enlarged_is_of_unit_length(vectors):
    larger = enlarged(vectors, 2500)
    assert larger.shape == (2500, 64)
    assert np.allclose(np.linalg.norm(larger, axis=1), 1, atol=1e-6)
    assert len(np.unique(larger, axis=0)) == 2500
