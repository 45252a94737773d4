"""Both frameworks, one behaviour: the same corpus and queries give the same parents, scores and matches."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext, VectorStoreIndex

import langchain_factoid
import llama_index_factoid
from factoid import SyntaxPropositionizer
from factoid.propositions import Propositionizer
from factoid.testing import HashEncoder, ScriptedPropositionizer

# One paragraph each, so that LangChain's parent (the document) and LlamaIndex's (the passage) are the same text.
CORPUS = [
    "The Vasa was a large Swedish warship that sank on its maiden voyage in Stockholm harbour in 1628. It was raised in 1961.",
    "Anna Berg was born in the old town of Oslo in 1900 and moved to a small flat in Berlin in 1925.",
    "The Fram, a wooden polar ship designed by the Scottish-Norwegian shipwright Colin Archer, drifted across the Arctic.",
    "A kakapo is a large flightless parrot of New Zealand. It climbs well, and males boom at night to attract females.",
    "Oslo is the capital of Norway, while Stockholm is the capital of Sweden and lies on fourteen islands.",
    "Short.",
    "The Fram and the Vasa are both shown in museums: one in Oslo, the other in Stockholm.",
]
QUERIES = [
    "Who designed the Fram?",
    "Which warship sank in Stockholm?",
    "flightless parrot",
    "capital of Norway",
    "xyz",
]
PROPOSITIONIZERS = [
    SyntaxPropositionizer(min_words=0),
    ScriptedPropositionizer(lambda passage: [f"{sentence}." for sentence in passage.text.split(". ")]),
]


Found = list[tuple[str, float, list[tuple[str, float]]]]


@cache
def langchain_store(propositionizer: Propositionizer) -> langchain_factoid.MultiGranularFAISS:
    embeddings = langchain_factoid.EncoderEmbeddings(HashEncoder())
    store = langchain_factoid.MultiGranularFAISS(embeddings, propositionizer=propositionizer)
    store.add_documents([LangChainDocument(text) for text in CORPUS])
    return store


def langchain(propositionizer: Propositionizer, query: str, k: int, granularity: str, parents: str) -> Found:
    store = langchain_store(propositionizer)
    retriever = langchain_factoid.MultiGranularRetriever(store=store, k=k, granularity=granularity, parents=parents)
    return [
        (
            document.page_content,
            document.metadata["score"],
            [(match["text"], match["score"]) for match in document.metadata.get("matches", [])],
        )
        for document in retriever.invoke(query)
    ]


@cache
def llama_index_index(propositionizer: Propositionizer) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [LlamaIndexDocument(text=text) for text in CORPUS],
        storage_context=StorageContext.from_defaults(vector_store=llama_index_factoid.MultiGranularFaissVectorStore()),
        transformations=[llama_index_factoid.MultiGranularNodeParser(propositionizer=propositionizer)],
        embed_model=llama_index_factoid.EncoderEmbedding(HashEncoder()),
    )


def llama_index(propositionizer: Propositionizer, query: str, k: int, granularity: str, parents: str) -> Found:
    retriever = llama_index_factoid.MultiGranularRetriever(
        llama_index_index(propositionizer),
        llama_index_factoid.EncoderEmbedding(HashEncoder()),
        k=k,
        granularity=granularity,
        parents=parents,
    )
    return [
        (
            found.node.get_content(),
            found.score,
            [(match["text"], match["score"]) for match in found.node.metadata.get("matches", [])],
        )
        for found in retriever.retrieve(query)
    ]


def rounded(found: Found) -> list[tuple[float, str, list[tuple[float, str]]]]:
    """Return results with scores to five digits; of equal scores in order of the text, since ties have no order; no zeros."""
    results = [(round(score, 5), text, matches) for text, score, matches in found if round(score, 5)]
    return sorted(
        ((score, text, sorted((round(own, 5), match) for match, own in matches)) for score, text, matches in results),
        key=lambda result: (-result[0], result[1]),
    )


@pytest.mark.parametrize("propositionizer", PROPOSITIONIZERS, ids=["syntax", "scripted"])
@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("granularity", ["passage", "sentence", "proposition"])
def test_the_same_hits(granularity: str, parents: str, propositionizer: Propositionizer) -> None:
    for query in QUERIES[:4]:
        one = langchain(propositionizer, query, 3, granularity, parents)
        other = llama_index(propositionizer, query, 3, granularity, parents)
        assert rounded(one) == rounded(other)
        assert len(one) == 3


def test_all_of_them_in_the_same_order_by_score() -> None:
    for query in QUERIES:
        one = langchain(PROPOSITIONIZERS[0], query, 100, "proposition", "passage")
        other = llama_index(PROPOSITIONIZERS[0], query, 100, "proposition", "passage")
        assert {text for text, *_ in one} == {text for text, *_ in other} == set(CORPUS)
        assert [round(score, 5) for _, score, _ in one] == [round(score, 5) for _, score, _ in other]


def test_an_encoder_of_the_core_keeps_its_name() -> None:
    """So that the core, the command line and LangChain open each other's stores."""
    name = HashEncoder().name
    back = langchain_factoid.EmbeddingsEncoder(langchain_factoid.EncoderEmbeddings(HashEncoder()))
    assert back.name == name
    assert llama_index_factoid.EmbeddingEncoder(llama_index_factoid.EncoderEmbedding(HashEncoder())).name == name
