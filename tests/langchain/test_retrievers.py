from __future__ import annotations

from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from pydantic import ValidationError

from factoid import Weights
from factoid.errors import InvalidInputError
from factoid.store import GRANULARITIES
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import OLM, SENTENCES


def test_parents_carry_score_and_matches(filled: MultiGranularFAISS) -> None:
    first, second, *_ = MultiGranularRetriever(store=filled).invoke("Who has no eyes?")
    assert (first.id, first.page_content) == ("olm", OLM.page_content)
    assert first.metadata["year"] == 1768
    best = first.metadata["matches"][0]
    assert best.keys() == {"text", "score", "start_index", "end_index", "granularity", "id"}
    assert (best["text"], best["granularity"]) == ("has no eyes.", "proposition")
    assert best["score"] == 1 > first.metadata["score"] > second.metadata["score"]
    assert OLM.page_content[best["start_index"] : best["end_index"]] == "has no eyes."
    assert filled.get_by_ids(["olm"]) == [OLM]


async def test_async_awaits_the_embeddings(embedding: Any) -> None:
    class Awaitable(Embeddings):
        embed_documents = embed_query = None  # type: ignore[assignment]

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedding.embed_documents(texts)

        async def aembed_query(self, text: str) -> list[float]:
            return embedding.embed_query(text)

    store = MultiGranularFAISS(Awaitable(), propositionizer=SENTENCES, granularities=GRANULARITIES)
    await store.aadd_documents([OLM])
    assert await MultiGranularRetriever(store=store).ainvoke("eyes") == [OLM]


def test_hybrid_weighs_words_as_well(filled: MultiGranularFAISS) -> None:
    [found] = MultiGranularRetriever(store=filled, k=1).invoke("a parrot that cannot fly")
    assert found.metadata["parent_id"] == "kakapo"
    words = MultiGranularRetriever(store=filled, lexical=1.0)
    [found] = words.invoke("caves")
    assert found.id == "olm"
    assert 0.7 < found.metadata["score"] < 1  # it has all words of the question
    assert [found.id for found in filled.similarity_search("caves", lexical=1.0)] == ["olm"]


@pytest.mark.parametrize("options", [{"lexical": 1}, {"weights": Weights(0, 1)}])
async def test_words_alone_embed_no_query(filled: MultiGranularFAISS, options, monkeypatch) -> None:
    def embed(_: str) -> list[float]:
        raise AssertionError("nothing needs this vector")

    retriever = MultiGranularRetriever(store=filled, **options)
    expected = retriever.invoke("caves")
    monkeypatch.setattr(filled.embeddings, "embed_query", embed)
    assert await retriever.ainvoke("caves") == expected
    filled.store.weights = Weights(0, 1)
    assert await MultiGranularRetriever(store=filled).ainvoke("caves") == expected
    with pytest.raises(AssertionError, match="nothing needs"):
        await retriever.ainvoke("caves", lexical=0.5)


def test_options_of_fields_and_of_a_call(filled: MultiGranularFAISS) -> None:
    retriever = MultiGranularRetriever(store=filled, filter={"year": 1845}, parents="document")
    assert [document.id for document in retriever.invoke("eyes")] == ["kakapo"]
    assert [document.id for document in retriever.invoke("eyes", filter=None, k=1)] == ["olm"]
    (found,) = retriever.invoke("eyes", granularity="sentence")
    assert found.metadata["matches"][0]["granularity"] == "sentence"
    others = MultiGranularRetriever(store=filled, k=1, document_ids=["kakapo"], parents="document")
    assert [document.id for document in others.invoke("eyes")] == ["kakapo"]
    with pytest.raises(TypeError, match="hybrid"):
        others.invoke("eyes", hybrid=False)
    with pytest.raises(InvalidInputError, match="search_type must be"):
        others.invoke("eyes", search_type="nearest")


def test_bad_fields_are_refused(filled: MultiGranularFAISS) -> None:
    for field, value, message in [
        ("granularity", "document", "no index of documents"),
        ("k", 0, "greater than or equal to 1"),
        ("expand", -1, "expand must be"),
        ("store", None, "MultiGranularFAISS"),
    ]:
        with pytest.raises(ValidationError, match=message):
            MultiGranularRetriever(**{"store": filled, field: value})
    with pytest.raises(TypeError, match="granularty"):
        MultiGranularRetriever(store=filled, granularty="sentence")


def test_what_was_found_is_added_elsewhere_without_the_query(
    filled: MultiGranularFAISS, embedding: Embeddings
) -> None:
    found = MultiGranularRetriever(store=filled, k=2, parents="passage").invoke("eyes")
    with MultiGranularFAISS(embedding) as other:
        other.add_documents(found)
        kept = other.get_by_ids([document.id for document in found])  # type: ignore[misc]
        again = MultiGranularRetriever(store=other, k=1).invoke("eyes")
    assert kept == found
    for document in kept:
        assert not {"score", "matches"} & document.metadata.keys()
    assert "source_score" not in again[0].metadata
