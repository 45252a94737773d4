"""Embedding models as encoders, and encoders as embedding models: copied, pickled, told apart from those of another store."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline

from factoid import SentenceTransformerEncoder
from factoid.encode import Encoder
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.testing import HashEncoder
from llama_index_factoid import (
    EmbeddingEncoder,
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
)
from tests.llama_index.nodes import TEXTS
from tests.test_encode import needs_models, needs_weights


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


@needs_models
@needs_weights
def test_a_pipeline_with_two_workers_embeds():
    embed_model = EncoderEmbedding(SentenceTransformerEncoder(device="cpu"))
    embed_model.get_text_embedding("The model is loaded, and holds a lock.")
    pipeline = IngestionPipeline(transformations=[MultiGranularNodeParser(granularities=["passage"]), embed_model])
    nodes = pipeline.run(documents=[Document(text=text) for text in TEXTS.values()], num_workers=2)
    assert sorted(node.text for node in nodes) == sorted(TEXTS.values())
    assert all(len(node.embedding) == 384 for node in nodes)


def test_pickled_and_copied(embed_model):
    for same in (pickle.loads(pickle.dumps(embed_model)), copy.deepcopy(embed_model)):
        assert same.get_text_embedding("It leans.") == embed_model.get_text_embedding("It leans.")
        assert same.model_name == embed_model.model_name


def test_an_encoder_that_cannot_be_pickled_says_so():
    encoder = HashEncoder()
    encoder.lock = threading.Lock()
    with pytest.raises(
        InvalidInputError, match=r"'HashEncoder\(256\)' cannot be pickled: give its class a __getstate__"
    ):
        pickle.dumps(EncoderEmbedding(encoder))


def test_a_store_in_memory_refuses_to_be_pickled_or_copied(store):
    for act in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot be pickled or copied.*(persist|copy_to)\("):
            act(store)


@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("granularity", ["passage", "proposition"])
async def test_another_model_of_the_same_dimension_is_refused(tmp_path, parser, parents, granularity):
    filled(tmp_path / "store", parser).close()
    store = MultiGranularFaissVectorStore(tmp_path / "store")
    other = VectorStoreIndex.from_vector_store(store, embed_model=EncoderEmbedding(Reversed()))
    retriever = MultiGranularRetriever(other, parents=parents, granularity=granularity)
    with pytest.raises(EncoderMismatchError, match="embedded by another model, the query by 'Reversed'"):
        retriever.retrieve("Which tower leans?")
    with pytest.raises(EncoderMismatchError, match="Use the model of the nodes"):
        await retriever.aretrieve("Which tower leans?")
    renamed = VectorStoreIndex.from_vector_store(store, embed_model=EncoderEmbedding(Reversed("HashEncoder(256)")))
    with pytest.raises(EncoderMismatchError, match="embedded by another model"):
        MultiGranularRetriever(renamed).retrieve("Which tower leans?")
    right = MultiGranularRetriever(store, EncoderEmbedding(HashEncoder()), parents=parents, granularity=granularity)
    assert await right.aretrieve("Which tower leans?") == right.retrieve("Which tower leans?") != []


def test_a_store_remembers_its_model(tmp_path, parser):
    model = EncoderEmbedding(HashEncoder())
    filled(tmp_path / "store", parser, embed_model=model).close()
    with pytest.raises(
        EncoderMismatchError, match=r"built by the encoder 'HashEncoder\(256\)'.* opened with 'Reversed'"
    ):
        MultiGranularFaissVectorStore(tmp_path / "store", embed_model=EncoderEmbedding(Reversed()))
    store = MultiGranularFaissVectorStore(tmp_path / "store")
    with pytest.raises(EncoderMismatchError, match=r"embedded by 'HashEncoder\(256\)', the query by 'Reversed'"):
        MultiGranularRetriever(store, EncoderEmbedding(Reversed())).retrieve("Which tower leans?")
    assert MultiGranularRetriever(store, model).retrieve("Which tower leans?")[0].node.ref_doc_id == "pisa"
    again = pickle.loads(pickle.dumps(MultiGranularFaissVectorStore(tmp_path / "store", embed_model=model)))
    assert again.embed_model.model_name == "HashEncoder(256)"


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
