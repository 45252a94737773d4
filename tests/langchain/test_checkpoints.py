"""What retrievers return is a plain document: it goes through LangGraph's checkpoints, pickles and
copies as one.
"""

from __future__ import annotations

import copy
import pickle
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from factoid import AnyGranularityRanker
from factoid.store import GRANULARITIES
from langchain_factoid import (
    AnyGranularityReranker,
    EntityRetriever,
    MultiGranularFAISS,
    MultiGranularRetriever,
)
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import KAKAPO, OLM
from tests.late_interaction.word_vectors import WordVectors

QUESTION = "Which animal has no eyes?"


@pytest.fixture
def store(embedding: HashEmbeddings) -> Iterator[MultiGranularFAISS]:
    with MultiGranularFAISS(embedding, granularities=GRANULARITIES) as opened:
        opened.add_documents([KAKAPO, OLM])
        yield opened


@pytest.fixture(params=["document", "passage", "unit", "entity", "reranked"])
def documents(
    request: pytest.FixtureRequest, store: MultiGranularFAISS, tmp_path: Path
) -> list[Document]:
    if request.param == "entity":
        articles = [Document(OLM.page_content, metadata={"title": "Olm"})]
        return EntityRetriever.from_documents(articles, path=tmp_path / "articles.sqlite").invoke(
            "What is the Olm?"
        )
    if request.param == "reranked":
        found = MultiGranularRetriever(store=store).invoke(QUESTION)
        ranker = AnyGranularityRanker(WordVectors())
        return [
            *AnyGranularityReranker(ranker=ranker, parents="passage").compress_documents(
                found, QUESTION
            )
        ]
    return MultiGranularRetriever(store=store, parents=request.param, expand=1).invoke(QUESTION)


def contents(documents: list[Document]) -> list[dict[str, Any]]:
    return [document.model_dump() for document in documents]


def test_it_is_a_document_and_no_class_of_ours(documents: list[Document]) -> None:
    assert documents
    assert {type(document) for document in documents} == {Document}
    for document in documents:
        copies = [copy.copy(document), copy.deepcopy(document), document.model_copy(deep=True)]
        copies.append(pickle.loads(pickle.dumps(document)))
        copies.append(Document.model_validate_json(document.model_dump_json()))
        for same in copies:
            assert type(same) is Document
            assert same == document
            assert same.metadata.items() == document.metadata.items()  # the score, too


@contextmanager
def saver(kind: str, path: Path) -> Iterator[Any]:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "strict":
        yield InMemorySaver(serde=strict)
    else:
        from langgraph.checkpoint.sqlite import SqliteSaver

        with closing(
            sqlite3.connect(path / "checkpoints.sqlite", check_same_thread=False)
        ) as connection:
            yield SqliteSaver(connection, serde=strict)


@pytest.mark.parametrize("kind", ["memory", "strict", "sqlite"])
def test_a_graph_that_was_interrupted_goes_on_with_the_documents(
    documents: list[Document], kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("langgraph.graph", reason="needs langgraph")
    if kind == "sqlite":
        pytest.importorskip(
            "langgraph.checkpoint.sqlite", reason="needs langgraph-checkpoint-sqlite"
        )
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        documents: list[Document]
        metadata: dict[str, Any]

    resumed: list[State] = []
    graph = StateGraph(State)
    graph.add_node(
        "retrieve", lambda _: {"documents": documents, "metadata": documents[0].metadata}
    )
    graph.add_node("answer", lambda state: resumed.append(state) or {})
    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "answer")
    graph.add_edge("answer", END)
    with saver(kind, tmp_path) as checkpointer:
        compiled = graph.compile(checkpointer=checkpointer, interrupt_before=["answer"])
        thread = {"configurable": {"thread_id": "1"}}
        compiled.invoke({"documents": [], "metadata": {}}, thread)
        compiled.invoke(None, thread)
    [state] = resumed
    assert {type(document) for document in state["documents"]} == {Document}
    assert state["documents"] == documents
    assert contents(state["documents"]) == contents(documents)
    assert state["metadata"] == documents[0].metadata
    assert "unregistered" not in caplog.text


def test_results_of_two_queries_are_one_document(store: MultiGranularFAISS) -> None:
    retriever = MultiGranularRetriever(store=store, k=2, parents="document")
    first, second = (
        {document.id: document for document in retriever.invoke(query)}
        for query in (QUESTION, "olm")
    )
    assert first[OLM.id].metadata["score"] != second[OLM.id].metadata["score"]
    assert (
        first[OLM.id] != second[OLM.id]
    ) is False  # dicts have an operator of their own for this
    stored = store.get_by_ids([OLM.id])[0]
    assert first[OLM.id] == second[OLM.id] == stored == first[OLM.id]
    assert first[OLM.id] != first[KAKAPO.id]
    assert first[OLM.id].metadata != {}


def test_fusing_retrievers_return_each_document_once(store: MultiGranularFAISS) -> None:
    from langchain_classic.retrievers import EnsembleRetriever, MergerRetriever
    from langchain_classic.retrievers.multi_query import _unique_documents

    retrievers: list[BaseRetriever] = [
        MultiGranularRetriever(store=store, k=2, parents="document"),
        MultiGranularRetriever(store=store, k=2, parents="document", granularity="sentence"),
    ]
    ensemble = EnsembleRetriever(retrievers=retrievers, weights=[0.5, 0.5]).invoke(QUESTION)
    assert sorted(document.id or "" for document in ensemble) == sorted([KAKAPO.id, OLM.id])
    merged = MergerRetriever(retrievers=retrievers).invoke(QUESTION)
    assert len(merged) == 4
    assert len(_unique_documents(merged)) == 2
