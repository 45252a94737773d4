"""What LlamaIndex's SimpleVectorStore is tested for, run against both stores: the same answers for every kind of index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.vector_stores.simple import SimpleVectorStore
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from factoid.units import Granularity
from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import ask, node, where

COUNT, DIM, DOCUMENTS = 1000, 16, 40

# A kind, and what makes its search exact: lists and graphs walked to the end, codes scored again with exact vectors.
KINDS = {
    "Flat": {},
    "HNSW32": {"parameters": {"efSearch": 4 * COUNT}},
    "HNSW16,SQ8": {"parameters": {"efSearch": 4 * COUNT}, "refine": COUNT},
    "IVF8,Flat": {"parameters": {"nprobe": 8}},
    "IVF8,SQ8": {"parameters": {"nprobe": 8}, "refine": COUNT},
    "SQ8": {"refine": COUNT},
    "PQ8x4": {"refine": COUNT},
    "RaBitQ": {"refine": COUNT},
}


def made():
    random = np.random.default_rng(5)
    return [
        node(
            f"n{i}",
            random.normal(size=DIM) * random.uniform(0.1, 4),
            document=f"d{i % DOCUMENTS}",
            weight=float(i % 17) / 2,
            rank=i,
            topic=["sport", "Sports club", "art"][i % 3],
            tags=[["a"], ["a", "b"], ["b", "c"], []][i % 4],
        )
        for i in range(COUNT)
    ]


@dataclass
class Pair:
    """The same nodes in both stores."""

    ours: MultiGranularFaissVectorStore
    theirs: SimpleVectorStore
    options: dict[str, Any]

    def agree(self, query):
        expected = self.theirs.query(query)
        found = self.ours.query(query, **self.options)
        assert found.ids == expected.ids
        assert found.similarities == pytest.approx(expected.similarities, rel=1e-4, abs=1e-5)
        assert [each.node_id for each in found.nodes] == found.ids
        return found


def pair(kind, **options):
    ours = MultiGranularFaissVectorStore(
        granularity="passage", granularities=["passage"], similarity="cosine", index=kind, **options
    )
    theirs = SimpleVectorStore()
    for start in range(0, COUNT, 400):  # in several parts, so that indexes grow
        ours.add(made()[start : start + 400])
        theirs.add(made()[start : start + 400])
        ours.query(ask(np.ones(DIM)))
    return Pair(ours, theirs, KINDS[kind])


@pytest.fixture(scope="module", params=KINDS)
def both(request):
    stores = pair(request.param)
    yield stores
    stores.ours.close()


@pytest.fixture(scope="module")
def flat():
    stores = pair("Flat")
    yield stores
    stores.ours.close()


def vectors(count=3, seed=7):
    return np.random.default_rng(seed).normal(size=(count, DIM))


def test_the_kind_is_in_use(both):
    both.ours.query(ask(np.ones(DIM)))
    _, held = both.ours.client._views._held[Granularity.PASSAGE]
    assert KINDS[held.index.kind] is both.options
    assert len(held.index) == COUNT


@pytest.mark.parametrize("k", [1, 10, 100])
def test_ranking(both, k):
    for vector in vectors():
        assert len(both.agree(ask(vector, k)).ids) == k


def test_more_than_there_are(both):
    assert len(both.agree(ask(vectors()[0], COUNT + 5)).ids) == COUNT


CASES = [
    ("rank", 5, "=="),
    ("rank", 5, "!="),
    ("weight", 4.5, ">"),
    ("weight", 4.5, ">="),
    ("weight", 1.0, "<"),
    ("weight", 1.0, "<="),
    ("rank", [1, 2, 3, 5000], "in"),
    ("rank", list(range(0, COUNT, 2)), "nin"),
    ("topic", ["art", "sport"], "in"),
    ("topic", "Sport", "text_match"),
    ("topic", "sport", "text_match_insensitive"),
    ("tags", "b", "contains"),
    ("tags", ["a", "c"], "any"),
    ("tags", ["a", "b"], "all"),
    ("tags", None, "is_empty"),
    ("ref_doc_id", "d3", "=="),
    ("missing", "x", "=="),
    ("missing", "x", "!="),
    ("missing", "x", "is_empty"),
]


@pytest.mark.parametrize(("key", "value", "operator"), CASES)
def test_operators(both, key, value, operator):
    both.agree(ask(vectors()[0], 20, filters=where(key, value, operator)))


def test_every_operator_has_a_case():
    assert {operator for *_, operator in CASES} == {each.value for each in FilterOperator}


@pytest.mark.parametrize("condition", FilterCondition)
def test_conditions(both, condition):
    filters = [
        MetadataFilter(key="topic", value="art"),
        MetadataFilter(key="weight", value=6.0, operator=FilterOperator.GTE),
        MetadataFilter(key="tags", value="a", operator=FilterOperator.CONTAINS),
    ]
    found = both.agree(ask(vectors()[1], 1000, filters=MetadataFilters(filters=filters, condition=condition)))
    assert 0 < len(found.ids) < COUNT


single = st.sampled_from(CASES).map(lambda case: where(*case).filters[0])
conditions = st.sampled_from(FilterCondition)


@given(st.lists(single, max_size=4), conditions, st.integers(1, 30), st.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_any_filters_any_k_any_query(flat, filters, condition, k, seed):
    flat.agree(ask(vectors(1, seed)[0], k, filters=MetadataFilters(filters=filters, condition=condition)))


nested = st.recursive(
    single,
    lambda part: st.builds(MetadataFilters, filters=st.lists(part, min_size=1, max_size=3), condition=conditions),
    max_leaves=6,
)


@given(nested)
@settings(max_examples=60, deadline=None)
def test_nested_filters_are_set_operations_on_what_the_reference_finds(flat, filters):
    everything = {each.node_id for each in made()}

    def reference(part):
        if isinstance(part, MetadataFilter):
            query = ask(np.ones(DIM), COUNT, filters=MetadataFilters(filters=[part]))
            return set(flat.theirs.query(query).ids)
        parts = [reference(each) for each in part.filters]
        if part.condition is FilterCondition.AND:
            return set.intersection(*parts)
        return set.union(*parts) if part.condition is FilterCondition.OR else everything - set.union(*parts)

    wrapped = MetadataFilters(filters=[filters])
    assert set(flat.ours.query(ask(np.ones(DIM), COUNT, filters=wrapped)).ids) == reference(wrapped)
    assert {each.node_id for each in flat.ours.get_nodes(filters=wrapped)} == reference(wrapped)


def test_node_ids_alone_and_with_filters(both):
    some = [f"n{i}" for i in range(0, COUNT, 7)]
    for filters in (None, where("topic", "art")):
        both.agree(ask(vectors()[2], 50, node_ids=[*some, "unknown"], filters=filters))
    assert both.ours.query(ask(vectors()[2], 5, node_ids=["unknown"]), **both.options).ids == []


def test_doc_ids(both):
    for vector in vectors():
        asked = both.ours.query(ask(vector, 30, doc_ids=["d3", "d4"]), **both.options)
        expected = both.theirs.query(ask(vector, 30, filters=where("ref_doc_id", ["d3", "d4"], "in")))
        assert asked.ids == expected.ids


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5, 0.9, 1.0])
def test_mmr_thresholds(both, threshold):
    """Of two, because LlamaIndex's own loop looks at the last choice only; at 0 it starts with any node."""
    for vector in vectors():
        query = ask(vector, 2, mode="mmr")
        expected = both.theirs.query(query, mmr_threshold=threshold).ids
        found = both.ours.query(query, mmr_threshold=threshold, mmr_prefetch_k=COUNT, **both.options)
        assert found.ids == expected
    if threshold == 1:
        assert found.ids == both.ours.query(ask(vector, 2), **both.options).ids


