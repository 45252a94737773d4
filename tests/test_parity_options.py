"""Both frameworks, one behaviour: the options of a search mean the same in both."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

import langchain_factoid
import llama_index_factoid
from factoid import SyntaxPropositionizer
from factoid.testing import HashEncoder
from tests.test_parity import CORPUS, QUERIES, Found, rounded

MARKED = [(text, {"place": place, "kind": "odd" if place % 2 else "even"}) for place, text in enumerate(CORPUS)]


@cache
def langchain_store() -> langchain_factoid.MultiGranularFAISS:
    embeddings = langchain_factoid.EncoderEmbeddings(HashEncoder())
    store = langchain_factoid.MultiGranularFAISS(embeddings, propositionizer=SyntaxPropositionizer(min_words=0))
    store.add_documents([LangChainDocument(text, metadata=metadata) for text, metadata in MARKED])
    return store


@cache
def llama_index_index() -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [LlamaIndexDocument(text=text, metadata=metadata) for text, metadata in MARKED],
        storage_context=StorageContext.from_defaults(vector_store=llama_index_factoid.MultiGranularFaissVectorStore()),
        transformations=[
            llama_index_factoid.MultiGranularNodeParser(
                propositionizer=SyntaxPropositionizer(min_words=0), include_metadata=True
            )
        ],
        embed_model=_TextsOnly(HashEncoder()),
    )


class _TextsOnly(llama_index_factoid.EncoderEmbedding):
    """Embeds the texts of nodes without their metadata, as LangChain does."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return super()._get_text_embeddings([text.split("\n\n")[-1] for text in texts])


def found_by_langchain(query: str, **options: Any) -> tuple[Found, list[list[str]]]:
    documents = langchain_factoid.MultiGranularRetriever(store=langchain_store(), **options).invoke(query)
    found = [
        (
            entry.page_content,
            entry.metadata["score"],
            [(m["text"], m["score"]) for m in entry.metadata.get("matches", [])],
        )
        for entry in documents
    ]
    return found, [[n["text"] for n in entry.metadata.get("neighbours", [])] for entry in documents]


def found_by_llama_index(query: str, **options: Any) -> tuple[Found, list[list[str]]]:
    embed_model = llama_index_factoid.EncoderEmbedding(HashEncoder())
    parents = options.pop("parents")
    retriever = llama_index_factoid.MultiGranularRetriever(llama_index_index(), embed_model, parents=parents, **options)
    nodes = retriever.retrieve(query)
    found = [
        (
            entry.node.get_content(),
            entry.score,
            [(m["text"], m["score"]) for m in entry.node.metadata.get("matches", [])],
        )
        for entry in nodes
    ]
    return found, [[n["text"] for n in entry.node.metadata.get("neighbours", [])] for entry in nodes]


ODD = MetadataFilters(filters=[MetadataFilter(key="kind", value="odd")])
EARLY = MetadataFilters(filters=[MetadataFilter(key="place", value=4, operator=FilterOperator.LT)])
PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"granularity": "mixed"}, {"granularity": "mixed"}),
    (
        {"granularity": ["passage", "sentence"], "search_kwargs": {"fusion": "max"}},
        {"granularity": ["passage", "sentence"], "search_kwargs": {"fusion": "max"}},
    ),
    ({"filter": {"kind": "odd"}}, {"filters": ODD}),
    ({"filter": {"place": {"$lt": 4}}, "granularity": "sentence"}, {"filters": EARLY, "granularity": "sentence"}),
    ({"min_score": 0.3}, {"min_score": 0.3}),
    ({"granularity": "passage", "min_score": 0.2}, {"granularity": "passage", "min_score": 0.2}),
    (
        {"search_type": "mmr", "lambda_mult": 0.3, "fetch_k": 99},
        {"mode": "mmr", "search_kwargs": {"mmr_threshold": 0.3, "mmr_prefetch_k": 99}},
    ),
]


@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("pair", PAIRS)
def test_options_mean_the_same(pair: tuple[dict[str, Any], dict[str, Any]], parents: Any) -> None:
    for query in QUERIES[:4]:
        one, _ = found_by_langchain(query, k=3, parents=parents, **pair[0])
        other, _ = found_by_llama_index(query, k=3, parents=parents, **pair[1])
        assert [round(score, 5) for _, score, _ in one] == [round(score, 5) for _, score, _ in other]
        if "granularity" not in pair[0]:  # else the same text at two granularities gives equal scores, in no order
            assert rounded(one) == rounded(other)
        elif parents == "passage":
            assert {text for text, *_ in one} == {text for text, *_ in other}


@pytest.mark.parametrize("parents", ["passage", "unit"])
def test_neighbours_are_the_same(parents: Any) -> None:
    options: dict[str, Any] = {"k": 1, "granularity": "sentence", "expand": 1}
    for query in QUERIES[:4]:
        one, around = found_by_langchain(query, parents=parents, **options)
        other, around_other = found_by_llama_index(query, parents=parents, **options)
        assert one[0][0] == other[0][0]
        assert around == around_other != [[]]
