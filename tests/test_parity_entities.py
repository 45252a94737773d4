"""Entity retrievers: the core and both frameworks find the same articles, in the same order, with the same mentions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaDocument

import langchain_factoid
import llama_index_factoid
from factoid.entities import ArticleStore, EntityHit, EntityRetriever, build_own_articles
from factoid.testing import HashEncoder
from tests.entities.rivers import RIVERS

QUESTIONS = [
    "Is Kembs Canal longer than the Grey One?",
    "Is the Sorne long?",
    "Is the Sorne in the south dammed, and the Arve?",
    "Does it rain?",
    "",
]
OPTIONS = [
    {},
    {"words": 3, "k": 1},
    {"ambiguous": "all"},
    {"granularity": "sentence", "encoder": HashEncoder(), "words": 9},
]


@pytest.fixture(scope="module")
def articles() -> Iterator[ArticleStore]:
    with build_own_articles(RIVERS) as store:
        yield store


@pytest.mark.parametrize("options", OPTIONS, ids=[" ".join(options) or "defaults" for options in OPTIONS])
def test_the_same_everywhere(articles: ArticleStore, options: dict) -> None:
    core = EntityRetriever(articles, **options)
    langchain = langchain_factoid.EntityRetriever(articles=articles, **options)
    llama_index = llama_index_factoid.EntityRetriever(articles, **options)
    found = 0
    for question in QUESTIONS:
        hits = core.retrieve(question)
        documents, nodes = langchain.invoke(question), llama_index.retrieve(question)
        assert len(hits) == len(documents) == len(nodes)
        for hit, document, node in zip(hits, documents, nodes, strict=True):
            assert isinstance(hit, EntityHit)
            assert document.page_content == node.text == f"{hit.unit.title}\n{hit.unit.text}"
            assert document.id == node.node.node_id == hit.unit.id
            assert document.metadata["score"] == node.score == hit.score
            places = ("title", "mention", "mention_start", "mention_end", "candidates")
            own = [{key: each.metadata.get(key) for key in places} for each in (document, node.node)]
            assert own[0] == own[1]
            assert own[0]["mention"] == question[hit.mention.start : hit.mention.end]
            texts = [match.unit.text for match in hit.matches]
            assert texts == [match["text"] for match in document.metadata.get("matches", [])]
            assert texts == [match["text"] for match in node.node.metadata.get("matches", [])]
            found += 1
    assert found >= 3


def test_both_have_the_same_options() -> None:
    fields = set(langchain_factoid.EntityRetriever.model_fields) - {"name", "tags", "metadata"}
    parameters = llama_index_factoid.EntityRetriever.__init__.__annotations__.keys() - {"return", "options"}
    assert fields == parameters


def test_metadata_of_ones_own_do_not_pass_for_the_retrievers() -> None:
    own = {"title": "Tern", "candidates": ["Ann", "Bob"], "matches": 3}
    langchain = langchain_factoid.EntityRetriever.from_documents([LangChainDocument("A river.", metadata=own)])
    llama_index = llama_index_factoid.EntityRetriever.from_documents([LlamaDocument(text="A river.", metadata=own)])
    (document,), (node,) = langchain.invoke("Is the Tern long?"), llama_index.retrieve("Is the Tern long?")
    for metadata in (document.metadata, node.node.metadata):
        assert (metadata["candidates"], metadata["matches"]) == ([], [])
        assert (metadata["source_candidates"], metadata["source_matches"]) == (["Ann", "Bob"], 3)
