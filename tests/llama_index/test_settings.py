"""What the vector store hands on to the core: kinds of index, similarity, shards, how vectors are kept, how files are opened."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from factoid.errors import InvalidInputError, StoreError
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, ask, corpus


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
