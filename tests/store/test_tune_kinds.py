"""The table of recall, time and memory of kinds of index, against numbers known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import Granularity, Unit, UnitStore
from factoid.errors import EncoderMismatchError, InvalidInputError
from tests.vectors.cases import clustered

pytest.importorskip("faiss")


class Questions:
    """Returns the vectors of some questions, whatever they are."""

    name = "questions"

    def __init__(self, vectors):
        self.vectors = vectors

    def encode_queries(self, texts):
        return self.vectors[: len(texts)]

    encode_units = encode_queries


def tuned(vectors, queries, *kinds, similarity="inner_product", **options):
    with UnitStore(encoder=Questions(queries), similarity=similarity) as store:
        units = [
            Unit(str(at), "A fact.", Granularity.PROPOSITION, "d", "d", 0, 7)
            for at in range(len(vectors))
        ]
        store.add(units, vectors=vectors)
        return store.tune(kinds=kinds, questions=["Which?"] * len(queries), **options)


@pytest.mark.parametrize("similarity", ["inner_product", "cosine"])
def test_rows_say_what_each_setting_gave(similarity, caplog):
    kinds = ["Flat", "SQ8", "IVF16,Flat", "HNSW16", "IVF4096,Flat"]
    rows = tuned(clustered(3000)[1], clustered(20, seed=8)[1], *kinds, k=5, similarity=similarity)
    assert (
        "IVF4096,Flat is left out: it needs 159744 vectors to be trained, and there are 3000"
        in caplog.text
    )
    assert [(row.kind, dict(row.parameters)) for row in rows] == [
        ("Flat", {}),
        ("SQ8", {}),
        *(("IVF16,Flat", {"nprobe": probes}) for probes in (1, 4, 16)),
        *(("HNSW16", {"efSearch": width}) for width in (16, 32, 64, 128, 256, 512)),
    ]
    by_kind = {(row.kind, *row.parameters.values()): row for row in rows}
    assert by_kind["Flat",].recall == by_kind["IVF16,Flat", 16].recall == 1
    assert by_kind["IVF16,Flat", 1].recall < by_kind["IVF16,Flat", 4].recall
    assert by_kind["SQ8",].recall > 0.99  # refined
    for kind, size in (("Flat", 64 + 8), ("SQ8", 16 + 8), ("IVF16,Flat", 64 + 8)):
        assert size <= next(row for row in rows if row.kind == kind).bytes_per_vector < size + 2
    assert all(row.median_ms > 0 < row.build_s for row in rows)


def test_without_questions_vectors_of_the_store_are_held_out():
    with UnitStore(encoder=None, granularities=["proposition"]) as store:
        units = [
            Unit(str(at), "A fact.", Granularity.PROPOSITION, "d", "d", 0, 7) for at in range(60)
        ]
        store.add(units, vectors=clustered(60)[1])
        assert {row.kind for row in store.tune()} == {"Flat", "HNSW32"}
        assert store.tune(kinds=["Flat"])[0].recall == 1


def test_vectors_as_good_as_the_last_count_as_found_and_few_are_enough():
    vectors = np.array(
        [[1, 0, 0, 0], [1, 0, 0, 1e-7], [1, 1e-7, 0, 0], [1, 0, 1e-7, 0]], np.float32
    )
    assert tuned(vectors, vectors[:1, ::-1].copy(), "Flat", k=2)[0].recall == 1
    assert tuned(vectors, vectors[:1], "Flat", k=10)[0].recall == 1


def test_nothing_to_measure_is_refused():
    vectors = np.eye(4, dtype=np.float32)
    for wrong in ((vectors[:0], vectors), (vectors, vectors[:0])):
        with pytest.raises(
            InvalidInputError, match=r"holds 0 distinct vectors|at least one question"
        ):
            tuned(*wrong, "Flat")
    with pytest.raises(EncoderMismatchError, match="4 dimensions, got shape"):
        tuned(vectors, vectors[:, :3], "Flat")
