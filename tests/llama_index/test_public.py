from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import llama_index_factoid
from factoid.encode import Encoder
from factoid.testing import HashEncoder
from llama_index_factoid import EmbeddingEncoder


def test_exported_names_are_sorted_and_there():
    names = llama_index_factoid.__all__
    assert names == sorted(names)
    assert all(hasattr(llama_index_factoid, name) for name in names)


def test_without_llama_index_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['llama_index'] = None\n"
        "from factoid.errors import MissingDependencyError\n"
        "try: import llama_index_factoid\n"
        "except MissingDependencyError as error: print(error, '|', type(error.__cause__).__name__)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "factoid[llama-index]" | ModuleNotFoundError' in result.stdout


def test_import_is_light():
    code = (
        "import sys, llama_index_factoid; print([m for m in ('torch', 'faiss', 'spacy', 'openai') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_embedding_encoder(embed_model):
    encoder = EmbeddingEncoder(embed_model)
    assert isinstance(encoder, Encoder)
    assert encoder.name == "HashEncoder(256)"
    texts = ["The tower leans.", "A cat sleeps."]
    for encode in (encoder.encode_queries, encoder.encode_units):
        vectors = encode(texts)
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, HashEncoder().encode_units(texts))
        assert encode([]).shape == (0, 0)


def test_embedding_encoder_asks_each_side_of_the_model(embed_model, monkeypatch):
    monkeypatch.setattr(type(embed_model), "_get_query_embedding", lambda self, query: [1.0, 2.0])
    assert EmbeddingEncoder(embed_model).encode_queries(["x"]).tolist() == [[1.0, 2.0]]
    with pytest.raises(AttributeError):
        EmbeddingEncoder(object())


async def test_encoder_embedding(embed_model):
    assert embed_model.model_name == HashEncoder().name
    expected = HashEncoder().encode_units(["The tower leans."]).tolist()
    assert embed_model.get_text_embedding_batch(["The tower leans."]) == expected
    assert [embed_model.get_query_embedding("The tower leans.")] == expected
    assert [await embed_model.aget_query_embedding("The tower leans.")] == expected
    assert await embed_model.aget_text_embedding_batch(["The tower leans."]) == expected
