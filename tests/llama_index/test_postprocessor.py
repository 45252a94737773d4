"""The node postprocessor: character indices, relationships, query engines, async."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from factoid import AnyGranularityRanker
from factoid.errors import InvalidInputError
from llama_index_factoid import AnyGranularityRerank
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
        assert (
            node.metadata.items() >= {"page": 7, "title": "Anna", "granularity": "sentence"}.items()
        )
        assert "passage_id" not in node.get_content(MetadataMode.LLM)


def test_nodes_come_back_in_a_new_order_with_their_best_sentence(
    chunks: list[NodeWithScore],
) -> None:
    found = rerank(parents="passage").postprocess_nodes(chunks, query_str="where was anna born")
    assert {one.node.node_id for one in found} == {chunk.node.node_id for chunk in chunks}
    for one in found:
        [match] = one.node.metadata["matches"]
        assert TEXT[match["start_char_idx"] : match["end_char_idx"]] == match["text"]
        assert match["granularity"] == "sentence"
        assert "matches" not in one.node.get_content(MetadataMode.LLM)
    assert all(chunk.score == 0.5 and "matches" not in chunk.node.metadata for chunk in chunks)


def test_it_needs_a_query(chunks: list[NodeWithScore]) -> None:
    with pytest.raises(InvalidInputError, match="pass query_str="):
        rerank().postprocess_nodes(chunks)
