from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from factoid.errors import InvalidInputError
from factoid.filters import Comparison, Not, Operator
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import OLM


def test_parents_carry_score_and_matches(filled: MultiGranularFAISS) -> None:
    first, second, _ = MultiGranularRetriever(store=filled).invoke("Who has no eyes?")
    assert (first.id, first.page_content) == ("olm", OLM.page_content)
    assert first.metadata["year"] == 1768
    best = first.metadata["matches"][0]
    assert best.keys() == {"text", "score", "start_index", "end_index", "granularity", "id"}
    assert (best["text"], best["granularity"]) == ("has no eyes.", "proposition")
    assert best["score"] == 1 > first.metadata["score"] > second.metadata["score"]
    assert OLM.page_content[best["start_index"] : best["end_index"]] == "has no eyes."
    assert filled.get_by_ids(["olm"]) == [OLM]


@pytest.mark.parametrize("parents", ["document", "passage", "unit"])
async def test_async_gives_the_same(filled: MultiGranularFAISS, parents: Any) -> None:
    retriever = MultiGranularRetriever(store=filled, granularity="sentence", parents=parents)
    found, again = retriever.invoke("Who has no eyes?"), await retriever.ainvoke("Who has no eyes?")
    assert [entry.model_dump() for entry in again] == [entry.model_dump() for entry in found]
    first = found[0].metadata
    assert (first if parents == "unit" else first["matches"][0])["granularity"] == "sentence"
    best = first["score"]
    assert len(retriever.invoke("Who has no eyes?", score_threshold=best)) == 1


async def test_hybrid_weighs_words_as_well(filled: MultiGranularFAISS) -> None:
    pytest.importorskip("tantivy", reason="needs factoid[lexical]")
    hybrid = MultiGranularRetriever(store=filled, k=1, search_type="hybrid")
    assert [document.id for document in hybrid.invoke("a parrot that cannot fly")] == ["kakapo"]
    words = MultiGranularRetriever(store=filled, search_kwargs={"lexical": 1.0})
    assert [(found.id, found.metadata["score"]) for found in words.invoke("caves")] == [("olm", 1.0)]
    retriever = filled.as_retriever(search_type="hybrid", search_kwargs={"k": 1, "lexical": 0.5})
    assert [found.id for found in await retriever.ainvoke("a parrot that cannot fly")] == ["kakapo"]
    assert [found.id for found in filled.similarity_search("caves", lexical=1.0)] == ["olm"]


def test_all_options_of_a_search(filled: MultiGranularFAISS) -> None:
    others = MultiGranularRetriever(store=filled, k=1, search_kwargs={"document_ids": ["kakapo"], "expand": 1})
    assert [document.id for document in others.invoke("eyes")] == ["kakapo"]
    assert [document.id for document in others.invoke("eyes", document_ids=["olm"])] == ["olm"]
    tree = Not(Comparison("year", Operator.LT, 1800))
    assert [document.id for document in MultiGranularRetriever(store=filled, filter=tree).invoke("eyes")] == ["kakapo"]
    with pytest.raises(InvalidInputError, match="expand"):
        others.invoke("eyes", expand=-1)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'hybrid'"):
        others.invoke("eyes", hybrid=False)
    with pytest.raises(InvalidInputError, match="search_type must be"):
        others.invoke("eyes", search_type="nearest")


def test_bad_fields_are_refused(filled: MultiGranularFAISS, embedding: Any) -> None:
    for field, value, message in [
        ("parents", "documents", "'passage', 'document' or 'unit'"),
        ("granularity", "document", "no index of documents"),
        ("k", 0, "greater than or equal to 1"),
        ("search_type", "nearest", "'hybrid', 'similarity' or 'mmr'"),
        ("filter", {"year": {"$near": 3}}, "unknown operator"),
        ("search_kwargs", {"refien": 3}, "unexpected keyword argument 'refien'"),
        ("search_kwarg", {}, "Extra inputs are not permitted"),
        ("store", None, "MultiGranularFAISS"),
    ]:
        with pytest.raises(ValidationError, match=message):
            MultiGranularRetriever(**{"store": filled, field: value})
    sentences = MultiGranularFAISS(embedding, granularities=("sentence",))
    with pytest.raises(ValidationError, match="no index of propositions"):
        MultiGranularRetriever(store=sentences, granularity="proposition")


def test_options_of_a_call(filled: MultiGranularFAISS) -> None:
    retriever = MultiGranularRetriever(store=filled, filter={"year": 1845})
    assert [document.id for document in retriever.invoke("eyes")] == ["kakapo"]
    assert [document.id for document in retriever.invoke("eyes", filter=None, k=1)] == ["olm"]
    (found,) = retriever.invoke("eyes", granularity="sentence")
    assert found.metadata["matches"][0]["granularity"] == "sentence"
    lonely = MultiGranularRetriever(store=filled, filter=lambda metadata: 1700 < metadata["year"] < 1800)
    assert [document.id for document in lonely.invoke("eyes")] == ["olm"]
