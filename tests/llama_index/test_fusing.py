"""Retrievers that fuse the results of several queries or retrievers see one node where there is one."""

from __future__ import annotations

import pickle

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import IndexNode, MetadataMode, TextNode

from llama_index_factoid import EntityRetriever, MultiGranularFaissVectorStore, MultiGranularRetriever
from llama_index_factoid.convert import retrieved
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
    index = VectorStoreIndex.from_vector_store(MultiGranularFaissVectorStore(), embed_model=embed_model)
    documents = [
        Document(
            id_=animal.id, text=animal.page_content, metadata=animal.metadata, excluded_embed_metadata_keys=["home"]
        )
        for animal in ANIMALS
    ]
    index.insert_nodes(parser(documents))
    return index


@pytest.mark.parametrize("parents", ["passage", "unit"])
async def test_query_fusion_returns_each_node_once(index, parents):
    retriever = MultiGranularRetriever(index, k=4, parents=parents, expand=1, mode="default")
    several = [found.node.node_id for question in QUESTIONS for found in retriever.retrieve(question)]
    assert len(several) == 12 > len(set(several))
    llm = AsksAgain(questions=QUESTIONS[1:])
    fusion = QueryFusionRetriever([retriever], llm=llm, num_queries=3, similarity_top_k=12, use_async=False)
    fused = fusion.retrieve(QUESTIONS[0])
    assert sorted(found.node.node_id for found in fused) == sorted(set(several))
    assert [found.node.node_id for found in await fusion.aretrieve(QUESTIONS[0])] == [f.node.node_id for f in fused]
    key = "matches" if parents == "passage" else "neighbours"
    assert all(found.node.metadata[key][0]["text"] for found in fused)


def test_fusion_with_the_retriever_of_the_index(index):
    both = [MultiGranularRetriever(index, k=7), index.as_retriever(similarity_top_k=7)]
    fusion = QueryFusionRetriever(both, llm=MockLLM(), mode="reciprocal_rerank", num_queries=1, similarity_top_k=14)
    assert len(fusion.retrieve(QUESTIONS[0])) == 7


@pytest.mark.parametrize("kind", [TextNode, IndexNode, Document])
def test_a_node_of_any_kind_stays_what_it_is(kind):
    fields = {"index_id": "elsewhere"} if kind is IndexNode else {}
    stored = kind(id_="a", metadata={"page": 7, "matches": "three"}, **fields)
    stored.set_content("Ice floats.")
    first, second = (retrieved(stored, {"matches": [{"text": text}]}) for text in ("Ice", "floats"))
    assert first.metadata == {"page": 7, "source_matches": "three", "matches": [{"text": "Ice"}]}
    assert isinstance(first, kind)
    assert first.hash == second.hash
    assert first.get_content(MetadataMode.LLM) == stored.get_content(MetadataMode.LLM).replace(
        "matches", "source_matches"
    )
    for same in (pickle.loads(pickle.dumps(first)), first.model_copy(deep=True)):
        assert (same.node_id, same.metadata, same.hash) == (first.node_id, first.metadata, first.hash)
    plain = kind(id_="b", metadata={"page": 8}, **fields)
    assert retrieved(plain, {"matches": []}).hash == plain.hash != first.hash
    assert kind.from_dict(first.to_dict()).metadata == first.metadata


def test_an_entity_is_one_whatever_the_mention(tmp_path):
    article = Document(text="Tern is a controller.", metadata={"title": "Tern 40", "aliases": ["T40"]})
    retriever = EntityRetriever.from_documents([article], path=tmp_path / "articles.sqlite")
    fusion = QueryFusionRetriever(
        [retriever], llm=AsksAgain(questions=["How heavy is a T40?"]), num_queries=2, use_async=False
    )
    [fused] = fusion.retrieve("What is the Tern 40?")
    assert fused.node.metadata["mention"] == "Tern 40"
