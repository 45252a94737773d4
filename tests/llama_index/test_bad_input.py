from __future__ import annotations

from datetime import date
from uuid import UUID

import numpy as np
import pytest
from llama_index.core.schema import Document, NodeRelationship, TextNode
from llama_index.core.vector_stores.types import (
    VectorStoreQuery,
)

from factoid.errors import EncoderMismatchError, InvalidInputError
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularNodeParser
from tests.llama_index.nodes import DIM, ask, bare, node, where


@pytest.mark.parametrize(
    "options",
    [{"wrods": 3}, {"granularities": ["document"]}, {"granularities": []}, {"unsupported": "no"}, {"words": "many"}],
)
def test_bad_options_are_refused_at_once(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        MultiGranularNodeParser(**options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda store: store.add(TextNode(text="x", embedding=[0.0] * DIM)),
            "expected a list of nodes, got a single one",
        ),
        (lambda store: store.add([{"text": "x"}]), "got dict in it"),
        (lambda store: store.delete(None), "the id of one document, got None"),
        (lambda store: store.delete(["pisa"]), "the id of one document"),
        (lambda store: store.get_nodes("pisa"), "node_ids must be a list of ids, got the string 'pisa'"),
        (lambda store: store.delete_nodes("pisa"), "node_ids must be a list of ids"),
        (lambda store: store.get_nodes(filters={"year": 1}), "filters must be MetadataFilters, got dict"),
        (
            lambda store: store.query(ask(np.ones(DIM), filters={"year": 1})),
            "filters must be MetadataFilters, got dict",
        ),
        (lambda store: store.query(ask(np.ones(DIM), filters={})), "filters must be MetadataFilters, got dict"),
    ],
)
def test_arguments_of_another_type_are_refused(store, nodes, call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(store)
    assert store.get_nodes() == [bare(entry) for entry in nodes]


def test_no_embedding(store):
    with pytest.raises(InvalidInputError, match="the query has no embedding: give query_embedding"):
        store.query(VectorStoreQuery(query_str="hello"))
    with pytest.raises(InvalidInputError, match="node 'x' has no embedding"):
        store.add([TextNode(text="x", id_="x")])


def test_dimensions(store, nodes):
    with pytest.raises(EncoderMismatchError, match=r"8 dimensions, got shape \(1, 2\)"):
        store.query(ask([1, 0]))
    with pytest.raises(EncoderMismatchError, match="holds vectors of 8 dimensions, got 2"):
        store.add([node("x", [1, 0])])
    with pytest.raises(EncoderMismatchError, match=r"different dimensions, \[2, 3\]"):
        MultiGranularFaissVectorStore().add([node("x", [1, 0]), node("y", [1, 0, 0])])
    with pytest.raises(EncoderMismatchError, match="not finite"):
        store.add([node("x", [float("nan")] * DIM)])
    assert store.get_nodes() == [bare(entry) for entry in nodes]


def test_texts_and_metadata_that_cannot_be_stored(store):
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        store.add([node("x", np.ones(DIM), text="a\ud800")])
    strict = MultiGranularFaissVectorStore(metadata="strict")
    for value in (float("nan"), (1, 2), date(2024, 5, 1)):
        with pytest.raises(InvalidInputError, match="x"):
            strict.add([node("x", np.ones(DIM), x=value)])
    assert store.get_nodes(["x"]) == strict.get_nodes() == []


def test_metadata_as_readers_of_files_give_them_are_stored_with_a_note(store, caplog):
    number = UUID(int=7)
    written = node(
        "x", np.ones(DIM), day=date(2024, 5, 1), number=number, size=(3, 4), score=float("nan"), n=np.int64(3)
    )
    source = Document(text="x", metadata=dict(written.metadata)).as_related_node_info()
    written.relationships[NodeRelationship.SOURCE] = source
    store.add([written])
    [stored] = store.get_nodes(["x"])
    expected = {"day": "2024-05-01", "number": str(number), "size": [3, 4], "score": None, "n": 3}
    assert stored.metadata == stored.source_node.metadata == expected
    assert store.query(ask(np.ones(DIM), 9, filters=where("day", "2024-01-01", ">"))).ids == ["x"]
    assert "under 'day', 'number', 'size', 'score'" in caplog.text
    assert written.metadata["number"] is number


def test_a_granularity_that_the_store_lacks():
    with pytest.raises(InvalidInputError, match="granularity='proposition' is not one of"):
        MultiGranularFaissVectorStore(granularities=["passage"])
    for bad in ({"granularity": "paragraph"}, {"granularities": ["page"]}, {"parents": "x"}, {"granularty": "x"}):
        with pytest.raises((TypeError, ValueError), match=next(iter(bad))):
            MultiGranularFaissVectorStore(**bad)
    only = MultiGranularFaissVectorStore(granularity="passage", granularities=["passage"])
    only.add([node("a", [1, 0])])
    with pytest.raises(InvalidInputError, match="no index of sentences"):
        only.query(ask([1, 0]), granularity="sentence")


def test_nothing_to_be_found_is_an_error_and_not_an_empty_answer():
    store = MultiGranularFaissVectorStore()
    store.add([node("p", [1, 0], granularity="passage")])
    with pytest.raises(InvalidInputError, match="holds passages, no propositions"):
        store.query(ask([1, 0]))


def test_a_stored_value_that_a_filter_cannot_compare_is_named(store):
    filters = where("year", "long ago", ">")
    for call in (lambda: store.query(ask(np.ones(DIM), filters=filters)), lambda: store.get_nodes(filters=filters)):
        with pytest.raises(InvalidInputError, match=r"cannot compare metadata\['year'\] = 199\d with 'long ago'"):
            call()
