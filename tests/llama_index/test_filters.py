"""Filters against LlamaIndex's own SimpleVectorStore."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)

from factoid.errors import InvalidInputError
from llama_index_factoid import MultiGranularFaissVectorStore

METADATA = [
    {},
    {"n": 1, "s": "Alpha beta", "l": ["a", "b"]},
    {"n": 2.5, "s": "alpha", "l": []},
    {"n": -3, "s": "", "l": ["c"], "b": True},
    {"n": 0, "s": "Beta", "l": [1, 2], "b": False},
    {"n": None, "s": None, "l": None},
    {"n": 1, "s": "héé 😀", "granularity": "daily"},
]
NODES = [
    TextNode(id_=f"n{position}", text="x", metadata=metadata, embedding=[1.0, 0.5])
    for position, metadata in enumerate(METADATA)
]


@pytest.fixture(scope="module")
def stores():
    ours, theirs = MultiGranularFaissVectorStore(), SimpleVectorStore()
    ours.add(NODES)
    theirs.add(NODES)
    return ours, theirs


def found(store, filters):
    query = VectorStoreQuery(query_embedding=[1.0, 1.0], similarity_top_k=99, filters=filters)
    return sorted(store.query(query).ids)


def check(stores, filters):
    """Compare with the reference; what it cannot compare is our error."""
    ours, theirs = stores
    try:
        expected = found(theirs, filters)
    except TypeError:
        with pytest.raises(InvalidInputError, match="cannot compare metadata"):
            found(ours, filters)
        return
    assert found(ours, filters) == expected
    assert sorted(node.node_id for node in ours.get_nodes(filters=filters)) == expected


VALUES = [1, 2.5, -3, 0, "alpha", "Beta", "a", "", "missing", ["a"], ["a", "b"], ["c", "alpha"], [1, 2], None]


@pytest.mark.parametrize("operator", FilterOperator)
def test_every_operator(stores, operator):
    for key in ("n", "s", "l", "b", "none", "doc_id", "_node_type", "granularity"):
        for value in VALUES:
            check(stores, MetadataFilters(filters=[MetadataFilter(key=key, value=value, operator=operator)]))


single = st.builds(
    MetadataFilter,
    key=st.sampled_from(["n", "s", "l", "b", "none"]),
    value=st.sampled_from(VALUES),
    operator=st.sampled_from(list(FilterOperator)),
)
conditions = st.sampled_from(FilterCondition)


@given(filters=st.lists(single, max_size=3), condition=st.one_of(conditions, st.none()))
@settings(max_examples=300, deadline=None)
def test_every_condition(stores, filters, condition):
    check(stores, MetadataFilters(filters=filters, condition=condition))


safe = st.builds(
    MetadataFilter,
    key=st.just("n"),
    value=st.sampled_from([1, 2.5, 0]),
    operator=st.sampled_from([FilterOperator(op) for op in ("==", "!=", "<", ">=", "is_empty")]),
)
nested = st.recursive(
    safe,
    lambda part: st.builds(MetadataFilters, filters=st.lists(part, min_size=1, max_size=3), condition=conditions),
    max_leaves=6,
)


def by_sets(stores, filters):
    """The reference for single conditions, joined by set operations."""
    if isinstance(filters, MetadataFilter):
        return set(found(stores[1], MetadataFilters(filters=[filters])))
    parts = [by_sets(stores, each) for each in filters.filters]
    if filters.condition is FilterCondition.AND:
        return set.intersection(*parts)
    union = set.union(*parts)
    return union if filters.condition is FilterCondition.OR else {node.node_id for node in NODES} - union


@given(filters=nested)
@settings(max_examples=150, deadline=None)
def test_nested_filters(stores, filters):
    wrapped = filters if isinstance(filters, MetadataFilters) else MetadataFilters(filters=[filters])
    assert set(found(stores[0], wrapped)) == by_sets(stores, wrapped)


def test_no_operator_or_condition_is_new():
    assert {condition.value for condition in FilterCondition} == {"and", "or", "not"}
    assert len(FilterOperator) == 14
