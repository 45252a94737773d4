from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.testing import HashEncoder
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import OLM, SENTENCES


def test_bad_documents_are_refused_before_any_work(filled: MultiGranularFAISS, embedding: Any) -> None:
    embedded = list(embedding.embedded)
    for bad, message in [
        ("text", "got str"),
        (Document.model_construct(page_content="a\ud800b", metadata={}, id=None), "lone surrogate"),
        (Document(page_content="x", metadata={"when": object()}), "'when'"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            filled.add_documents([Document(page_content="New and good."), bad])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="expected a list, got a single Document"):
        filled.add_documents(OLM)
    with pytest.raises(TypeError, match="bach_size"):
        filled.add_documents([OLM], bach_size=2)
    assert embedding.embedded == embedded
    assert len(filled.similarity_search("it", k=99)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hybrid": True}, "unknown options .'hybrid'"),
        ({"query": "a\ud800"}, "lone surrogate"),
        ({"query": None}, "query must be a str"),
    ],
)
async def test_bad_searches_are_refused(filled: MultiGranularFAISS, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        filled.max_marginal_relevance_search(**{"query": "olm", **options})
    with pytest.raises((InvalidInputError, TypeError), match=message):
        await filled.amax_marginal_relevance_search(**{"query": "olm", **options})


@pytest.mark.parametrize(
    ("embedding", "options", "message"),
    [
        ("model", {}, "got str"),
        (None, {}, "got NoneType"),
        (HashEncoder(), {}, "got HashEncoder: wrap it in EncoderEmbeddings"),
        (DeterministicFakeEmbedding(size=5), {"parents": "page"}, "'passage', 'document' or 'unit'"),
    ],
)
def test_what_is_refused_makes_no_store(tmp_path: Path, embedding: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        MultiGranularFAISS(embedding, path=tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


def test_unknown_options_are_named(embedding: Any) -> None:
    with pytest.raises(TypeError, match="documents"):
        MultiGranularFAISS(embedding, documents=[OLM])
    with pytest.raises(TypeError, match="'embeddings'"):  # before the missing embedding
        MultiGranularFAISS(embeddings=embedding)


def test_bad_embeddings_are_refused(embedding: Any, tmp_path: Path) -> None:
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES, path=tmp_path / "s") as store:
        store.add_documents([OLM])
        for vectors in ([[1.0]], [[1.0], [1.0, 2.0]]):
            embedding.embed_documents = lambda texts, vectors=vectors: vectors
            with pytest.raises(EncoderMismatchError, match="one vector for each of 2 texts, of one dimension"):
                store.add_texts(["Ice.", "Lead."])
    with pytest.raises(EncoderMismatchError, match=r"HashEmbeddings\(hash-256\)"):
        MultiGranularFAISS(DeterministicFakeEmbedding(size=5), path=tmp_path / "s")
