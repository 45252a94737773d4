from __future__ import annotations

from datetime import date

import fsspec
import numpy as np
import pytest
from llama_index.core.schema import Document, NodeRelationship, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder
from llama_index_factoid import (
    EncoderEmbedding,
    EntityRetriever,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
)
from tests.llama_index.nodes import DIM, ask, bare, node, where


@pytest.mark.parametrize(
    "options",
    [{"wrods": 3}, {"granularities": []}, {"unsupported": "no"}],
)
def test_bad_options_are_refused_at_once(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        MultiGranularNodeParser(**options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda store: store.add([{"text": "x"}]), "expected nodes, got dict"),
        (lambda store: store.add("xyz"), "a list of nodes, got the string 'xyz'"),
        (lambda store: store.add(node("x", np.ones(DIM))), "a list of nodes, got a single one"),
        (lambda store: store.get_nodes("xyz"), "a list of ids, got the string 'xyz'"),
        (lambda store: store.delete_nodes("xyz"), "a list of ids, got the string 'xyz'"),
        (
            lambda _: EncoderEmbedding(HashEncoder()).get_text_embedding_batch("xyz"),
            "a list of texts, got the string 'xyz'",
        ),
        (
            lambda _: EntityRetriever.from_documents(Document(text="x")),
            "a list of documents, got a single one",
        ),
        (
            lambda store: store.get_nodes(filters={"year": 1}),
            "filters must be MetadataFilters, got dict",
        ),
        (
            lambda store: store.query(ask(np.ones(DIM), filters={})),
            "filters must be MetadataFilters, got dict",
        ),
        (
            lambda store: store.query(VectorStoreQuery(query_str="hello")),
            "has no embedding: give query_embedding",
        ),
        (lambda store: store.query(VectorStoreQuery(mode="sparse")), "query must be a str"),
        (lambda store: store.add([TextNode(text="x", id_="x")]), "node 'x' has no embedding"),
        (lambda store: store.add([node("x", np.ones(DIM), text="a\ud800")]), "lone surrogate"),
        (lambda store: store.persist("memory://kept"), r"local folder.*save_to\(url\)"),
        (lambda store: store.persist("kept", fsspec.filesystem("memory")), "local folder"),
    ],
)
def test_bad_arguments_are_refused(store, nodes, call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(store)
    assert store.get_nodes() == [bare(entry) for entry in nodes]


def test_metadata_as_readers_of_files_give_them_are_stored(store):
    written = node("x", np.ones(DIM), day=date(2024, 5, 1), size=(3, 4), n=np.int64(3))
    source = Document(text="x", metadata=dict(written.metadata)).as_related_node_info()
    written.relationships[NodeRelationship.SOURCE] = source
    store.add([written])
    [stored] = store.get_nodes(["x"])
    expected = {"day": "2024-05-01", "size": [3, 4], "n": 3}
    assert stored.metadata == stored.source_node.metadata == expected
    assert store.query(
        ask(np.ones(DIM), 9, filters=where("day", "2024-01-01", ">")), granularity="passage"
    ).ids == ["x"]
    assert written.metadata["size"] == (3, 4)


def test_a_granularity_that_the_store_lacks():
    store = MultiGranularFaissVectorStore(granularities=["passage"])
    with pytest.raises(InvalidInputError, match="no index of propositions"):
        store.query(ask([1, 0]), granularity="proposition")
    for bad in (
        {"granularity": "paragraph"},
        {"granularities": []},
        {"parents": "x"},
        {"granularty": "x"},
    ):
        with pytest.raises((TypeError, ValueError), match=next(iter(bad))):
            MultiGranularFaissVectorStore(**bad)


def test_nothing_to_be_found_is_an_error_and_not_an_empty_answer():
    store = MultiGranularFaissVectorStore()
    store.add([node("f", [1, 0], granularity="proposition")])
    with pytest.raises(InvalidInputError, match="holds propositions, and no passages"):
        store.query(ask([1, 0]), granularity="passage")
    assert (
        store.query(VectorStoreQuery(query_str="olm", mode="text_search", similarity_top_k=1)).ids
        == []
    )
