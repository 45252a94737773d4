"""Entity retrievers: the core and both frameworks find the same articles, in the same order, with
the same mentions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core import Document as LlamaDocument
from llama_index.core.base.base_retriever import BaseRetriever as LlamaRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters

import langchain_factoid
import llama_index_factoid
from factoid.entities import ArticleStore, EntityHit, EntityRetriever, build_own_articles
from factoid.errors import InvalidInputError
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


@pytest.mark.parametrize(
    "options", OPTIONS, ids=[" ".join(options) or "defaults" for options in OPTIONS]
)
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
            own = [
                {key: item.metadata.get(key) for key in places} for item in (document, node.node)
            ]
            assert own[0] == own[1]
            assert own[0]["mention"] == question[hit.mention.start : hit.mention.end]
            spans = [(match.unit.text, match.unit.start, match.unit.end) for match in hit.matches]
            for entry, start, end in (
                (document, "start_index", "end_index"),
                (node, "start_char_idx", "end_char_idx"),
            ):
                matches = entry.metadata.get("matches", [])
                assert spans == [(match["text"], match[start], match[end]) for match in matches]
            found += 1
    assert found >= 3


def langchain_document(text, document_id, title, **metadata):
    return LangChainDocument(text, id=document_id, metadata={"title": title, **metadata})


def llama_document(text, document_id, title, **metadata):
    return LlamaDocument(text=text, id_=document_id, metadata={"title": title, **metadata})


def test_tenants_and_changes_in_both_frameworks() -> None:
    langchain, llama_index = (
        kind.from_documents(
            [
                document("North pays.", "n1", "Refund", tenant="north", terms=["money back"]),
                document("South does not.", "s1", "Refund", tenant="south"),
                document("A bird.", "h1", "Heron", tenant="south"),
            ],
            duplicates="keep",
            aliases_key="terms",
        )
        for kind, document in (
            (langchain_factoid.EntityRetriever, langchain_document),
            (llama_index_factoid.EntityRetriever, llama_document),
        )
    )

    def asked(question, tenant):
        filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])
        nodes = llama_index_factoid.EntityRetriever(
            llama_index._core.articles, filters=filters
        ).retrieve(question)
        documents = langchain.invoke(question, filter={"tenant": tenant})
        assert [document.page_content for document in documents] == [node.text for node in nodes]
        return [node.text for node in nodes]

    assert asked("Can I have my money back?", "north") == ["Refund\nNorth pays."]
    assert asked("Can I have my money back?", "south") == []
    for retriever, document in ((langchain, langchain_document), (llama_index, llama_document)):
        retriever.add_documents(
            [document("South pays, too.", "s1", "Refund", tenant="south", terms=["cash"])]
        )
        retriever.delete(["h1"])
        with pytest.raises(InvalidInputError, match="no article has the id 'h1'"):
            retriever.delete(["h1"])
    assert asked("Is a refund of the heron paid in cash?", "south") == ["Refund\nSouth pays, too."]


RAIN = {
    "It rains in the north.": {"tenant": "north"},
    "It rains in the south.": {"tenant": "south"},
    "It rains.": {},
}


class LangChainRain(LangChainRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [LangChainDocument(text, metadata=metadata) for text, metadata in RAIN.items()]


class LlamaRain(LlamaRetriever):
    def _retrieve(self, query_bundle):
        return [
            NodeWithScore(node=TextNode(text=text, metadata=metadata), score=1)
            for text, metadata in RAIN.items()
        ]


@pytest.mark.parametrize("tenant", ["north", "south"])
def test_a_filter_holds_for_a_fallback_too(articles: ArticleStore, tenant: str) -> None:
    expected = [text for text, metadata in RAIN.items() if metadata.get("tenant") == tenant]
    langchain = langchain_factoid.EntityRetriever(articles=articles, fallback=LangChainRain())
    filtered = langchain_factoid.EntityRetriever(
        articles=articles, fallback=LangChainRain(), filter={"tenant": tenant}
    )
    filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])
    llama_index = llama_index_factoid.EntityRetriever(
        articles, fallback=LlamaRain(), filters=filters
    )
    for documents in (
        langchain.invoke("Rain?", filter={"tenant": tenant}),
        asyncio.run(langchain.ainvoke("Rain?", filter={"tenant": tenant})),
        filtered.invoke("Rain?"),
    ):
        assert [document.page_content for document in documents] == expected
    for nodes in (llama_index.retrieve("Rain?"), asyncio.run(llama_index.aretrieve("Rain?"))):
        assert [node.text for node in nodes] == expected
    assert len(langchain.invoke("Rain?")) == len(RAIN)
