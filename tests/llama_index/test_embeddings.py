"""Embedding models as encoders, and encoders as embedding models: copied, pickled, told apart from those of another store."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from llama_index.core import Document, MockEmbedding, VectorStoreIndex

from factoid.encode import Encoder
from factoid.errors import EncoderMismatchError
from factoid.testing import HashEncoder
from llama_index_factoid import (
    EmbeddingEncoder,
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularRetriever,
)
from tests.llama_index.nodes import TEXTS


class Reversed(HashEncoder):
    """Another model with vectors of the same dimension."""

    def __init__(self, name="Reversed"):
        super().__init__()
        self.name = name

    def encode_units(self, texts):
        return super().encode_units([text[::-1] for text in texts])


def filled(path, parser, **options):
    store = MultiGranularFaissVectorStore(path, **options)
    documents = [Document(text=text, id_=name, metadata={"about": name}) for name, text in TEXTS.items()]
    index = VectorStoreIndex.from_vector_store(store, embed_model=EncoderEmbedding(HashEncoder()))
    index.insert_nodes(parser(documents))
    return store


@pytest.mark.parametrize("parents", ["passage", "unit"])
async def test_another_model_of_the_same_dimension_is_refused(tmp_path, parser, parents):
    filled(tmp_path / "store", parser).close()
    store = MultiGranularFaissVectorStore(tmp_path / "store")
    for name in ("Reversed", "HashEncoder(256)"):
        retriever = MultiGranularRetriever(store, EncoderEmbedding(Reversed(name)), parents=parents)
        with pytest.raises(EncoderMismatchError, match="embedded by another model, the query by"):
            retriever.retrieve("Which tower leans?")
        with pytest.raises(EncoderMismatchError, match="Use the model of the nodes"):
            await retriever.aretrieve("Which tower leans?")
    right = MultiGranularRetriever(store, EncoderEmbedding(HashEncoder()), parents=parents)
    assert await right.aretrieve("Which tower leans?") == right.retrieve("Which tower leans?") != []


def test_a_store_remembers_its_model(tmp_path, parser):
    model = EncoderEmbedding(HashEncoder())
    filled(tmp_path / "store", parser, embed_model=model).close()
    with pytest.raises(EncoderMismatchError, match=r"'HashEncoder\(256\)'.* opened with 'Reversed'"):
        MultiGranularFaissVectorStore(tmp_path / "store", embed_model=EncoderEmbedding(Reversed()))
    store = MultiGranularFaissVectorStore(tmp_path / "store")
    with pytest.raises(EncoderMismatchError, match=r"embedded by 'HashEncoder\(256\)', the query by 'Reversed'"):
        MultiGranularRetriever(store, EncoderEmbedding(Reversed())).retrieve("Which tower leans?")
    assert MultiGranularRetriever(store, model).retrieve("Which tower leans?")[0].node.ref_doc_id == "pisa"
    again = pickle.loads(pickle.dumps(MultiGranularFaissVectorStore(tmp_path / "store", embed_model=model)))
    assert again.embed_model.model_name == "HashEncoder(256)"


def test_an_encoder_that_cannot_be_pickled_says_so():
    encoder = HashEncoder()
    encoder.lock = threading.Lock()
    with pytest.raises(TypeError, match=r"'HashEncoder\(256\)' cannot be pickled"):
        pickle.dumps(EncoderEmbedding(encoder))


def test_embedding_encoder(embed_model, monkeypatch):
    encoder = EmbeddingEncoder(embed_model)
    assert isinstance(encoder, Encoder)
    assert encoder.name == "HashEncoder(256)"
    texts = ["The tower leans.", "A cat sleeps."]
    assert encoder.encode_units(texts).dtype == np.float32
    np.testing.assert_array_equal(encoder.encode_units(texts), HashEncoder().encode_units(texts))
    assert encoder.encode_units([]).shape == (0, 0)
    monkeypatch.setattr(type(embed_model), "_get_query_embedding", lambda self, query: [1.0, 2.0])
    assert encoder.encode_queries(["x"]).tolist() == [[1.0, 2.0]]
    assert EmbeddingEncoder(MockEmbedding(embed_dim=3)).name == "MockEmbedding(unknown)"


async def test_encoder_embedding(embed_model):
    assert embed_model.model_name == HashEncoder().name
    expected = HashEncoder().encode_units(["The tower leans."]).tolist()
    assert embed_model.get_text_embedding_batch(["The tower leans."]) == expected
    assert [embed_model.get_query_embedding("The tower leans.")] == expected
    assert [await embed_model.aget_query_embedding("The tower leans.")] == expected
    assert await embed_model.aget_text_embedding_batch(["The tower leans."]) == expected
    assert [await embed_model.aget_text_embedding("The tower leans.")] == expected
    assert [pickle.loads(pickle.dumps(embed_model)).get_text_embedding("The tower leans.")] == expected
