from __future__ import annotations

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import Document, MetadataMode
from llama_index.core.vector_stores import VectorStoreQuery

from factoid import Weights
from factoid.errors import InvalidInputError
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularRetriever
from tests.llama_index.nodes import TEXTS


@pytest.fixture
def index(embed_model, parser):
    store = MultiGranularFaissVectorStore()
    index = VectorStoreIndex.from_vector_store(store, embed_model=embed_model)
    documents = [
        Document(text=text, id_=name, metadata={"about": name}) for name, text in TEXTS.items()
    ]
    for document in documents:
        document.excluded_embed_metadata_keys = ["about"]
    index.insert_nodes(parser(documents))
    return index


def test_parents_with_their_matches(index, embed_model):
    found = MultiGranularRetriever(index, k=2).retrieve("Which tower leans?")
    assert [result.node.ref_doc_id for result in found] == ["pisa", "paris"]
    matches = found[0].node.metadata["matches"]
    assert [match["text"] for match in matches] == [
        "The tower of Pisa leans.",
        "It was finished in 1372.",
    ]
    assert 0 < matches[0]["score"] != found[0].score
    first = matches[0]
    assert first["granularity"] == "proposition"
    assert TEXTS["pisa"][first["start_char_idx"] : first["end_char_idx"]] in first["text"]
    assert index.vector_store.get_nodes([first["id"]])[0].text == first["text"]


def test_matches_reach_no_model_and_no_stored_node(index):
    result = MultiGranularRetriever(index, k=1).retrieve("Which tower leans?")[0]
    assert (
        result.node.get_content(metadata_mode=MetadataMode.LLM) == f"about: pisa\n\n{TEXTS['pisa']}"
    )
    assert result.node.get_content(metadata_mode=MetadataMode.EMBED) == TEXTS["pisa"]
    assert "matches" not in index.vector_store.get_nodes([result.node.node_id])[0].metadata


async def test_async_awaits_the_model(index, embed_model, monkeypatch):
    embedding, expected = (
        embed_model.get_query_embedding("tower"),
        MultiGranularRetriever(index).retrieve("tower"),
    )

    async def awaited(self, query):
        return embedding

    monkeypatch.setattr(type(embed_model), "_get_query_embedding", None)
    monkeypatch.setattr(type(embed_model), "_aget_query_embedding", awaited)
    assert await MultiGranularRetriever(index).aretrieve("tower") == expected


@pytest.mark.parametrize("parents", ["passage", "unit"])
def test_what_a_user_may_read(index, parents):
    def sources(**options):
        found = MultiGranularRetriever(index, parents=parents, **options).retrieve("tower")
        return {result.node.ref_doc_id for result in found}

    assert sources(doc_ids=["cat", "paris"]) == {"cat", "paris"}
    assert sources(node_ids=[index.vector_store.get_nodes()[0].node_id]) == {"pisa"}
    assert sources(doc_ids=[]) == sources(node_ids=[]) == set()
    assert index.as_retriever(doc_ids=[]).retrieve("tower") == []
    assert index.as_retriever(vector_store_kwargs={"node_ids": []}).retrieve("tower") == []
    assert len(index.as_retriever().retrieve("tower")) == 2


@pytest.mark.parametrize("mode", ["sparse", "text_search", "hybrid"])
async def test_words_count_in_their_modes(index, mode):
    by_framework = index.as_retriever(vector_store_query_mode=mode, similarity_top_k=1)
    for retriever in (by_framework, MultiGranularRetriever(index, k=1, mode=mode)):
        found = retriever.retrieve("the leaning tower of Pisa")
        assert [result.node.ref_doc_id for result in found] == ["pisa"]
        assert await retriever.aretrieve("the leaning tower of Pisa") == found
    [alone] = MultiGranularRetriever(index, k=1, mode="hybrid", lexical=1.0).retrieve("Pisa")
    assert alone.node.ref_doc_id == "pisa"
    assert alone.score is not None
    assert 0.7 < alone.score < 1  # it has all words of the question


def test_alpha_is_the_share_of_vectors(index):
    query = VectorStoreQuery(
        index._embed_model.get_query_embedding("tower"),
        2,
        query_str="tower",
        mode="hybrid",
        alpha=0.25,
    )
    result = index.vector_store.query(query)
    same = index.vector_store.query(query, weights=Weights(lexical=0.75))
    assert result.similarities == same.similarities


def test_bad_input(index, embed_model):
    with pytest.raises(InvalidInputError, match="got SimpleVectorStore"):
        MultiGranularRetriever(VectorStoreIndex([], embed_model=embed_model))
    for options, message in [
        ({"similarity_top_k": 0}, "at least 1, got 0"),
        ({"granularity": "document"}, "no index of documents"),
        ({"mode": "svm"}, "does not answer mode 'svm'"),
        ({"filters": {"about": "cat"}}, "filters must be MetadataFilters, got dict"),
        ({"nprobe": 3}, "MultiGranularRetriever has no option 'nprobe': did you mean 'parameters'"),
    ]:
        with pytest.raises((InvalidInputError, TypeError), match=message):
            MultiGranularRetriever(index, **options).retrieve("tower")
    with pytest.raises(InvalidInputError, match="the query is empty or has no embedding"):
        MultiGranularRetriever(index).retrieve("")


def test_mmr_chooses_from_more_than_k(index):
    vector = index._embed_model.get_query_embedding("tower")
    for options, fetch_k in (({}, 8), ({"mmr_prefetch_k": 3}, 3)):
        query = VectorStoreQuery(vector, 2, mode="mmr", mmr_threshold=0.3)
        expected = index.vector_store.query(VectorStoreQuery(vector, 2), mmr=0.3, fetch_k=fetch_k)
        assert index.vector_store.query(query, **options) == expected


def test_what_was_found_is_added_elsewhere_without_the_query(index, embed_model):
    [result] = MultiGranularRetriever(index, k=1).retrieve("Which tower leans?")
    other = MultiGranularFaissVectorStore()
    VectorStoreIndex.from_vector_store(other, embed_model=embed_model).insert_nodes([result.node])
    [kept] = other.get_nodes()
    assert (kept.get_content(), kept.metadata["about"]) == (result.node.get_content(), "pisa")
    assert "matches" not in kept.metadata
