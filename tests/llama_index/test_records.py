"""What of a node is kept where."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.constants import DATA_KEY
from llama_index.core.schema import (
    MetadataMode,
    NodeRelationship,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
)

from llama_index_factoid import MultiGranularFaissVectorStore
from llama_index_factoid.convert import stored_node, to_unit
from tests.llama_index.nodes import ask, node, where

OWN = {"_node_type": "TextNode", "document_id": "d", "doc_id": "d", "ref_doc_id": "d"}


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
keys = st.one_of(
    st.text(max_size=8), st.sampled_from([*OWN, "granularity", "text", "_node_content"])
)
metadata = st.dictionaries(keys, st.one_of(plain, st.lists(plain, max_size=3)), max_size=6)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(metadata, metadata, words, st.integers(0, 9) | st.none())
@settings(max_examples=50, deadline=None)
def test_nodes_come_back_equal_with_metadata_in_order(own, inherited, text, start):
    given = TextNode(
        id_="x",
        text=text,
        metadata=own,
        start_char_idx=start,
        end_char_idx=start,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="s", metadata=inherited)},
    )
    again = stored_node(to_unit(given))
    assert again == given
    assert list(again.metadata) == list(own)
    assert again.hash == given.hash
    assert again.get_content(MetadataMode.ALL) == given.get_content(MetadataMode.ALL)


@given(metadata, metadata, words, st.integers(0, 9) | st.none())
@settings(max_examples=50, deadline=None)
def test_fields_are_written_as_pydantic_writes_them(own, inherited, text, start):
    source = RelatedNodeInfo(node_id="s", metadata=inherited, hash="h")
    parent = RelatedNodeInfo(node_id="p", node_type=ObjectType.TEXT)
    children = [RelatedNodeInfo(node_id=name) for name in "cd"]
    made = TextNode(
        id_="x",
        text=text,
        metadata=own,
        start_char_idx=start,
        excluded_llm_metadata_keys=["k"],
        relationships={
            NodeRelationship.SOURCE: source,
            NodeRelationship.PARENT: parent,
            NodeRelationship.CHILD: children,
        },
    )
    written = json.loads(to_unit(made).payload)[DATA_KEY]
    expected = made.model_dump(mode="json", exclude={"embedding", "metadata"})
    assert written.pop("text") is None
    assert written.pop("metadata").items() <= own.items()
    expected.pop("text")
    assert written == expected


def test_metadata_changed_in_the_core_are_the_nodes():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0], year=1990), node("b", [0, 1], year=1991)])
    assert store.client.update_metadata({"year": 2000, "seen": True}, ids=["a"]) == 1
    assert store.get_nodes(["a"])[0].metadata == {"year": 2000, "seen": True}
    assert store.query(ask([1, 0], 9, filters=where("seen", 1))).nodes[0].metadata["year"] == 2000


def test_a_node_without_a_source_belongs_to_its_parent():
    store = MultiGranularFaissVectorStore()
    parent = node("p", [1, 0], granularity="passage", document=None)
    child = node("s", [0, 1], granularity="sentence", document=None, parent="p")
    store.add([parent, child])
    [found] = store.query(ask([0, 1]), granularity="sentence").nodes
    assert found.node_id == "p"
    store.delete("p")
    assert store.get_nodes() == []
