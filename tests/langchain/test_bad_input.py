from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from factoid.errors import EncoderMismatchError, InvalidInputError, StoreError, StoreFormatError
from factoid.testing import HashEncoder
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import OLM, SENTENCES


def test_bad_documents_are_refused_before_any_work(filled: MultiGranularFAISS, embedding: Any) -> None:
    embedded = list(embedding.embedded)
    for bad, message in [
        ("text", "got str"),
        ({"page_content": "text"}, "got dict"),
        (Document.model_construct(page_content="a\ud800b", metadata={}, id=None), "lone surrogate"),
        (Document(page_content="x", metadata={"when": object()}), "'when'"),
        (Document(page_content="x", metadata={1: "one"}), "1"),
        (Document(page_content="x", metadata={1: "one", "b": 2}), "must be strings"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            filled.add_documents([Document(page_content="New and good."), bad])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="expected a list, got a single"):
        filled.add_documents(OLM)
    with pytest.raises(InvalidInputError, match="number of ids"):
        filled.add_documents([OLM], ids=["a", "b"])
    with pytest.raises(InvalidInputError, match="number of metadatas"):
        filled.add_texts(["a"], [{}, {}])
    with pytest.raises(TypeError, match="bach_size"):
        filled.add_documents([OLM], bach_size=2)
    assert embedding.embedded == embedded
    assert len(filled.similarity_search("it", k=99)) == 3


def test_bad_searches_are_refused(filled: MultiGranularFAISS) -> None:
    for k in (0, -1):
        with pytest.raises(InvalidInputError, match="k must be at least 1"):
            filled.similarity_search("olm", k=k)
        with pytest.raises(InvalidInputError, match="k must be at least 1"):
            filled.max_marginal_relevance_search("olm", k=k)
    with pytest.raises(InvalidInputError, match="unknown granularity 'word'"):
        filled.similarity_search("olm", granularity="word")
    with pytest.raises(InvalidInputError, match="unknown operator"):
        filled.similarity_search("olm", filter={"year": {"$near": 3}})
    with pytest.raises(TypeError, match="granuarity"):
        filled.similarity_search("olm", granuarity="passage")
    with pytest.raises(EncoderMismatchError, match="256"):
        filled.similarity_search_by_vector([1.0, 2.0])
    with pytest.raises(EncoderMismatchError, match="not finite"):
        filled.similarity_search_by_vector([float("nan")] * 256)
    with pytest.raises(InvalidInputError, match="mmr must be a number"):
        filled.max_marginal_relevance_search("olm", lambda_mult="0.5")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected a list of ids"):
        filled.get_by_ids("olm")
    for query, message in (("a\ud800", "lone surrogate"), (None, "query must be a str")):
        with pytest.raises(InvalidInputError, match=message):
            filled.similarity_search(query)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="takes a list of ids"):
        filled.delete("olm")
    assert len(filled.similarity_search("olm", k=1000)) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [("model", "got str"), (None, "got NoneType"), (HashEncoder(), "got HashEncoder: wrap it in EncoderEmbeddings")],
)
def test_what_is_no_embeddings_is_refused_before_a_store_is_made(tmp_path: Path, given: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        MultiGranularFAISS(given, path=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_bad_embeddings_are_refused(embedding: Any, tmp_path: Path) -> None:
    class Short(Embeddings):
        vectors: ClassVar = [[1.0]]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return self.vectors

        def embed_query(self, text: str) -> list[float]:
            return self.vectors[0]

    store = MultiGranularFAISS(Short(), propositionizer=SENTENCES)
    with pytest.raises(EncoderMismatchError, match="1 vectors for 2 texts"):
        store.add_texts(["Ice.", "Lead."])
    Short.vectors = [[1.0], [1.0, 2.0]]
    with pytest.raises(EncoderMismatchError, match=r"different dimensions: \[1, 2\]"):
        store.add_texts(["Ice.", "Lead."])
    Short.vectors = [[1.0], [float("nan")]]
    with pytest.raises(EncoderMismatchError, match="not finite"):
        store.add_texts(["Ice.", "Lead."])
    assert store.similarity_search("ice") == []
    Short.vectors = [[1.0]]
    store.add_texts(["Ice."])
    Short.vectors = [[1.0, 2.0]]
    with pytest.raises(EncoderMismatchError, match="dimensions"):
        store.add_texts(["Lead."])
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES, path=tmp_path / "s") as hashed:
        hashed.add_documents([OLM])
    with pytest.raises(EncoderMismatchError, match=r"HashEmbeddings\(hash-256\)"):
        MultiGranularFAISS(DeterministicFakeEmbedding(size=5), path=tmp_path / "s")


def test_bad_places_are_refused(embedding: Any, tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("not a store")
    with pytest.raises(StoreFormatError, match="not a store"):
        MultiGranularFAISS(embedding, path=tmp_path)
    with pytest.raises(InvalidInputError, match="unknown granularity"):
        MultiGranularFAISS(embedding, granularities=("word",))
    store = MultiGranularFAISS(embedding, propositionizer=SENTENCES)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.similarity_search("olm")
