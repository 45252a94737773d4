"""The document compressor: places, metadata, compression retrievers, async."""

from __future__ import annotations

import threading
from datetime import date
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from pydantic import ValidationError

from factoid import AnyGranularityRanker
from factoid.testing import HashEncoder, ScriptedPropositionizer
from langchain_factoid import AnyGranularityReranker, EncoderEmbeddings, MultiGranularFAISS, MultiGranularRetriever
from tests.late_interaction.word_vectors import WordVectors

OSLO = "Anna Berg was born in Oslo. She moved to Berlin."
PARIS = "Paris is the capital. It lies on a river."
DOCUMENTS = [
    Document(PARIS, metadata={"page": 1, "start_index": 40, "day": date(2020, 1, 2), "other": object}, id="paris"),
    Document(OSLO, metadata={"page": 2, "title": "People"}, id="oslo"),
]


def reranker(**options: Any) -> AnyGranularityReranker:
    return AnyGranularityReranker(ranker=AnyGranularityRanker(WordVectors()), **options)


def test_sentences_come_back_as_documents_with_their_place() -> None:
    found = reranker(k=None).compress_documents(DOCUMENTS, "where was anna born")
    assert [document.metadata["score"] for document in found] == sorted(
        (document.metadata["score"] for document in found), reverse=True
    )
    sources = {document.id: document for document in DOCUMENTS}
    assert len(found) == 4
    for document in found:
        metadata = document.metadata
        source = sources[metadata["passage_id"]]
        assert source.page_content[metadata["start_index"] : metadata["end_index"]] == document.page_content
        assert metadata["granularity"] == "sentence"
        assert metadata["page"] == source.metadata["page"]
        assert document.id not in sources
    [first] = [document for document in found if document.page_content == "Paris is the capital."]
    assert (first.metadata["source_start_index"], first.metadata["day"]) == (40, date(2020, 1, 2))
    assert DOCUMENTS[0].metadata.keys() == {"page", "start_index", "day", "other"}


def test_titles_stand_before_the_text_that_is_encoded() -> None:
    compressor = reranker()
    compressor.compress_documents(DOCUMENTS, "anna")
    encoder = compressor.ranker.encoder
    assert isinstance(encoder, WordVectors)
    assert encoder.encoded == [PARIS, f"People: {OSLO}"]


def test_documents_come_back_in_a_new_order_with_their_best_sentence() -> None:
    query = "where was anna born"
    found = reranker(parents="passage").compress_documents(DOCUMENTS, query)
    assert {document.id for document in found} == {"paris", "oslo"}
    best = reranker(k=1).compress_documents([DOCUMENTS[1]], query)[0]
    for document in found:
        [source] = [one for one in DOCUMENTS if one.id == document.id]
        assert document == source  # but for what the query adds
        assert source.metadata.items() <= document.metadata.items()
        [match] = document.metadata["matches"]
        assert document.page_content[match["start_index"] : match["end_index"]] == match["text"]
    [match] = next(document for document in found if document.id == "oslo").metadata["matches"]
    assert (match["text"], match["score"], match["id"]) == (best.page_content, best.metadata["score"], best.id)
    plain = reranker(granularity="passage").compress_documents(DOCUMENTS, query)
    assert [(one.id, one.metadata["score"]) for one in plain] == [(one.id, one.metadata["score"]) for one in found]
    assert all("matches" not in document.metadata for document in plain)


def test_propositions() -> None:
    script = {OSLO: ["Anna Berg moved to Berlin.", "Anna Berg was born in Oslo."]}
    ranker = AnyGranularityRanker(WordVectors(), propositionizer=ScriptedPropositionizer(script))
    compressor = AnyGranularityReranker(ranker=ranker, granularity="proposition")
    found = compressor.compress_documents(DOCUMENTS[1:], "anna")
    assert {document.page_content for document in found} == set(script[OSLO])
    assert {document.metadata["granularity"] for document in found} == {"proposition"}


async def test_behind_a_retriever_of_ours() -> None:
    store = MultiGranularFAISS(EncoderEmbeddings(HashEncoder()))
    store.add_documents([Document(OSLO, metadata={"page": 2}), Document(PARIS, metadata={"page": 1})])
    retriever = MultiGranularRetriever(store=store)
    for options in ({"parents": "unit", "k": 2}, {"parents": "passage"}):
        chain = ContextualCompressionRetriever(base_compressor=reranker(**options), base_retriever=retriever)
        found = chain.invoke("Where was Anna born?")
        assert found == await chain.ainvoke("Where was Anna born?")
        assert len(found) == 2
        assert all("source_score" not in document.metadata for document in found)
        assert all(("matches" in document.metadata) == (options["parents"] == "passage") for document in found)
    [sentence] = ContextualCompressionRetriever(base_compressor=reranker(k=1), base_retriever=retriever).invoke("anna")
    assert {"page", "score", "start_index"} <= sentence.metadata.keys()


async def test_async_gives_the_same_from_another_thread() -> None:
    compressor = reranker()
    found = await compressor.acompress_documents(DOCUMENTS, "anna")
    assert isinstance(compressor.ranker.encoder, WordVectors)
    assert threading.get_ident() not in compressor.ranker.encoder.threads
    assert found == reranker().compress_documents(DOCUMENTS, "anna")


def test_no_documents() -> None:
    assert reranker().compress_documents([], "anna") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"granularity": "word"}, "unknown granularity 'word'"),
        ({"granularity": "document"}, "ranked as a passage"),
        ({"parents": "document"}, "'passage' or 'unit'"),
        ({"k": 0}, "greater than or equal to 1"),
        ({"top_n": 3}, "Extra inputs"),
        ({"ranker": "colbert"}, "AnyGranularityRanker"),
    ],
)
def test_fields_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        AnyGranularityReranker(**{"ranker": AnyGranularityRanker(WordVectors()), **options})
