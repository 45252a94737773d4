"""Retrievers that fuse the results of several queries or retrievers see one node where there is
one.
"""

from __future__ import annotations

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.retrievers import QueryFusionRetriever

from llama_index_factoid import (
    EntityRetriever,
    MultiGranularFaissVectorStore,
    MultiGranularRetriever,
)
from tests.langchain.test_fusing import ANIMALS, QUESTIONS


class AsksAgain(CustomLLM):
    """Writes the questions of a script, one on a line."""

    questions: list[str]

    @property
    def metadata(self):
        return LLMMetadata()

    def complete(self, prompt, formatted=False, **options):
        return CompletionResponse(text="\n".join(self.questions))

    def stream_complete(self, prompt, formatted=False, **options):
        raise NotImplementedError


@pytest.fixture
def index(embed_model, parser):
    index = VectorStoreIndex.from_vector_store(
        MultiGranularFaissVectorStore(), embed_model=embed_model
    )
    documents = [
        Document(
            id_=animal.id,
            text=animal.page_content,
            metadata=animal.metadata,
            excluded_embed_metadata_keys=["home"],
        )
        for animal in ANIMALS
    ]
    index.insert_nodes(parser(documents))
    return index


@pytest.mark.parametrize("parents", ["passage", "unit"])
async def test_query_fusion_returns_each_node_once(index, parents):
    retriever = MultiGranularRetriever(index, k=4, parents=parents, expand=1, lexical=0)
    several = [
        found.node.node_id for question in QUESTIONS for found in retriever.retrieve(question)
    ]
    assert len(several) == 12 > len(set(several))
    llm = AsksAgain(questions=QUESTIONS[1:])
    fusion = QueryFusionRetriever(
        [retriever], llm=llm, num_queries=3, similarity_top_k=12, use_async=False
    )
    fused = fusion.retrieve(QUESTIONS[0])
    assert sorted(found.node.node_id for found in fused) == sorted(set(several))
    assert [found.node.node_id for found in await fusion.aretrieve(QUESTIONS[0])] == [
        f.node.node_id for f in fused
    ]
    key = "matches" if parents == "passage" else "neighbours"
    assert all(found.node.metadata[key][0]["text"] for found in fused)


def test_an_entity_is_one_whatever_the_mention(tmp_path):
    article = Document(
        text="Tern is a controller.", metadata={"title": "Tern 40", "aliases": ["T40"]}
    )
    retriever = EntityRetriever.from_documents([article], path=tmp_path / "articles.sqlite")
    fusion = QueryFusionRetriever(
        [retriever],
        llm=AsksAgain(questions=["How heavy is a T40?"]),
        num_queries=2,
        use_async=False,
    )
    [fused] = fusion.retrieve("What is the Tern 40?")
    assert fused.node.metadata["mention"] == "Tern 40"
