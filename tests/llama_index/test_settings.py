"""What the vector store hands on to the core: kinds of index, similarity, shards, how vectors are kept, how files are opened."""

from __future__ import annotations

import pickle

import numpy as np

from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, ask, corpus


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
