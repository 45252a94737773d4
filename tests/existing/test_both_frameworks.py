"""Both frameworks, one behaviour over stores of others: the same parents, scores, matches and filters."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import VectorStoreIndex
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.llms import MockLLM
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    SimpleVectorStore,
)

import langchain_factoid
import llama_index_factoid
from factoid import Weights
from factoid.errors import InvalidInputError
from factoid.filters import matches
from llama_index_factoid.convert import to_tree
from tests.existing.corpus import ENCODER, PROPOSITIONIZER, QUESTION, documents

# Left by stores that other files of the same process have opened.
pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

INDEXING = {"propositionizer": PROPOSITIONIZER, "unsupported": "keep"}
MODEL = llama_index_factoid.EncoderEmbedding(ENCODER)


@cache
def in_memory():
    store = InMemoryVectorStore(langchain_factoid.EncoderEmbeddings(ENCODER))
    retriever = langchain_factoid.MultiGranularRetriever(vectorstore=store, indexing=INDEXING)
    retriever.add_documents(
        [
            LangChainDocument(
                page_content=each.text, metadata={"title": each.title, **each.metadata}, id=each.id
            )
            for each in documents()
        ]
    )
    return store


@cache
def simple():
    store = SimpleVectorStore()
    retriever = llama_index(store)
    retriever.add_documents(
        [
            LlamaIndexDocument(
                text=each.text, metadata={"title": each.title, **each.metadata}, id_=each.id
            )
            for each in documents()
        ]
    )
    return store


def llama_index(store, **options):
    return llama_index_factoid.MultiGranularRetriever(
        vectorstore=store, embed_model=MODEL, indexing=INDEXING, **options
    )


def rounded(results):
    """Return texts and scores; of equal scores in order of the text."""
    found = []
    for text, score, metadata in results:
        facts = sorted(
            (round(match["score"], 5), match["text"]) for match in metadata.get("matches", [])
        )
        found.append((round(score, 5), text, facts))
    return sorted(found)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weights": Weights(0, 0)},
        {"lexical": 1},
        {"parents": "passage"},
        {"parents": "document"},
        {"granularity": "passage"},
        {"min_score": 0.1},
    ],
    ids=str,
)
def test_the_same_results(options):
    store = in_memory()
    found = langchain_factoid.MultiGranularRetriever(vectorstore=store, k=25, **options).invoke(
        QUESTION
    )
    nodes = llama_index(simple(), k=25, **options).retrieve(QUESTION)
    expected = rounded((each.page_content, each.metadata["score"], each.metadata) for each in found)
    assert expected
    assert (
        rounded((each.node.get_content(), each.score, each.node.metadata) for each in nodes)
        == expected
    )


OPERATORS = [
    MetadataFilter(key="tenant", operator=FilterOperator.EQ, value="a"),
    MetadataFilter(key="tenant", operator=FilterOperator.NE, value="a"),
    MetadataFilter(key="number", operator=FilterOperator.GT, value=20),
    MetadataFilter(key="share", operator=FilterOperator.LTE, value=2.5),
    MetadataFilter(key="tenant", operator=FilterOperator.IN, value=["b", "c"]),
    MetadataFilter(key="number", operator=FilterOperator.NIN, value=[1, 2]),
    MetadataFilter(key="tags", operator=FilterOperator.CONTAINS, value="tag1"),
    MetadataFilter(key="tags", operator=FilterOperator.ANY, value=["tag1", "tag2"]),
    MetadataFilter(key="tags", operator=FilterOperator.ALL, value=["tag1", "all"]),
    MetadataFilter(key="note", operator=FilterOperator.TEXT_MATCH, value="néw"),
    MetadataFilter(key="note", operator=FilterOperator.TEXT_MATCH_INSENSITIVE, value="NÉW"),
    MetadataFilter(key="note", operator=FilterOperator.IS_EMPTY, value=None),
]


@pytest.mark.parametrize("condition", OPERATORS, ids=lambda each: each.operator.name)
def test_the_operators_of_llama_index(condition):
    filters = MetadataFilters(filters=[condition])
    expected = {each.id for each in documents() if matches(to_tree(filters), each.metadata)}
    assert 0 < len(expected) < 25
    nodes = llama_index(simple(), k=25, filters=filters).retrieve(QUESTION)
    assert {each.node.ref_doc_id or each.node.node_id for each in nodes} == expected


def test_nested_filters():
    inner = MetadataFilters(filters=OPERATORS[2:4], condition=FilterCondition.OR)
    filters = MetadataFilters(filters=[OPERATORS[0], inner])
    expected = {each.id for each in documents() if matches(to_tree(filters), each.metadata)}
    nodes = llama_index(simple(), k=25, filters=filters, filter={"number": {"$gte": 0}}).retrieve(
        QUESTION
    )
    assert {each.node.ref_doc_id or each.node.node_id for each in nodes} == expected - {"crowd"}


async def test_awaited_and_given_vectors():
    retriever = llama_index(simple(), k=5)
    expected = retriever.retrieve(QUESTION)
    assert await retriever.aretrieve(QUESTION) == expected
    bundle = QueryBundle(QUESTION, embedding=MODEL.get_query_embedding(QUESTION))
    assert retriever.retrieve(bundle) == expected


def test_models_get_the_text_alone():
    [first, *_] = llama_index(simple(), k=1).retrieve("weather of place7")
    assert "factoid" not in first.node.get_content(metadata_mode="llm")
    assert "factoid" not in str(first.node.metadata)
    answer = RetrieverQueryEngine.from_args(llama_index(simple(), k=1), llm=MockLLM()).query(
        "weather of place7"
    )
    assert "Ledger page 7" in str(answer)


def test_an_index_over_the_store_is_one():
    index = VectorStoreIndex([], embed_model=MODEL)
    retriever = llama_index_factoid.MultiGranularRetriever(vectorstore=index, indexing=INDEXING)
    assert retriever.existing.collection.store is index.vector_store


@pytest.mark.parametrize("options", [{"mode": "linear_regression"}, {"node_ids": ["a"]}], ids=str)
def test_what_needs_a_store_of_ours_is_refused(options):
    with pytest.raises(InvalidInputError, match=r"it needs a store of factoid|there is no mode"):
        llama_index(simple(), **options)


def test_both_or_neither():
    with pytest.raises(InvalidInputError, match="or vectorstore="):
        llama_index_factoid.MultiGranularRetriever()
    with pytest.raises(
        InvalidInputError, match="must be a LlamaIndex vector store or a VectorStoreIndex"
    ):
        llama_index_factoid.MultiGranularRetriever(vectorstore="chroma", embed_model=MODEL)
