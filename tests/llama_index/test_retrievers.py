from __future__ import annotations

import asyncio

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import Document, MetadataMode, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from factoid.errors import InvalidInputError
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularRetriever
from tests.llama_index.nodes import TEXTS


@pytest.fixture
def index(embed_model, parser):
    store = MultiGranularFaissVectorStore()
    index = VectorStoreIndex.from_vector_store(store, embed_model=embed_model)
    documents = [Document(text=text, id_=own, metadata={"about": own}) for own, text in TEXTS.items()]
    for document in documents:
        document.excluded_embed_metadata_keys = ["about"]
    index.insert_nodes(parser(documents))
    return index


def test_parents_with_their_matches(index, embed_model):
    found = MultiGranularRetriever(index, k=2).retrieve("Which tower leans?")
    assert [result.node.ref_doc_id for result in found] == ["pisa", "paris"]
    matches = found[0].node.metadata["matches"]
    assert [match["text"] for match in matches] == ["The tower of Pisa leans.", "It was finished in 1372."]
    assert matches[0]["score"] == found[0].score
    first = matches[0]
    assert first["granularity"] == "proposition"
    assert TEXTS["pisa"][first["start_char_idx"] : first["end_char_idx"]] in first["text"]
    assert index.vector_store.get_nodes([first["id"]])[0].text == first["text"]


def test_matches_reach_no_model_and_no_stored_node(index):
    result = MultiGranularRetriever(index, k=1).retrieve("Which tower leans?")[0]
    assert result.node.get_content(metadata_mode=MetadataMode.LLM) == f"about: pisa\n\n{TEXTS['pisa']}"
    assert result.node.get_content(metadata_mode=MetadataMode.EMBED) == TEXTS["pisa"]
    assert "matches" not in index.vector_store.get_nodes([result.node.node_id])[0].metadata


@pytest.mark.parametrize("granularity", ["passage", "sentence", "proposition"])
def test_units(index, granularity):
    found = MultiGranularRetriever(index, granularity=granularity, returns="units", k=3).retrieve("Eiffel built it")
    assert len(found) == 3
    assert {result.node.metadata["granularity"] for result in found} == {granularity}
    assert all("matches" not in result.node.metadata for result in found)
    assert "Eiffel built it." in found[0].node.text


def test_k_and_filters(index):
    assert len(MultiGranularRetriever(index).retrieve("tower")) == 3
    assert len(MultiGranularRetriever(index, k=1).retrieve("tower")) == 1
    only = MetadataFilters(filters=[MetadataFilter(key="about", value="cat")])
    found = MultiGranularRetriever(index, filters=only).retrieve("tower")
    assert [result.node.ref_doc_id for result in found] == ["cat"]


def test_from_store_with_a_model(index, embed_model):
    direct = MultiGranularRetriever(index.vector_store, embed_model).retrieve("Which tower leans?")
    assert direct == MultiGranularRetriever(index).retrieve("Which tower leans?")


async def test_async_gives_the_same(index):
    retriever = MultiGranularRetriever(index)
    assert await retriever.aretrieve("Which tower leans?") == retriever.retrieve("Which tower leans?")


async def test_async_awaits_the_model(index, embed_model, monkeypatch):
    monkeypatch.setattr(type(embed_model), "_get_query_embedding", None)
    turns = []

    async def slowly(self, query):
        await asyncio.sleep(0.01)
        turns.append(query)
        return [1.0] * 256

    monkeypatch.setattr(type(embed_model), "_aget_query_embedding", slowly)
    retriever = MultiGranularRetriever(index)
    await asyncio.gather(retriever.aretrieve("a"), retriever.aretrieve("b"))
    assert sorted(turns) == ["a", "b"]


