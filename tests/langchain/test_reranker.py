"""The document compressor: places, metadata, compression retrievers, async."""

from __future__ import annotations

from datetime import date
from typing import Any

from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document

from factoid import AnyGranularityRanker
from factoid.testing import HashEncoder
from langchain_factoid import (
    AnyGranularityReranker,
    EncoderEmbeddings,
    MultiGranularFAISS,
    MultiGranularRetriever,
)
from tests.langchain.test_citations import OSLO, PARIS
from tests.late_interaction.word_vectors import WordVectors

DOCUMENTS = [
    Document(
        PARIS,
        metadata={"page": 1, "start_index": 40, "day": date(2020, 1, 2), "other": object},
        id="paris",
    ),
    Document(OSLO, metadata={"page": 2, "title": "People"}, id="oslo"),
]


def reranker(**options: Any) -> AnyGranularityReranker:
    return AnyGranularityReranker(ranker=AnyGranularityRanker(WordVectors()), **options)


def test_sentences_come_back_as_documents_with_their_place() -> None:
    compressor = reranker(k=None)
    found = compressor.compress_documents(DOCUMENTS, "where was anna born")
    encoder = compressor.ranker.encoder
    assert isinstance(encoder, WordVectors)
    assert encoder.encoded == [PARIS, f"People: {OSLO}"]
    sources = {document.id: document for document in DOCUMENTS}
    assert len(found) == 4
    for document in found:
        metadata = document.metadata
        source = sources[metadata["passage_id"]]
        assert (
            source.page_content[metadata["start_index"] : metadata["end_index"]]
            == document.page_content
        )
        assert metadata["granularity"] == "sentence"
        assert metadata["page"] == source.metadata["page"]
        assert document.id not in sources
    [first] = [document for document in found if document.page_content == "Paris is the capital."]
    assert (first.metadata["source_start_index"], first.metadata["day"]) == (40, date(2020, 1, 2))
    assert DOCUMENTS[0].metadata.keys() == {"page", "start_index", "day", "other"}
    assert compressor.compress_documents([], "anna") == []


async def test_behind_a_retriever_of_ours() -> None:
    store = MultiGranularFAISS(EncoderEmbeddings(HashEncoder()))
    store.add_documents(
        [Document(OSLO, metadata={"page": 2}), Document(PARIS, metadata={"page": 1})]
    )
    retriever = MultiGranularRetriever(store=store)
    for options in ({"parents": "unit", "k": 2}, {"parents": "passage"}):
        chain = ContextualCompressionRetriever(
            base_compressor=reranker(**options), base_retriever=retriever
        )
        found = chain.invoke("Where was Anna born?")
        assert found == await chain.ainvoke("Where was Anna born?")
        assert len(found) == 2
        assert all("source_score" not in document.metadata for document in found)
        assert all(
            ("matches" in document.metadata) == (options["parents"] == "passage")
            for document in found
        )
    [sentence] = ContextualCompressionRetriever(
        base_compressor=reranker(k=1), base_retriever=retriever
    ).invoke("anna")
    assert {"page", "score", "start_index"} <= sentence.metadata.keys()
