from __future__ import annotations

from typing import Any

import numpy as np

from factoid import Document as CoreDocument
from factoid import UnitStore
from langchain_factoid import EmbeddingsEncoder
from tests.langchain.documents import OLM, SENTENCES


def test_embeddings_as_encoder_of_the_core(embedding: Any) -> None:
    encoder = EmbeddingsEncoder(embedding)
    assert encoder.name == "HashEmbeddings(hash-256)"
    assert encoder.encode_units([]).shape[0] == 0
    assert encoder.encode_units(["a b", "c d", "a b"]).shape == (3, 256)
    assert embedding.embedded == ["a b", "c d"]
    assert np.array_equal(encoder.encode_queries(["ice", "lead"]), encoder.encode_units(["ice", "lead"]))
    with UnitStore(encoder=encoder) as core:
        core.add_documents([CoreDocument(OLM.page_content)], propositionizer=SENTENCES)
        assert core.search("eyes", 1)[0].unit.text == OLM.page_content


def test_a_cache_around_embeddings_keeps_their_name(embedding: Any) -> None:
    from langchain_classic.embeddings import CacheBackedEmbeddings
    from langchain_core.stores import InMemoryByteStore

    cached = CacheBackedEmbeddings.from_bytes_store(embedding, InMemoryByteStore(), key_encoder="sha256")
    assert EmbeddingsEncoder(cached).name == EmbeddingsEncoder(embedding).name
