"""The node postprocessor: character indices, relationships, query engines, async."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import ImageNode, MetadataMode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from factoid import AnyGranularityRanker
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from llama_index_factoid import AnyGranularityRerank, EncoderEmbedding
from tests.langchain.test_citations import OSLO, PARIS
from tests.late_interaction.word_vectors import WordVectors

TEXT = f"{OSLO} {PARIS}"


def rerank(**options: Any) -> AnyGranularityRerank:
    return AnyGranularityRerank(ranker=AnyGranularityRanker(WordVectors()), **options)


@pytest.fixture
def chunks() -> list[NodeWithScore]:
    document = Document(text=TEXT, metadata={"page": 7, "title": "Anna"}, id_="document")
    nodes = SentenceSplitter(chunk_size=25, chunk_overlap=0).get_nodes_from_documents([document])
    assert len(nodes) > 1
    return [NodeWithScore(node=node, score=0.5) for node in nodes]


def test_sentences_come_back_as_nodes_with_their_place(chunks: list[NodeWithScore]) -> None:
    found = rerank(k=None).postprocess_nodes(chunks, query_str="where was anna born")
    assert len(found) == 4
    ids = {chunk.node.node_id for chunk in chunks}
    for one in found:
        node = one.node
        assert isinstance(node, TextNode)
        assert TEXT[node.start_char_idx : node.end_char_idx] == node.text
        assert node.ref_doc_id == "document"
        assert node.parent_node is not None
        assert node.parent_node.node_id == node.metadata["passage_id"] in ids
        assert node.metadata.items() >= {"page": 7, "title": "Anna", "granularity": "sentence"}.items()
        assert "passage_id" not in node.get_content(MetadataMode.LLM)


def test_nodes_come_back_in_a_new_order_with_their_best_sentence(chunks: list[NodeWithScore]) -> None:
    found = rerank(parents="passage").postprocess_nodes(chunks, query_str="where was anna born")
    assert {one.node.node_id for one in found} == {chunk.node.node_id for chunk in chunks}
    for one in found:
        [match] = one.node.metadata["matches"]
        assert TEXT[match["start_char_idx"] : match["end_char_idx"]] == match["text"]
        assert match["granularity"] == "sentence"
        assert "matches" not in one.node.get_content(MetadataMode.LLM)
    assert all(chunk.score == 0.5 and "matches" not in chunk.node.metadata for chunk in chunks)


async def test_behind_a_retriever() -> None:
    document = Document(text=TEXT, metadata={"title": "Anna"})
    index = VectorStoreIndex.from_documents([document], embed_model=EncoderEmbedding(HashEncoder()))
    engine = RetrieverQueryEngine.from_args(index.as_retriever(), llm=MockLLM(), node_postprocessors=[rerank(k=2)])
    response = engine.query("Where was Anna born?")
    other = await engine.aquery("Where was Anna born?")
    assert len(response.source_nodes) == 2
    assert [one.node.get_content() for one in response.source_nodes] == [one.text for one in other.source_nodes]
    assert response.source_nodes[0].node.get_content() in str(response)


def test_a_node_whose_place_is_not_known() -> None:
    node = TextNode(text=TEXT, relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="document")})
    found = rerank(k=1).postprocess_nodes([NodeWithScore(node=node)], query_str="anna")[0].node
    assert isinstance(found, TextNode)
    assert (found.start_char_idx, found.end_char_idx) == (None, None)


def test_nodes_without_a_text_stay() -> None:
    nodes = [NodeWithScore(node=ImageNode(image_path="a.png", id_="image")), NodeWithScore(node=TextNode(text=TEXT))]
    assert "image" in {one.node.node_id for one in rerank(k=None).postprocess_nodes(nodes, query_str="anna")}
    assert rerank().postprocess_nodes([], query_str="anna") == []
    with pytest.raises(InvalidInputError, match="pass query_str="):
        rerank().postprocess_nodes(nodes)
