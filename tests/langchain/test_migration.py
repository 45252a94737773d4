"""What code that was written for LangChain's own stores calls."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

from factoid.errors import EncoderMismatchError, InvalidInputError, StoreFormatError
from langchain_factoid import LangChainEncoder, MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import KAKAPO, OLM, TITAN
from tests.test_encode import write_model

QUESTION = "Which animal has no eyes?"


@pytest.fixture
def store(embedding: HashEmbeddings) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(embedding) as opened:
        opened.add_documents([KAKAPO, OLM, TITAN])
        yield opened


async def test_searches_by_vector_return_scores(
    store: MultiGranularFAISS, embedding: HashEmbeddings
) -> None:
    vector = embedding.embed_query(QUESTION)
    expected = store.similarity_search_with_score(QUESTION, k=3, lexical=0)
    assert store.similarity_search_with_score_by_vector(vector, k=3) == expected
    assert await store.asimilarity_search_with_score_by_vector(vector, k=3) == expected
    assert store.similarity_search_by_vector(vector, k=3) == [document for document, _ in expected]
    filtered = store.similarity_search_with_score_by_vector(
        vector, k=3, filter={"year": {"$lt": 1700}}
    )
    assert [document.id for document, _ in filtered] == ["titan"]
    options = {"k": 2, "fetch_k": 3, "lambda_mult": 0.3}
    diverse = store.max_marginal_relevance_search_with_score_by_vector(vector, **options)  # type: ignore[arg-type]
    assert [document for document, _ in diverse] == store.max_marginal_relevance_search(
        QUESTION, lexical=0, **options
    )  # type: ignore[arg-type]
    scores = {document.id: score for document, score in expected}
    assert [score for _, score in diverse] == [scores[document.id] for document, _ in diverse]
    again = await store.amax_marginal_relevance_search_with_score_by_vector(vector, **options)  # type: ignore[arg-type]
    assert again == diverse


def test_several_stores_are_saved_by_name_in_one_folder(
    store: MultiGranularFAISS, embedding: HashEmbeddings, tmp_path: Path
) -> None:
    folder = tmp_path / "indexes"
    store.save_local(folder)
    store.save_local(str(folder), index_name="animals")
    store.delete(["olm"])
    store.save_local(folder, "fewer")
    counts = {}
    for name in ("index", "animals", "fewer"):
        with MultiGranularFAISS.load_local(folder, embedding, name) as loaded:
            counts[name] = len(loaded.similarity_search(QUESTION, k=9, parents="document"))
    assert counts == {"index": 3, "animals": 3, "fewer": 2}
    with pytest.raises(StoreFormatError, match=r"there is no store in .*absent"):
        MultiGranularFAISS.load_local(folder, embedding, index_name="absent")
    for name in ("../other", "", "a/b", "..", "a\\b"):
        with pytest.raises(InvalidInputError, match="index_name must be a name"):
            store.save_local(folder, name)


def test_copies_share_the_open_store(store: MultiGranularFAISS) -> None:
    copied = copy.deepcopy(store)
    assert copied.store is store.store
    assert copied.similarity_search(QUESTION) == store.similarity_search(QUESTION)
    retriever = copy.deepcopy(MultiGranularRetriever(store=store, k=1))
    assert retriever.invoke(QUESTION) == [OLM]
    assert MultiGranularRetriever(store=store, k=1).model_copy(deep=True).invoke(QUESTION) == [OLM]


def test_a_store_made_on_a_laptop_opens_on_a_server(
    embedding: HashEmbeddings, tmp_path: Path
) -> None:
    """The names of LangChain's own integrations hold the path of the model."""
    for folder in ("home/me/minilm", "models/all-MiniLM-L6-v2"):
        embedding.model = str(write_model(tmp_path / folder))
        with MultiGranularFAISS(embedding, path=tmp_path / "facts") as store:
            store.add_documents([OLM])
    embedding.model = str(write_model(tmp_path / "tuned", seed=1))
    with pytest.raises(
        EncoderMismatchError, match=r"same weights, .* name='(.*)' of SentenceTransformerEncoder"
    ) as caught:
        MultiGranularFAISS(embedding, path=tmp_path / "facts")
    name = str(caught.value).split("name='")[1].split("'")[0]
    with MultiGranularFAISS(
        LangChainEncoder(embedding, name=name), path=tmp_path / "facts"
    ) as store:  # as it says
        assert store.similarity_search(QUESTION) == [OLM]
        assert store.embeddings is embedding
