"""Filters and metadata that are nested too deep are one error in both frameworks, whatever way they
come in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("faiss")
pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

import langchain_factoid
import llama_index_factoid
from factoid.errors import InvalidInputError
from factoid.filters import Comparison, Not, Operator
from factoid.testing import HashEncoder
from factoid.units import DEPTH

LEVELS = [DEPTH + 1, 900, 5000]


def nested(
    levels: int, wrap: Callable[[Any], Any] = lambda inner: {"a": inner}, start: Any = 1
) -> Any:
    value = start
    for _ in range(levels):
        value = wrap(value)
    return value


def refused(*calls: Callable[[], object]) -> None:
    for call in calls:
        with pytest.raises(InvalidInputError, match=f"{DEPTH} levels deep"):
            call()


@pytest.mark.parametrize("levels", LEVELS)
def test_langchain(levels: int) -> None:
    store = langchain_factoid.MultiGranularFAISS(langchain_factoid.EncoderEmbeddings(HashEncoder()))
    store.add_texts(["The olm is blind."])
    condition = nested(levels, lambda inner: {"$not": inner}, {"a": 1})
    tree = nested(levels, Not, Comparison("a", Operator.EQ, 1))
    metadata = {"a": nested(levels)}
    retriever = langchain_factoid.MultiGranularRetriever(store=store)
    refused(
        lambda: store.add_documents([LangChainDocument(page_content="x", metadata=metadata)]),
        lambda: store.add_texts(["x"], [metadata]),
        lambda: store.add_embeddings([("x", [0.0] * 256)], [metadata]),
        lambda: store.similarity_search("x", filter=condition),
        lambda: store.as_retriever(search_kwargs={"filter": condition}).invoke("x"),
        lambda: langchain_factoid.MultiGranularRetriever(store=store, filter=condition).invoke("x"),
        lambda: langchain_factoid.MultiGranularRetriever(store=store, filter=tree).invoke("x"),
        lambda: retriever.invoke("x", filter=condition),
        lambda: store.delete(filter=condition),
    )
    assert len(store.similarity_search("x")) == 1


@pytest.mark.parametrize("levels", LEVELS)
def test_llama_index(levels: int) -> None:
    store = llama_index_factoid.MultiGranularFaissVectorStore()
    store.add([TextNode(text="The olm is blind.", embedding=[1.0, 2.0])])
    innermost = MetadataFilters(filters=[MetadataFilter(key="a", value=1)])
    filters = nested(levels, lambda inner: MetadataFilters(filters=[inner]), innermost)
    related = TextNode(text="x", embedding=[1.0, 2.0])
    related.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(
        node_id="y", metadata={"a": nested(levels)}
    )
    embed_model = llama_index_factoid.EncoderEmbedding(HashEncoder(2))
    query = VectorStoreQuery(query_embedding=[1.0, 2.0], similarity_top_k=1)
    refused(
        lambda: store.add(
            [TextNode(text="x", metadata={"a": nested(levels)}, embedding=[1.0, 2.0])]
        ),
        lambda: store.add([related]),
        lambda: store.query(
            VectorStoreQuery(query_embedding=[1.0, 2.0], similarity_top_k=1, filters=filters)
        ),
        lambda: store.query(query, filter=nested(levels, lambda inner: {"$not": inner}, {"a": 1})),
        lambda: store.get_nodes(filters=filters),
        lambda: store.delete_nodes(filters=filters),
        lambda: store.delete_nodes(["x"], filters=filters),
        lambda: llama_index_factoid.MultiGranularRetriever(
            store, embed_model, filters=filters
        ).retrieve("x"),
    )
    assert len(store.get_nodes()) == 1