def test_a_bundle_with_an_embedding_or_several_texts(index, embed_model):
    retriever = MultiGranularRetriever(index, k=1)
    embedding = embed_model.get_query_embedding("A cat sleeps")
    bundle = QueryBundle("Which tower leans?", embedding=embedding)
    assert retriever.retrieve(bundle)[0].node.ref_doc_id == "cat"
    several = QueryBundle("?", custom_embedding_strs=["cat", "sofa"])
    assert retriever.retrieve(several)[0].node.ref_doc_id == "cat"
    assert several.embedding is None


def test_neighbours_stand_with_the_node(index, embed_model):
    result = MultiGranularRetriever(index, k=1, expand=1).retrieve("Which tower leans?")[0]
    around = result.node.metadata["neighbours"]
    assert [each["text"] for each in around] == ["The tower of Pisa leans.", "It was finished in 1372."]
    assert {each["granularity"] for each in around} == {"sentence"}
    assert "neighbours" not in MultiGranularRetriever(index, k=1).retrieve("Which tower leans?")[0].node.metadata
    assert "neighbours" not in result.node.get_content(metadata_mode=MetadataMode.LLM)
    unit = MultiGranularRetriever(index, k=1, expand=1, returns="units", granularity="sentence").retrieve(
        "Eiffel built it"
    )
    assert [each["text"] for each in unit[0].node.metadata["neighbours"]] == [
        "The tower of Paris is made of iron.",
        "Eiffel built it.",
    ]
    assert unit[0].node.get_content(metadata_mode=MetadataMode.EMBED) == "Eiffel built it."


async def test_options_of_the_search(index):
    found = MultiGranularRetriever(index, k=3, min_score=0.3).retrieve("Which tower leans?")
    scores = [result.score for result in MultiGranularRetriever(index, k=3).retrieve("Which tower leans?")]
    assert [result.score for result in found] == [score for score in scores if score >= 0.3]
    assert 0 < len(found) < 3
    mixed = MultiGranularRetriever(index, k=3, granularity="mixed", search_kwargs={"fusion": "max"})
    assert mixed.retrieve("tower")[0].score == max(
        MultiGranularRetriever(index, k=1, granularity=kind).retrieve("tower")[0].score
        for kind in ("passage", "sentence", "proposition")
    )
    diverse = MultiGranularRetriever(index, k=3, mode="mmr", search_kwargs={"mmr_threshold": 0.1})
    assert {result.node.ref_doc_id for result in await diverse.aretrieve("tower")} == set(TEXTS)
    with pytest.raises(InvalidInputError, match="unknown options"):
        MultiGranularRetriever(index, search_kwargs={"fussion": "max"}).retrieve("tower")
    with pytest.raises(InvalidInputError, match="unknown mode 'hybird'"):
        MultiGranularRetriever(index, mode="hybird")


def test_inside_a_fusion_retriever(index):
    fusion = QueryFusionRetriever(
        [MultiGranularRetriever(index), MultiGranularRetriever(index, granularity="sentence")],
        num_queries=1,
        use_async=False,
        llm=MockLLM(),
        similarity_top_k=2,
    )
    assert fusion.retrieve("Which tower leans?")[0].node.ref_doc_id == "pisa"


def test_bad_input(index, embed_model):
    with pytest.raises(InvalidInputError, match="got SimpleVectorStore"):
        MultiGranularRetriever(VectorStoreIndex([], embed_model=embed_model))
    for options, message in [
        ({"k": 0}, "at least 1, got 0"),
        ({"k": "2"}, "whole number, got '2'"),
        ({"granularity": "word"}, "unknown granularity"),
        ({"granularity": "document"}, "no index of documents"),
        ({"returns": "both"}, "returns must be one of parents, units"),
        ({"mode": "nearest"}, "unknown mode 'nearest'"),
        ({"mode": "sparse"}, "does not answer mode 'sparse'"),
        ({"filters": {"about": "cat"}}, "filters must be MetadataFilters, got dict"),
        ({"search_kwargs": {"nprobe": 3}}, r"unknown options \['nprobe'\]"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            MultiGranularRetriever(index, **options)
    assert MultiGranularRetriever(index).retrieve("") != []
