"""What comes back is a plain node of LlamaIndex: it goes through pickles, JSON, workflows,
docstores, pipelines as one.
"""

from __future__ import annotations

import copy
import pickle

import pytest
from llama_index.core import Document, VectorStoreIndex, get_response_synthesizer
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.schema import Document as TextDocument
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from workflows.context.serializers import JsonSerializer, PickleSerializer

from factoid import AnyGranularityRanker, UnitStore
from factoid import Document as CoreDocument
from factoid.testing import HashEncoder
from llama_index_factoid import (
    AnyGranularityRerank,
    EntityRetriever,
    MultiGranularFaissVectorStore,
    MultiGranularRetriever,
    matches_of,
    span_of,
)
from tests.late_interaction.word_vectors import WordVectors
from tests.llama_index.nodes import TEXTS

DUPLICATES = DocstoreStrategy.DUPLICATES_ONLY
QUESTION = "Which tower leans?"
OTHER = "What was finished in 1372?"


@pytest.fixture
def index(embed_model, parser):
    index = VectorStoreIndex.from_vector_store(
        MultiGranularFaissVectorStore(), embed_model=embed_model
    )
    index.insert_nodes(parser([Document(id_=own, text=text) for own, text in TEXTS.items()]))
    return index


def retrieved(kind, index, question=QUESTION, folder=None):
    if kind == "entity":
        articles = [Document(text="Tern is a controller.", metadata={"title": "Tern 40"})]
        retriever = EntityRetriever.from_documents(articles, path=folder / "articles.sqlite")
        return retriever.retrieve("What is a Tern 40?")
    if kind == "reranked":
        found = MultiGranularRetriever(index).retrieve(question)
        return AnyGranularityRerank(ranker=AnyGranularityRanker(WordVectors())).postprocess_nodes(
            found, query_str=question
        )
    return MultiGranularRetriever(index, parents=kind, expand=1).retrieve(question)


@pytest.fixture(params=["passage", "unit", "reranked", "entity"])
def results(request, index, tmp_path):
    return retrieved(request.param, index, folder=tmp_path)


def test_it_is_a_node_and_no_class_of_ours(results):
    assert results
    for result in results:
        assert type(result) is NodeWithScore
        node = result.node
        assert type(node) is TextNode
        assert set(node.to_dict()) == set(TextNode(text="").to_dict())  # no fields of ours
        copies = [copy.copy(node), copy.deepcopy(node), node.model_copy(deep=True)]
        for same in copies:
            assert same.hash == node.hash
        copies += [
            pickle.loads(pickle.dumps(node)),
            TextNode.from_dict(node.to_dict()),
            TextNode.from_json(node.to_json()),
        ]
        for same in copies:
            assert type(same) is TextNode
            assert same == node
            assert matches_of(same) == matches_of(node)


@pytest.mark.parametrize(
    "serializer", [JsonSerializer(), PickleSerializer()], ids=lambda each: type(each).__name__
)
def test_workflows_keep_it_in_their_context(results, serializer):
    nodes = [
        result.node for result in results
    ]  # LlamaIndex cannot read a NodeWithScore back, whoever made it
    written = serializer.serialize({"nodes": nodes})
    again = serializer.deserialize(written)["nodes"]
    assert again == nodes
    assert {type(node) for node in again} == {TextNode}


def test_docstores_and_pipelines_take_it(results, index, embed_model):
    nodes = [result.node for result in results]
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    again = SimpleDocumentStore.from_dict(docstore.to_dict())
    for node in nodes:
        assert again.get_node(node.node_id) == node
    passed = IngestionPipeline(
        transformations=[embed_model], docstore=SimpleDocumentStore(), docstore_strategy=DUPLICATES
    ).run(nodes=nodes)
    assert [node.text for node in passed] == [node.text for node in nodes]
    plain = VectorStoreIndex(nodes=nodes, embed_model=embed_model)
    assert plain.as_retriever(similarity_top_k=1).retrieve(QUESTION)[0].node.text in {
        node.text for node in nodes
    }


def test_synthesizers_show_models_the_text_and_not_what_was_found_out_about_it(results):
    answer = str(get_response_synthesizer(llm=MockLLM()).synthesize(QUESTION, nodes=results))
    assert results[0].node.text in answer
    assert "'score'" not in answer
    assert "matches" not in answer


@pytest.mark.parametrize("kind", ["passage", "unit", "reranked"])
def test_two_questions_find_one_node(kind, index):
    one, other = (retrieved(kind, index, question) for question in (QUESTION, OTHER))
    hashes = {result.node.node_id: result.node.hash for result in one}
    shared = [result.node for result in other if result.node.node_id in hashes]
    assert shared or kind == "reranked"
    assert all(node.hash == hashes[node.node_id] for node in shared)


def test_facts_and_places_are_typed_records(index):
    [first, *_] = MultiGranularRetriever(index, k=2).retrieve(QUESTION)
    assert span_of(first.node) == (0, len(TEXTS["pisa"]))
    best = matches_of(first)[0]
    assert TEXTS["pisa"][best["start"] : best["end"]] == best["text"] == "The tower of Pisa leans."
    assert best["granularity"] == "proposition"
    assert matches_of(first) == matches_of(first.node)
    assert matches_of(TextNode(text="x")) == []
    assert span_of(TextNode(text="x")) is None


def test_documents_stay_documents(embed_model):
    with UnitStore(encoder=HashEncoder()) as filled:
        filled.add_documents([CoreDocument(text, id=own) for own, text in TEXTS.items()])
        with MultiGranularFaissVectorStore() as store:
            store.client.merge(filled)
            found = MultiGranularRetriever(store, embed_model, k=2, parents="document").retrieve(
                QUESTION
            )
    assert {type(result.node) for result in found} == {TextDocument}
    assert found[0].node.node_id == "pisa"
    again = TextDocument.from_dict(found[0].node.to_dict())
    assert again.text == TEXTS["pisa"]
    assert matches_of(again) == matches_of(found[0]) != []


def test_a_reranked_fact_says_nothing_of_the_passage_that_was_found(index):
    found = MultiGranularRetriever(index, expand=1).retrieve(QUESTION)
    ranker = AnyGranularityRanker(WordVectors())
    facts = AnyGranularityRerank(ranker=ranker).postprocess_nodes(found, query_str=QUESTION)
    assert not {"matches", "neighbours"} & {key for fact in facts for key in fact.node.metadata}
    passages = AnyGranularityRerank(ranker=ranker, parents="passage").postprocess_nodes(
        found, query_str=QUESTION
    )
    assert all(passage.node.metadata["neighbours"] for passage in passages)
    assert not any("source_matches" in passage.node.metadata for passage in passages)
