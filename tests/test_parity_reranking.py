"""Both frameworks and the core rank the same passages alike."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import ValidationError

from factoid import AnyGranularityRanker
from factoid import Document as CoreDocument
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from langchain_factoid import AnyGranularityReranker, MultiGranularRetriever
from llama_index_factoid import AnyGranularityRerank, EncoderEmbedding, MultiGranularFaissVectorStore
from llama_index_factoid import MultiGranularRetriever as NodeRetriever
from tests.late_interaction.word_vectors import WordVectors
from tests.test_parity import CORPUS, QUERIES, langchain, langchain_store, llama_index, rounded

METADATA = [{"title": f"Title {place}", "page": place} for place in range(len(CORPUS))]


def test_the_defaults_are_the_same() -> None:
    ranker = AnyGranularityRanker(WordVectors())
    one, other = AnyGranularityReranker(ranker=ranker), AnyGranularityRerank(ranker=ranker)
    for name in ("granularity", "parents", "k"):
        assert getattr(one, name) == getattr(other, name)


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
            (hit.unit.text, hit.score, hit.unit.start, [(one.unit.text, one.score) for one in hit.matches])
            for hit in ranker.rank(query, cores, **options)
        ]
        langchain = [
            (
                document.page_content,
                document.metadata["score"],
                document.metadata.get("start_index", 0),
                [(match["text"], match["score"]) for match in document.metadata.get("matches", [])],
            )
            for document in AnyGranularityReranker(ranker=ranker, **options).compress_documents(documents, query)
        ]
        llama_index = [
            (
                one.node.get_content(),
                one.score,
                getattr(one.node, "start_char_idx", None) or 0,
                [(match["text"], match["score"]) for match in one.node.metadata.get("matches", [])],
            )
            for one in AnyGranularityRerank(ranker=ranker, **options).postprocess_nodes(nodes, query_str=query)
        ]
        assert core == langchain == llama_index
        assert len(core) == 5


@pytest.mark.parametrize("parents", ["passage", "unit"])
@pytest.mark.parametrize("granularity", ["sentence", "proposition", "passage"])
def test_searches_that_are_ranked_again_are_the_same(granularity: str, parents: Any) -> None:
    ranker = AnyGranularityRanker(WordVectors())
    options: dict[str, Any] = {"granularity": granularity, "parents": parents, "rerank": ranker, "k": 5}
    options["search_kwargs"] = {"candidates": 6}
    for query in QUERIES[:3]:
        one, other = langchain(query, **options), llama_index(query, **options)
        assert rounded(one) == rounded(other)
        assert len(one) == 5
    plain = {name: value for name, value in options.items() if name != "rerank"}
    assert [text for text, *_ in langchain(query, **options)] != [text for text, *_ in langchain(query, **plain)]
    assert max(score for _, score, *_ in one) > 2  # no cosine


@pytest.mark.parametrize("kind", [AnyGranularityReranker, AnyGranularityRerank])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"granularity": "document"}, "ranked as a passage"),
        ({"parents": "document"}, "'passage' or 'unit'"),
        ({"k": 0}, "greater than or equal to 1"),
        ({"ranker": "colbert"}, "AnyGranularityRanker"),
    ],
)
def test_fields_that_cannot_be(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        kind(**{"ranker": AnyGranularityRanker(WordVectors()), **options})


def test_a_rerankers_scores_are_no_relevance() -> None:
    ranker = AnyGranularityRanker(WordVectors())
    with pytest.raises(InvalidInputError, match="nor rerank gives them"):
        langchain_store().similarity_search_with_relevance_scores(QUERIES[0], rerank=ranker)
    with pytest.raises(ValueError, match="rerank"):
        MultiGranularRetriever(store=langchain_store(), rerank="colbert")


def test_nodes_of_other_parsers_are_ranked_as_they_are() -> None:
    """Each is its own only unit, whether its place in the source is known or not."""
    nodes = [TextNode(text=text, id_=str(place)) for place, text in enumerate(CORPUS)]
    nodes += [TextNode(text="The ship Fram lies in Oslo.", id_="placed", start_char_idx=70, end_char_idx=97)]
    index = VectorStoreIndex.from_vector_store(
        MultiGranularFaissVectorStore(), embed_model=EncoderEmbedding(HashEncoder())
    )
    index.insert_nodes(nodes)
    ranker = AnyGranularityRanker(WordVectors())
    expected = ranker.rank(QUERIES[0], [node.text for node in nodes], "passage")
    for kind in ("sentence", "proposition", "passage"):
        for parents in ("passage", "unit"):
            found = NodeRetriever(index, granularity=kind, parents=parents, rerank=ranker, k=20).retrieve(QUERIES[0])
            assert {one.node.node_id for one in found} == {node.node_id for node in nodes}
            if parents == "passage":
                assert [one.score for one in found] == pytest.approx([hit.score for hit in expected])
