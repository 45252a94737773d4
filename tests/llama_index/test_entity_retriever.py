"""The LlamaIndex class: metadata and what models see of it, fallbacks, query engines."""

from __future__ import annotations

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from llama_index_factoid import EncoderEmbedding, EntityRetriever
from tests.entities.rivers import RIVERS

GLOSSARY = [
    Document(text=river.text, metadata={"title": river.title, **river.metadata}) for river in RIVERS
]


class Rain(BaseRetriever):
    """Finds the same two nodes for every question."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(text=f"rain {n}", id_=f"rain {n}"), score=0.5)
            for n in (1, 2)
        ]


def test_models_see_the_metadata_of_the_article_alone() -> None:
    [arve] = EntityRetriever.from_documents(GLOSSARY).retrieve("How long is the Grey One?")
    assert arve.node.ref_doc_id == arve.node.node_id
    shown = arve.node.get_content(metadata_mode=MetadataMode.LLM)
    assert "length: 107" in shown
    assert "mention" not in shown


async def test_async_gives_the_same() -> None:
    retriever = EntityRetriever.from_documents(GLOSSARY, fallback=Rain(), hybrid=True, k=2)
    for question in ("Is the Arve long?", "Does it rain?"):
        assert await retriever.aretrieve(question) == retriever.retrieve(question) != []


def test_bad_input() -> None:
    with pytest.raises(InvalidInputError, match="fallback must be a LlamaIndex retriever, got str"):
        EntityRetriever.from_documents(GLOSSARY, fallback="bm25")
    with pytest.raises(InvalidInputError, match="k must be"):
        EntityRetriever.from_documents(GLOSSARY, k=0)
    with pytest.raises(InvalidInputError, match="expected LlamaIndex documents or nodes, got str"):
        EntityRetriever.from_documents(["No document."])  # type: ignore[list-item]


def test_a_fallback_over_the_same_documents_repeats_nothing() -> None:
    index = VectorStoreIndex.from_documents(GLOSSARY, embed_model=EncoderEmbedding(HashEncoder()))
    retriever = EntityRetriever.from_documents(
        GLOSSARY, fallback=index.as_retriever(similarity_top_k=4), hybrid=True
    )
    found = retriever.retrieve("Is the Arve long?")
    assert [node.node.metadata["title"] for node in found].count("Arve") == 1
    assert len(found) == 4
