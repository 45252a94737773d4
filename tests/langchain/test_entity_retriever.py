"""The LangChain class: LangChain's own suite, metadata, fallbacks with their callbacks, chains."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from factoid.errors import InvalidInputError, UnreadableFileError
from langchain_factoid import EntityRetriever
from tests.entities.rivers import RIVERS

GLOSSARY = [
    Document(
        page_content=river.text, metadata={"title": river.title, **river.metadata}, id=river.title
    )
    for river in RIVERS
]


class TestStandard(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[EntityRetriever]:
        return EntityRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"articles": EntityRetriever.from_documents(GLOSSARY).articles}

    @property
    def retriever_query_example(self) -> str:
        return "Which of the Arve, the Sorne in the north, the Sorne in the south and the Kembs Canal is longest?"


class Rain(BaseRetriever):
    """Finds the same two documents for every question."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content=f"rain {number}", id=f"rain {number}") for number in (1, 2)]


async def test_k_and_words_of_one_call() -> None:
    retriever = EntityRetriever.from_documents(GLOSSARY, fallback=Rain(), hybrid=True)
    found = retriever.invoke("Is the Arve long?", k=2, words=3)
    assert [document.page_content for document in found] == ["Arve\nThe Arve rises", "rain 1"]
    assert await retriever.ainvoke("Is the Arve long?", k=2, words=3) == found
    assert await retriever.ainvoke("Does it rain?") == retriever.invoke("Does it rain?") != []


def test_the_fallback_is_traced_below_this_retriever() -> None:
    runs: dict[Any, Any] = {}

    class Trace(BaseCallbackHandler):
        def on_retriever_start(self, *_: Any, run_id: Any, parent_run_id: Any, **__: Any) -> None:
            runs[run_id] = parent_run_id

    EntityRetriever.from_documents(GLOSSARY, fallback=Rain()).invoke(
        "Does it rain?", {"callbacks": [Trace()]}
    )
    outer, inner = runs
    assert (runs[outer], runs[inner]) == (None, outer)


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="there is no article store"):
        EntityRetriever(articles=tmp_path / "none.sqlite")
    store = EntityRetriever.from_documents(GLOSSARY).articles
    for options in ({"k": 0}, {"hybrid": True}, {"ambiguous": "x"}):
        with pytest.raises(ValidationError):
            EntityRetriever(articles=store, **options)
    with pytest.raises(InvalidInputError, match="title"):
        EntityRetriever.from_documents([Document("No name.")])
    with pytest.raises(
        InvalidInputError, match=r"expected langchain_core\.documents\.Document, got str"
    ):
        EntityRetriever.from_documents(["No document."])  # type: ignore[list-item]


def test_fields_that_are_set_later_count() -> None:
    retriever = EntityRetriever.from_documents(GLOSSARY)
    copied = retriever.model_copy(update={"words": 2, "k": 1})
    question = "Is the Arve longer than Kembs Canal?"
    assert [document.page_content for document in copied.invoke(question)] == ["Arve\nThe Arve"]
    assert len(retriever.invoke(question)) == 2
    retriever.words, retriever.k = 2, 1
    assert retriever.invoke(question) == copied.invoke(question)


def test_pickled_and_copied(tmp_path: Path) -> None:
    question = "Is the Arve long?"
    persisted = EntityRetriever.from_documents(GLOSSARY, path=tmp_path / "rivers.sqlite")
    passing = EntityRetriever.from_documents(GLOSSARY)
    expected = persisted.invoke(question)
    assert pickle.loads(pickle.dumps(persisted)).invoke(question) == expected != []
    assert copy.deepcopy(passing).invoke(question) == expected
