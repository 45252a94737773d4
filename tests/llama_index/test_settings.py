"""What the vector store hands on to the core: kinds of index, similarity, shards, how vectors are kept, how files are opened."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from factoid import Weights
from factoid.errors import InvalidInputError, StoreError
from factoid.units import Granularity
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, ask, corpus, oracle


def held(store, kind):
    store.query(ask(np.ones(DIM)), granularity=kind)
    return store.client.views.states[Granularity(kind)].index


def ranked(nodes, vector, kind, similarity):
    if similarity == "cosine":
        nodes = [entry.model_copy(update={"embedding": unit(entry.embedding)}) for entry in nodes]
        vector = unit(vector)
    return oracle(nodes, vector, kind, "passage")


def unit(vector):
    return (np.array(vector) / np.linalg.norm(vector)).tolist()


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("similarity", ["inner_product", "cosine"])
def test_settings_are_kept_in_the_store(tmp_path, nodes, similarity, dtype, shards):
    store = MultiGranularFaissVectorStore(tmp_path / "s", similarity=similarity, dtype=dtype, shards=shards)
    store.add(nodes)
    vector = np.random.default_rng(3).normal(size=DIM)
    expected = ranked(nodes, vector, "proposition", similarity)
    size = 2e-2 if dtype == "float16" else 1e-5
    for opened in (store, MultiGranularFaissVectorStore(tmp_path / "s")):
        result = opened.query(ask(vector, 20), weights=Weights(0, 0))
        assert dict(zip(result.ids, result.similarities, strict=True)) == pytest.approx(dict(expected), abs=size)
        assert opened.client.similarity == similarity
        assert held(opened, "proposition").shards == shards
        opened.close()


def test_read_only(tmp_path, nodes):
    store = MultiGranularFaissVectorStore(tmp_path / "s")
    store.add(nodes)
    reader = MultiGranularFaissVectorStore(tmp_path / "s", read_only=True)
    vector = np.ones(DIM)
    assert reader.query(ask(vector, 9)) == store.query(ask(vector, 9))
    for write in (lambda: reader.add(nodes[:1]), reader.clear, lambda: reader.delete("d0")):
        with pytest.raises(StoreError, match="read_only=True"):
            write()
    store.delete("d0")
    assert reader.query(ask(vector, 99)).ids == store.query(ask(vector, 99)).ids  # readers see what was written since
    with pytest.raises(InvalidInputError, match="read-only"):
        MultiGranularFaissVectorStore(read_only=True)


def test_all_settings_are_saved_with_the_class(tmp_path):
    options = {
        "granularity": ("sentence", "proposition"),
        "granularities": ("passage", "sentence", "proposition"),
        "index": {"sentence": "SQ8"},
        "similarity": "cosine",
        "shards": 2,
        "dtype": "float16",
        "device": "cpu",
        "mmap": True,
        "parents": "unit",
    }
    store = MultiGranularFaissVectorStore(tmp_path / "s", **options)
    store.add(corpus(documents=1))
    for again in (
        MultiGranularFaissVectorStore.from_dict(store.to_dict()),
        MultiGranularFaissVectorStore.from_json(store.to_json()),
        pickle.loads(pickle.dumps(store)),
    ):
        assert (
            again.settings | {name: getattr(again, name) for name in options if name not in again.settings} == options
        )
        assert again.query(ask(np.ones(DIM), 3)) == store.query(ask(np.ones(DIM), 3))
        again.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"similarity": "euclid"}, "euclid"),
        ({"shards": 0}, "shards must be at least 1"),
        ({"dtype": "int8"}, "dtype must be one of"),
        ({"index": {"word": "Flat"}}, "unknown granularity 'word'"),
        ({"granularity": ()}, "choose some of them"),
        ({"granularity": ("sentence", "proposition"), "granularities": ("sentence",)}, "choose some of them"),
        ({"device": 3}, "device"),
        ({"indx": "Flat"}, "indx"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MultiGranularFaissVectorStore(**options)
