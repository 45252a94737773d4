from __future__ import annotations

import pickle
import threading

import numpy as np
import pytest
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    Node,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import MetadataFilters

from factoid import UnitStore
from factoid.errors import InvalidInputError
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import DIM, ask, bare, corpus, node, where


def test_nodes_come_back_equal():
    info = RelatedNodeInfo(node_id="x", metadata={"a": [1, {"b": None}]}, hash="h")
    given = [
        TextNode(
            text="päßage 😀\n\0",
            metadata={
                "list": [1, 2.5, "x"],
                "nested": {"a": None, "ok": True},
                "granularity": "passage",
            },
            excluded_llm_metadata_keys=["list"],
            text_template="{content}!",
            metadata_separator=" | ",
            start_char_idx=3,
            end_char_idx=12,
            mimetype="text/markdown",
            relationships={NodeRelationship.SOURCE: info, NodeRelationship.CHILD: [info, info]},
        ),
        IndexNode(text="see there", index_id="there"),
        ImageNode(text="a picture", image_path="p.png"),
        Document(text="whole", metadata={"doc_id": "mine"}),
        Node(text_resource=MediaResource(text="multimodal", mimetype="text/html")),
    ]
    for position, entry in enumerate(given):
        entry.embedding = [1.0, float(position)]
    store = MultiGranularFaissVectorStore()
    assert store.add(given) == [entry.node_id for entry in given]
    assert store.get_nodes([entry.node_id for entry in given]) == [bare(entry) for entry in given]
    assert store.get_nodes() == [bare(entry) for entry in given]
    found = store.query(ask([0, 1], 5), granularity="passage").nodes
    assert found == [bare(entry) for entry in reversed(given)]


@pytest.mark.parametrize("metadata", [{}, {"granularity": "daily"}])
def test_nodes_of_another_parser_are_passages_that_are_found_by_default(metadata):
    store = MultiGranularFaissVectorStore()
    plain, other = node("plain", [1, 0], **metadata), node("other", [0, 1])
    store.add([plain, other])
    assert store.query(ask([1, 0], 9)).nodes == [bare(plain), bare(other)]
    [found] = store.query(ask([1, 0]), matches=True).nodes
    assert [match["id"] for match in found.metadata["matches"]] == ["plain"]  # it is its own
    assert store.query(ask([1, 0], 9), granularity="proposition").ids == ["plain", "other"]
    store.add([node("fact", [1, 1], granularity="proposition", parent="plain")])
    assert store.query(ask([1, 0], 9)).ids == ["plain", "other"]  # facts are the finest now
    assert store.query(ask([1, 0], 9), granularity="mixed").ids == ["plain", "other"]


def test_chunks_with_propositions_below_them_in_any_order():
    chunk, fact = node("c", [0, 1]), node("f", [1, 0], granularity="proposition", parent="c")
    for order in ([chunk, fact], [fact, chunk]):
        store = MultiGranularFaissVectorStore()
        for entry in order:
            store.add([entry])
        assert store.query(ask([1, 0], 5)).ids == ["c"]
        store.add([chunk])  # once more: replaces the chunk, and keeps what is under it
        assert {entry.node_id for entry in store.get_nodes()} == {"c", "f"}


def test_delete_nodes_by_filters_and_by_both(store):
    store.delete_nodes(filters=where("year", 1991))
    assert {entry.metadata["year"] for entry in store.get_nodes()} == {1990, 1992, 1993, 1994}
    store.delete_nodes(["d0p0", "d0p2", "d1p2s0", "d3"], where("lang", "en"))
    assert not any(
        entry.node_id.startswith(("d0p0", "d0p2", "d0p1")) for entry in store.get_nodes()
    )
    assert store.get_nodes(["d1p2s0"])
    for filters in (None, MetadataFilters(filters=[])):
        with pytest.raises(InvalidInputError, match="clear"):
            store.delete_nodes(filters=filters)


async def test_async_twins_do_the_same_in_threads(nodes, monkeypatch):
    store = MultiGranularFaissVectorStore()
    threads = []
    search = UnitStore.search_by_vector
    monkeypatch.setattr(
        UnitStore,
        "search_by_vector",
        lambda *a, **b: threads.append(threading.get_ident()) or search(*a, **b),
    )
    await store.aquery(ask(np.ones(DIM)))
    assert threads[0] != threading.get_ident()
    assert await store.async_add(nodes) == [entry.node_id for entry in nodes]
    assert await store.aquery(ask(np.ones(DIM), 5)) == store.query(ask(np.ones(DIM), 5))
    assert await store.aget_nodes(["d0p0"], where("year", 1990)) == [bare(nodes[0])]
    await store.adelete_nodes(["d0p0", "d1p1s0", "unknown", "d3"])
    await store.adelete("d3")
    assert len(await store.aget_nodes()) == 3 * 5 * 7 - 7 - 1
    await store.aclear()
    assert await store.aget_nodes() == []


def test_all_settings_are_saved_with_the_class(tmp_path):
    options = {
        "granularity": ("sentence", "proposition"),
        "parents": "unit",
        "index": {"sentence": "SQ8"},
    }
    store = MultiGranularFaissVectorStore(tmp_path / "s", **options)
    store.add(corpus(documents=1))
    for again in (
        MultiGranularFaissVectorStore.from_dict(store.to_dict()),
        MultiGranularFaissVectorStore.from_json(store.to_json()),
        pickle.loads(pickle.dumps(store)),
    ):
        assert (
            again.settings
            | {name: getattr(again, name) for name in options if name not in again.settings}
            == options
        )
        assert again.query(ask(np.ones(DIM), 3)) == store.query(ask(np.ones(DIM), 3))
        again.close()
