"""Embedding models as encoders, and encoders as embedding models: copied, pickled, told apart from
those of another store.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from llama_index.core import Document, MockEmbedding, VectorStoreIndex

from factoid.encode import Encoder
from factoid.errors import EncoderMismatchError
from factoid.testing import HashEncoder
from llama_index_factoid import (
    LlamaIndexEncoder,
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularRetriever,
)
from tests.llama_index.nodes import TEXTS


def test_a_store_remembers_its_model(tmp_path, parser):
    model, other = EncoderEmbedding(HashEncoder()), MockEmbedding(embed_dim=256)
    store = MultiGranularFaissVectorStore(tmp_path / "store", embed_model=model)
    nodes = parser([Document(text=TEXTS["pisa"], id_="pisa")])
    VectorStoreIndex.from_vector_store(store, embed_model=model).insert_nodes(nodes)
    assert MultiGranularRetriever(store).retrieve("Which tower leans?")[0].node.ref_doc_id == "pisa"
    with pytest.raises(EncoderMismatchError, match="queries would be embedded by 'MockEmbedding"):
        MultiGranularRetriever(store, other)
    store.close()
    with pytest.raises(
        EncoderMismatchError, match=r"'HashEncoder\(256\)'.* opened with 'MockEmbedding"
    ):
        MultiGranularFaissVectorStore(tmp_path / "store", embed_model=other)


def test_embedding_encoder(embed_model, monkeypatch):
    encoder = LlamaIndexEncoder(embed_model)
    assert isinstance(encoder, Encoder)
    assert encoder.name == "HashEncoder(256)"
    texts = ["The tower leans.", "A cat sleeps."]
    assert encoder.encode_units(texts).dtype == np.float32
    np.testing.assert_array_equal(encoder.encode_units(texts), HashEncoder().encode_units(texts))
    assert encoder.encode_units([]).shape == (0, 0)
    monkeypatch.setattr(type(embed_model), "_get_query_embedding", lambda self, query: [1.0, 2.0])
    assert encoder.encode_queries(["x"]).tolist() == [[1.0, 2.0]]
    assert LlamaIndexEncoder(MockEmbedding(embed_dim=3)).name == "MockEmbedding(unknown)"


async def test_encoder_embedding(embed_model):
    assert embed_model.model_name == HashEncoder().name
    expected = HashEncoder().encode_units(["The tower leans."]).tolist()
    assert embed_model.get_text_embedding_batch(["The tower leans."]) == expected
    assert [embed_model.get_query_embedding("The tower leans.")] == expected
    assert [await embed_model.aget_query_embedding("The tower leans.")] == expected
    assert await embed_model.aget_text_embedding_batch(["The tower leans."]) == expected
    assert [await embed_model.aget_text_embedding("The tower leans.")] == expected
    assert [
        pickle.loads(pickle.dumps(embed_model)).get_text_embedding("The tower leans.")
    ] == expected
