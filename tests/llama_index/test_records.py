"""What of a node is kept where, and stores that an earlier version filled."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import ImageNode, MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from factoid.store import GRANULARITIES
from factoid.units import Granularity, Unit
from llama_index_factoid import MultiGranularFaissVectorStore
from llama_index_factoid.records import is_stand_in, span_of, to_node, to_units
from tests.llama_index.nodes import DIM, ask, bare, corpus, node, where

OWN = {"_node_type": "TextNode", "document_id": "d", "doc_id": "d", "ref_doc_id": "d"}


def test_metadata_are_the_nodes_own_and_those_that_filters_find():
    [unit] = to_units(node("f", [1], granularity="sentence", parent="p", year=1990), GRANULARITIES)
    assert unit.metadata == {"year": 1990, "granularity": "sentence", **OWN}
    assert (unit.document_id, unit.parent_id, unit.granularity) == ("d", "p", Granularity.SENTENCE)
    assert "text of f" not in unit.payload
    assert "1990" not in unit.payload


def test_stand_ins_share_metadata_and_carry_no_node():
    unit, *others = to_units(node("a", [1], year=1990), GRANULARITIES)
    assert [each.granularity for each in others] == ["sentence", "proposition"]
    for each in others:
        assert (each.metadata, each.parent_id, each.text) == (unit.metadata, "a", unit.text)
        assert len(each.payload) < 30
        assert is_stand_in(each)
    assert not is_stand_in(unit)
    assert not any(map(is_stand_in, to_units(node("f", [1], granularity="sentence", parent="p"), GRANULARITIES)))


def test_units_with_equal_metadata_share_a_row():
    store = MultiGranularFaissVectorStore()
    store.add(corpus())
    with store.client._connections.reading() as connection:
        rows = connection.execute("SELECT count(*) FROM metadata").fetchone()[0]
    assert rows == 4 * 5 * 3  # document, year and granularity; not the 140 nodes


plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())
keys = st.one_of(st.text(max_size=8), st.sampled_from([*OWN, "granularity", "text", "_node_content"]))
metadata = st.dictionaries(keys, st.one_of(plain, st.lists(plain, max_size=3)), max_size=6)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(metadata, metadata, words, st.integers(0, 9) | st.none())
@settings(max_examples=200, deadline=None)
def test_nodes_come_back_equal_with_metadata_in_order(own, inherited, text, start):
    given = TextNode(
        id_="x",
        text=text,
        metadata=own,
        start_char_idx=start,
        end_char_idx=start,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="s", metadata=inherited)},
    )
    for unit in to_units(given, GRANULARITIES)[:1]:
        again = to_node(unit)
        assert again == given
        assert list(again.metadata) == list(own)
        assert again.hash == given.hash
        assert again.get_content(MetadataMode.ALL) == given.get_content(MetadataMode.ALL)
        assert span_of(unit) == (start, start)


def test_metadata_changed_in_the_core_are_the_nodes():
    store = MultiGranularFaissVectorStore()
    store.add([node("a", [1, 0], year=1990), node("b", [0, 1], year=1991)])
    assert store.client.update_metadata({"year": 2000, "seen": True}, ids=["a"]) == 3
    assert store.get_nodes(["a"])[0].metadata == {"year": 2000, "seen": True}
    assert store.query(ask([1, 0], 9, filters=where("seen", 1))).nodes[0].metadata["year"] == 2000


def earlier(given):
    """A node as the first version kept it, moved into today's tables: all of it in the payload."""
    unit, *others = to_units(given, GRANULARITIES)
    whole = node_to_metadata_dict(given)
    payload = {key: whole[key] for key in ("_node_content", "_node_type")}
    moved = [Unit(*[getattr(unit, name) for name in Unit.__slots__[:-1]], json.dumps(payload))]
    for each in others:
        values = [getattr(each, name) for name in Unit.__slots__[:-1]]
        moved.append(Unit(*values, json.dumps({**payload, "_stand_in": True})))
    return moved


@pytest.mark.parametrize("kind", ["passage", "sentence", "proposition"])
def test_nodes_of_an_earlier_version(kind):
    image = ImageNode(text="a picture", image_path="p.png", id_="i", embedding=[0.0] * DIM, metadata={"doc_id": "own"})
    given = [node("a", np.ones(DIM), year=1990), image, *corpus(documents=1, passages=1)]
    store = MultiGranularFaissVectorStore()
    units = [(unit, np.float32(each.embedding)) for each in given for unit in earlier(each)]
    store.client.add([unit for unit, _ in units], vectors=[vector for _, vector in units], keep_children=True)
    assert store.get_nodes() == [bare(each) for each in given]
    result = store.query(ask(np.ones(DIM), 9), granularity=kind)
    assert len(set(result.ids)) == len(result.ids) == 3
    assert {each.node_id: each for each in result.nodes}["i"] == bare(image)
    result = store.query(ask(np.ones(DIM), 9, filters=where("year", 1990)), granularity=kind)
    assert set(result.ids) == {"a", "d0p0"}