@pytest.mark.parametrize("kind", KINDS)
def test_deletes_replaced_nodes_and_files(kind, tmp_path):
    stores = pair(kind, path=tmp_path / "s")
    for store in (stores.ours, stores.theirs):
        store.delete("d3")
        store.delete("unknown")
        store.delete_nodes(["n0", "n9", "unknown"])
        store.delete_nodes(filters=where("topic", "art"))
        store.delete_nodes([f"n{i}" for i in range(100)], where("weight", 1.0, "<"))
        store.add([node("n1", -np.ones(DIM), document="new", rank=-1), node("more", np.ones(DIM), document="new")])
    for vector in (*vectors(), np.ones(DIM), -np.ones(DIM)):
        left = stores.agree(ask(vector, COUNT)).ids
        stores.agree(ask(vector, 10, filters=where("rank", 500, ">=")))
    assert len(left) == len(stores.theirs.data.embedding_dict) < COUNT
    stores.ours.close()
    stores.ours = MultiGranularFaissVectorStore(tmp_path / "s", granularity="passage", granularities=["passage"])
    stores.agree(ask(vectors()[0], 20))
    for store in (stores.ours, stores.theirs):
        store.clear()
    assert stores.ours.query(ask(np.ones(DIM), 5)).ids == []
    stores.ours.close()
