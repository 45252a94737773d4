from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from factoid import Document as CoreDocument
from factoid import UnitStore
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.store import GRANULARITIES
from langchain_factoid import LangChainEncoder, MultiGranularFAISS
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import OLM, SENTENCES


def test_embeddings_as_encoder_of_the_core(embedding: Any) -> None:
    encoder = LangChainEncoder(embedding)
    assert encoder.name == "HashEmbeddings(hash-256)"
    assert encoder.encode_units([]).shape[0] == 0
    assert encoder.encode_units(["a b", "c d"]).shape == (2, 256)
    assert np.array_equal(
        encoder.encode_queries(["ice", "lead"]), encoder.encode_units(["ice", "lead"])
    )
    with UnitStore(encoder=encoder, granularities=GRANULARITIES) as core:
        core.add_documents([CoreDocument(OLM.page_content)], propositionizer=SENTENCES)
        assert core.search("eyes", 1)[0].unit.text == OLM.page_content
    with pytest.raises(InvalidInputError, match="expected Embeddings"):
        MultiGranularFAISS()


def test_a_cache_around_embeddings_keeps_their_name(embedding: Any) -> None:
    from langchain_classic.embeddings import CacheBackedEmbeddings
    from langchain_core.stores import InMemoryByteStore

    cached = CacheBackedEmbeddings.from_bytes_store(
        embedding, InMemoryByteStore(), key_encoder="sha256"
    )
    assert LangChainEncoder(cached).name == LangChainEncoder(embedding).name


def test_texts_with_their_embeddings(embedding: HashEmbeddings) -> None:
    texts = ["The olm lives in caves. It has no eyes.", "Titan orbits Saturn."]
    pairs = list(zip(texts, embedding.embed_documents(texts), strict=True))
    embedding.embedded.clear()
    with MultiGranularFAISS.from_embeddings(
        pairs, embedding, [{"n": 1}, {"n": 2}], ids=["olm", "titan"]
    ) as store:
        assert embedding.embedded == []
        assert store.get_by_ids(["olm"]) == [
            Document(id="olm", page_content=texts[0], metadata={"n": 1})
        ]
        for granularity in ("passage", "sentence", "proposition"):
            [(found, score)] = store.similarity_search_with_score(
                texts[0], k=1, granularity=granularity, lexical=0
            )
            assert (found.id, score) == ("olm", pytest.approx(1))
        assert store.add_embeddings([(texts[0], pairs[1][1])], ids=["olm"]) == ["olm"]
        assert len(store.similarity_search("Titan orbits Saturn.", min_score=0.99, lexical=0)) == 2
        assert store.add_embeddings([]) == []


def test_bad_embeddings_are_refused(embedding: Any, tmp_path: Any) -> None:
    with MultiGranularFAISS(
        embedding, propositionizer=SENTENCES, path=tmp_path / "s", granularities=GRANULARITIES
    ) as store:
        store.add_documents([OLM])
        for vectors in ([[1.0]], [[1.0], [1.0, 2.0]]):
            embedding.embed_documents = lambda texts, vectors=vectors: vectors
            with pytest.raises(
                EncoderMismatchError, match="one vector for each of 2 texts, of one dimension"
            ):
                store.add_texts(["Ice.", "Lead."])
    with pytest.raises(EncoderMismatchError, match=r"HashEmbeddings\(hash-256\)"):
        MultiGranularFAISS(
            DeterministicFakeEmbedding(size=5), path=tmp_path / "s", granularities=GRANULARITIES
        )
