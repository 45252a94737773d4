"""How an index that is held, or was written, follows a store that has changed: what is built anew, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import UnitStore, Weights
from factoid.store.database import transaction
from factoid.store.indexes import build
from factoid.units import Granularity
from tests.store.content import DIM, opened, rows, unit

pytest.importorskip("faiss")

SENTENCES = Granularity.SENTENCE
ALONE = {"granularity": SENTENCES, "weights": Weights(0, 0)}  # no other index is built


@pytest.fixture
def built(monkeypatch):
    """The number of vectors of each index that was built from nothing."""
    counts = []
    original = build.VectorBuilder._build

    def counting(self, state, snapshot, **options):
        original(self, state, snapshot, **options)
        counts.append(0 if state.index is None else len(state.index))

    monkeypatch.setattr(build.VectorBuilder, "_build", counting)
    return counts


def vectors(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32)


def add(store, first, count):
    made = [
        unit(f"s{number}", f"Text {number}.", "sentence")[0]
        for number in range(first, first + count)
    ]
    store.add(made, vectors=vectors(count, seed=first))


def filled(path, count, **options):
    store = UnitStore(path, encoder=None, granularities=["sentence"], **options)
    add(store, 0, count)
    return store


def best(store, k=5):
    (query,) = vectors(1, 7)
    return [hit.unit.id for hit in store.search_by_vector(query, k, parents="unit", **ALONE)]


def brute(store, k=5):
    held = store.vectors(store.ids())
    (query,) = vectors(1, 7)
    return sorted(held, key=lambda own: -float(held[own] @ query))[:k]


def kind(store):
    return store.opened.indexes.states[SENTENCES].index.kind


def test_another_kind_takes_the_place_of_the_one_on_disk(tmp_path):
    with filled(tmp_path / "s", 300, index="HNSW8") as store:
        best(store)
    for wanted in ("Flat", "IVF2,Flat", "HNSW8,SQ8", "auto"):
        with UnitStore(tmp_path / "s", encoder=None, index=wanted) as store:
            assert best(store) == brute(store)
            assert kind(store) == ("Flat" if wanted == "auto" else wanted)


def test_the_kind_changes_as_soon_as_there_are_enough_and_not_back_with_every_write(built):
    with filled(None, 255, index="IVF2,Flat") as store:
        best(store)
        add(store, 255, 1)  # just enough to be trained
        for _ in range(3):
            assert best(store) == brute(store)
            store.delete(["s0", "s1"])
            assert best(store) == brute(store)
            add(store, 0, 2)
        assert (kind(store), built) == ("IVF2,Flat", [255, 256])
        store.delete([f"s{number}" for number in range(100)])
        assert best(store) == brute(store)
        assert (kind(store), built) == ("Flat", [255, 256, 156])


@pytest.mark.parametrize("forgets", ["log", "compact"])
def test_a_reader_follows_although_the_changes_are_forgotten(tmp_path, monkeypatch, built, forgets):
    with (
        filled(tmp_path / "s", 50, index="Flat") as writer,
        opened(tmp_path / "s", read_only=True) as reader,
    ):
        assert best(reader) == brute(reader)
        built.clear()
        if forgets == "log":
            monkeypatch.setattr(transaction, "_LOGGED", 12)
        for number in range(0, 40, 10):
            writer.delete([f"s{number}"])
            add(writer, number + 1, 2)
            writer.update_metadata({"year": number}, ids=[f"s{number + 5}"])
        add(writer, 100, 5)
        if forgets == "compact":
            writer.compact()
            built.clear()
        assert rows(tmp_path / "s", "SELECT count(*) FROM changes WHERE row <= 50")[0][0] < 10
        assert best(reader, k=20) == brute(writer, k=20)
        found = reader.search_by_vector(vectors(1)[0], filter={"year": 20}, **ALONE)
        assert [hit.unit.id for hit in found] == ["s25"]
        assert not built


def test_the_record_of_commits_does_not_grow_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(transaction, "_LOGGED", 10)
    with filled(tmp_path / "s", 1) as store:
        for number in range(1, 60):
            add(store, number, 1)
        with store.opened.connections.reading() as snapshot:
            assert snapshot.values("SELECT count(*) FROM commits")[0] <= 22
