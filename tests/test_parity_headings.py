"""Headings tell texts apart in both frameworks, as in the core, and reach the models that read what was found."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import MetadataMode

from factoid import UnitStore
from factoid.encode import with_heading
from factoid.testing import HashEncoder
from langchain_factoid import (
    EncoderEmbeddings,
    MultiGranularFAISS,
    MultiGranularRetriever,
    PropositionTextSplitter,
    with_headings,
)
from llama_index_factoid import EncoderEmbedding, MultiGranularFaissVectorStore, MultiGranularNodeParser
from llama_index_factoid import MultiGranularRetriever as LlamaIndexRetriever
from tests.test_headings import MANUALS, SENTENCES

QUESTIONS = {manual.id: f"How long is the warranty of the {manual.id}?" for manual in MANUALS}
TEXTS = {
    "passage": "The warranty lasts 24 months. It covers the battery.",
    "sentence": "The warranty lasts 24 months.",
    "proposition": "The warranty lasts 24 months.",
}


def core(granularity: str, question: str) -> tuple[str, str, float]:
    with UnitStore(encoder=HashEncoder()) as store:
        store.add_documents(MANUALS, propositionizer=SENTENCES)
        (hit,) = store.search(question, 1, granularity=granularity, parents="unit")
        return with_heading(hit.unit), hit.unit.text, hit.score


def langchain(granularity: str, question: str) -> tuple[str, str, float]:
    store = MultiGranularFAISS(EncoderEmbeddings(HashEncoder()), propositionizer=SENTENCES)
    store.add_documents([LangChainDocument(entry.text) for entry in MANUALS])
    retriever = MultiGranularRetriever(store=store, k=1, granularity=granularity, parents="unit")
    (document,) = retriever.invoke(question)
    (headed,) = (retriever | with_headings).invoke(question)
    return headed.page_content, document.page_content, document.metadata["score"]


def llama_index(granularity: str, question: str) -> tuple[str, str, float]:
    index = VectorStoreIndex.from_vector_store(
        MultiGranularFaissVectorStore(), embed_model=EncoderEmbedding(HashEncoder())
    )
    index.insert_nodes(MultiGranularNodeParser(SENTENCES)([LlamaIndexDocument(text=entry.text) for entry in MANUALS]))
    (result,) = LlamaIndexRetriever(index, k=1, granularity=granularity, parents="unit").retrieve(question)
    assert result.score is not None
    return result.node.get_content(MetadataMode.LLM), result.node.get_content(MetadataMode.NONE), result.score


@pytest.mark.parametrize("granularity", TEXTS)
def test_how_long_is_the_warranty_of_the_x200(granularity: str) -> None:
    for name, question in QUESTIONS.items():
        headed, text, score = core(granularity, question)
        assert (headed, text) == (f"{name}: {TEXTS[granularity]}", TEXTS[granularity])
        for framework in (langchain, llama_index):
            assert framework(granularity, question) == (headed, text, pytest.approx(score, abs=1e-5))


def test_other_vector_stores_get_headings_where_they_are_asked_for() -> None:
    documents = PropositionTextSplitter(SENTENCES).split_documents([LangChainDocument(MANUALS[1].text)])
    assert documents[0].page_content == "The warranty lasts 24 months."
    headed = with_headings(documents)
    assert headed[0].page_content == "X200: The warranty lasts 24 months."
    assert (headed[0].id, headed[0].metadata) == (documents[0].id, documents[0].metadata)
    assert with_headings(headed) == headed
    assert with_headings(documents, "{text} ({title})")[0].page_content == "The warranty lasts 24 months. (X200)"
