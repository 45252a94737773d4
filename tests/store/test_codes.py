"""A store whose vectors are found by codes, beside one that compares all vectors: the same hits, with the same scores."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import Granularity, Unit, UnitStore

pytest.importorskip("faiss")

DIM = 48
PASSAGES = 300
UNDER = 4  # sentences of a passage
WORDS = "amber birch cedar delta ember fjord grove heath islet jetty knoll larch".split()


def units_of(first, count, chance):
    """Passages with sentences under them, in order, and a vector for each: near that of its passage."""
    units = []
    vectors = []
    for number in range(first, first + count):
        metadata = {"year": number % 100, "half": number % 2}
        passage_id = f"p{number}"
        centre = chance.normal(size=DIM)
        text = " ".join(chance.choice(WORDS, 8))
        names = [(passage_id, Granularity.PASSAGE, "")]
        names += [
            (f"{passage_id}.{place}", Granularity.SENTENCE, passage_id) for place in range(UNDER)
        ]
        for unit_id, granularity, parent in names:
            units.append(
                Unit(unit_id, text, granularity, f"d{number // 3}", parent, 0, 9, metadata=metadata)
            )
            vectors.append(centre + chance.normal(size=DIM) * 0.7)
    return units, np.array(vectors, np.float32)


def filled(folder, similarity):
    """Return a store of codes and one of vectors, filled in two steps between which units were deleted."""
    stores = [
        UnitStore(folder / kind.partition(",")[0], encoder=None, index=kind, similarity=similarity)
        for kind in ("IVF1,RaBitQfs", "Flat")
    ]
    for store in stores:
        chance = np.random.default_rng(0)
        units, vectors = units_of(0, PASSAGES, chance)
        store.add(units, vectors=vectors)
        store.search_by_vector(vectors[0])
        store.delete(document_ids=[f"d{number}" for number in range(20, 50)])
        units, vectors = units_of(PASSAGES, 50, chance)
        store.add(units, vectors=vectors)
    return stores


@pytest.fixture(scope="module", params=["inner_product", "cosine"])
def stores(request, tmp_path_factory):
    opened = filled(tmp_path_factory.mktemp("stores"), request.param)
    yield opened
    for store in opened:
        store.close()


def kind_of(store, granularity=Granularity.SENTENCE):
    return store.opened.indexes.states[granularity].index.kind


QUERIES = np.random.default_rng(5).normal(size=(8, DIM)).astype(np.float32)
TEXTS = [" ".join(np.random.default_rng(number).choice(WORDS, 3)) for number in range(len(QUERIES))]


@pytest.mark.parametrize("k", [1, 10, 40])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"granularity": "sentence", "parents": "unit", "lexical": 0.0},
        {"granularity": "mixed"},
        {"filter": {"half": 1}},
        {"filter": {"year": {"$lt": 3}}},
        {"document_ids": [f"d{number}" for number in range(0, 180, 2)]},
        {"mmr": 0.5, "fetch_k": 60},
    ],
)
def test_codes_find_what_a_comparison_of_all_vectors_finds(stores, k, options, monkeypatch):
    monkeypatch.setattr(
        "factoid.ranking.columns._FEW_READ", 10
    )  # few units would be compared one by one
    results = []
    for store in stores:
        alone = [
            store.search_by_vector(query, k, text=text, **options)
            for query, text in zip(QUERIES, TEXTS, strict=True)
        ]
        batch = store.search_batch_by_vector(QUERIES, k, texts=TEXTS, **options)
        assert [[hit.unit.id for hit in hits] for hits in batch] == [
            [hit.unit.id for hit in hits] for hits in alone
        ]
        results.append(alone)
    assert [kind_of(store) for store in stores] == ["IVF1,RaBitQfs", "Flat"]
    same, total = 0, 0
    for by_codes, by_vectors in zip(*results, strict=True):
        assert len(by_codes) == len(by_vectors) > 0
        scores = {hit.unit.id: hit.score for hit in by_vectors}
        same += len(scores.keys() & {hit.unit.id for hit in by_codes})
        total += len(scores)
        for hit in by_codes:
            assert hit.score == pytest.approx(scores.get(hit.unit.id, hit.score), rel=1e-5)
    assert same >= 0.99 * total


def test_files_of_codes_are_read_again_and_hold_no_vectors(tmp_path):
    for store in filled(tmp_path, "inner_product"):
        before = store.search_batch_by_vector(QUERIES, 10)
        store.close()
        with UnitStore(store.path, encoder=None, read_only=True) as again:
            found = again.search_batch_by_vector(QUERIES, 10)
            assert again.opened.indexes.states[Granularity.SENTENCE].saved
        assert [[hit.unit.id for hit in hits] for hits in found] == [
            [hit.unit.id for hit in hits] for hits in before
        ]
    (codes,) = (tmp_path / "IVF1").glob("sentence-*.faiss")
    assert codes.stat().st_size < (DIM / 8 + 8 + 8) * PASSAGES * UNDER + 4096


def test_a_bar_is_shown_while_an_index_is_built_and_while_it_follows_an_add(tmp_path, capsys):
    chance = np.random.default_rng(0)
    with UnitStore(tmp_path / "store", encoder=None, index="IVF1,RaBitQfs", progress=True) as store:
        for first in (0, PASSAGES):
            units, vectors = units_of(first, PASSAGES, chance)
            store.add(units, vectors=vectors)
            store.search_by_vector(QUERIES[0])
            shown = capsys.readouterr().err
            assert f"{PASSAGES * UNDER}/{PASSAGES * UNDER}" in shown
            assert "sentences indexed" in shown
