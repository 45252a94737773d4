"""Both frameworks and the core rank the same passages alike."""

from __future__ import annotations

from typing import Any

import pytest

from factoid.store import GRANULARITIES

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from llama_index.core import MockEmbedding
from llama_index.core.schema import NodeWithScore, TextNode

from factoid import AnyGranularityRanker
from factoid import Document as CoreDocument
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from langchain_factoid import AnyGranularityReranker, MultiGranularFAISS
from llama_index_factoid import AnyGranularityRerank, MultiGranularRetriever
from tests.late_interaction.word_vectors import WordVectors
from tests.test_parity import (
    CORPUS,
    QUERIES,
    langchain,
    langchain_store,
    llama_index,
    llama_index_index,
    rounded,
)

METADATA = [{"title": f"Title {place}", "page": place} for place in range(len(CORPUS))]


@pytest.mark.parametrize("parents", ["unit", "passage"])
@pytest.mark.parametrize("granularity", ["sentence", "proposition", "passage"])
def test_units_scores_and_places_are_the_same(granularity: str, parents: Any) -> None:
    ranker = AnyGranularityRanker(WordVectors())
    options: dict[str, Any] = {"granularity": granularity, "parents": parents, "k": 5}
    rows = list(zip(CORPUS, METADATA, strict=True))
    cores = [CoreDocument(text, title=row["title"]) for text, row in rows]
    documents = [Document(text, metadata=row) for text, row in rows]
    nodes = [NodeWithScore(node=TextNode(text=text, metadata=row)) for text, row in rows]
    for query in QUERIES[:3]:
        core = [
            (
                hit.unit.text,
                hit.score,
                hit.unit.start,
                [(one.unit.text, one.score) for one in hit.matches],
            )
            for hit in ranker.rank(query, cores, **options)
        ]
        langchain = [
            (
                document.page_content,
                document.metadata["score"],
                document.metadata.get("start_index", 0),
                [(match["text"], match["score"]) for match in document.metadata.get("matches", [])],
            )
            for document in AnyGranularityReranker(ranker=ranker, **options).compress_documents(
                documents, query
            )
        ]
        llama_index = [
            (
                one.node.get_content(),
                one.score,
                getattr(one.node, "start_char_idx", None) or 0,
                [(match["text"], match["score"]) for match in one.node.metadata.get("matches", [])],
            )
            for one in AnyGranularityRerank(ranker=ranker, **options).postprocess_nodes(
                nodes, query_str=query
            )
        ]
        assert core == langchain == llama_index
        assert len(core) == 5


@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("granularity", ["sentence", "proposition", "passage"])
def test_searches_that_are_ranked_again_are_the_same(granularity: str, parents: Any) -> None:
    ranker = AnyGranularityRanker(WordVectors())
    plain: dict[str, Any] = {
        "granularity": granularity,
        "parents": parents,
        "k": 5,
        "candidates": 6,
    }
    options = plain | {"rerank": ranker}
    for query in QUERIES[:3]:
        one, other = langchain(query, **options), llama_index(query, **options)
        assert rounded(one) == rounded(other)
        assert len(one) == 5
    assert [text for text, *_ in langchain(query, **options)] != [
        text for text, *_ in langchain(query, **plain)
    ]
    assert max(score for _, score, *_ in one) > 2  # no cosine


@pytest.mark.parametrize("parents", ["passage", "unit"])
def test_reranking_by_tokens_is_one_word_in_every_way_in(parents: Any) -> None:
    options: dict[str, Any] = {"parents": parents, "k": 5, "rerank": "tokens"}
    for query in QUERIES[:3]:
        one, other = langchain(query, **options), llama_index(query, **options)
        assert rounded(one) == rounded(other)
        hits = langchain_store().store.search(query, **options)
        assert [score for _, score, *_ in one] == [hit.score for hit in hits]
        assert all("tokens" in hit.parts for hit in hits)
        retriever = langchain_store().as_retriever(search_kwargs=options)
        assert [document.page_content for document in retriever.invoke(query)] == [
            text for text, *_ in one
        ]
        scored = langchain_store().similarity_search_with_relevance_scores(query, **options)
        assert all(0 <= relevance <= 1 for _, relevance in scored)
        by_model = {
            "rerank": HashEncoder(),
            "parents": parents,
        }  # the store of the index was given no model
        nodes = (
            llama_index_index()
            .as_retriever(similarity_top_k=5, vector_store_kwargs=by_model)
            .retrieve(query)
        )
        assert [node.score for node in nodes] == sorted(
            (node.score or 0 for node in nodes), reverse=True
        )
        assert len(nodes) == 5


def test_embeddings_without_tokens_are_told_what_to_do() -> None:
    store = MultiGranularFAISS(DeterministicFakeEmbedding(size=5), granularities=GRANULARITIES)
    store.add_texts(CORPUS)
    with pytest.raises(InvalidInputError, match="in LangChain as EncoderEmbeddings"):
        store.similarity_search("Who designed the Fram?", rerank="tokens")
    with pytest.raises(InvalidInputError, match="a store without an encoder does not give"):
        llama_index_index().as_retriever(vector_store_kwargs={"rerank": "tokens"}).retrieve(
            "Who designed the Fram?"
        )
    with pytest.raises(InvalidInputError, match="MockEmbedding does not give"):
        MultiGranularRetriever(llama_index_index(), MockEmbedding(5), rerank="tokens")
