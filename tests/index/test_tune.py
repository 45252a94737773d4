"""The table of recall, time and memory, against numbers known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.index.tune import tune
from tests.index.cases import clustered

pytest.importorskip("faiss")


@pytest.mark.parametrize("similarity", ["inner_product", "cosine"])
def test_rows_say_what_each_setting_gave(similarity, caplog):
    _, vectors = clustered(3000)
    queries = clustered(20, seed=8)[1]
    kinds = ["Flat", "SQ8", "IVF16,Flat", "HNSW16", "PQ8x4fs", "IVF4096,Flat"]
    rows = tune(vectors, queries, kinds, k=5, similarity=similarity)
    assert "'IVF4096,Flat' needs 159744 vectors, there are 3000: left out" in caplog.text
    assert [(row.kind, dict(row.parameters)) for row in rows] == [
        ("Flat", {}),
        ("SQ8", {}),
        *(("IVF16,Flat", {"nprobe": probes}) for probes in (1, 4, 16)),
        *(("HNSW16", {"efSearch": width}) for width in (16, 32, 64, 128, 256, 512)),
        ("PQ8x4fs", {}),
    ]
    by_kind = {(row.kind, *row.parameters.values()): row for row in rows}
    assert by_kind["Flat",].recall == by_kind["IVF16,Flat", 16].recall == 1
    assert by_kind["IVF16,Flat", 1].recall < by_kind["IVF16,Flat", 4].recall
    assert by_kind["SQ8",].recall > 0.99  # refined
    for kind, size in (("Flat", 64 + 8), ("SQ8", 16 + 8), ("IVF16,Flat", 64 + 8), ("PQ8x4fs", 4 + 8)):
        assert size <= next(row for row in rows if row.kind == kind).bytes_per_vector < size + 2
    for row in rows:
        assert 0 < row.median_ms <= row.p95_ms
        assert row.build_s > 0


def test_refinement_raises_the_recall_of_codes_only():
    _, vectors = clustered(3000)
    queries = clustered(50, seed=8)[1]
    without, with_it = (tune(vectors, queries, ["PQ8x4fs", "HNSW16"], refine=refine) for refine in (0, 8))
    assert without[0].recall + 0.2 < with_it[0].recall
    assert [row.recall for row in without[1:]] == [row.recall for row in with_it[1:]]


def test_equal_vectors_count_as_found():
    vectors = np.ones((300, 4), np.float32)
    assert [row.recall for row in tune(vectors, vectors[:2], ["Flat", "SQ8"])] == [1, 1]
    assert tune(vectors[:3], vectors[:1], ["Flat"], k=10)[0].recall == 1


def test_nothing_to_measure_is_refused():
    vectors = np.ones((3, 4), np.float32)
    for wrong in ((vectors[:0], vectors), (vectors, vectors[:0])):
        with pytest.raises(InvalidInputError, match="expected vectors and queries"):
            tune(*wrong, ["Flat"])
    with pytest.raises(EncoderMismatchError, match="4 dimensions, got shape"):
        tune(vectors, vectors[:, :3], ["Flat"])
