"""What LlamaIndex's SimpleVectorStore is tested for, run against both stores: the same answers for every kind of index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
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
        assert [entry.node_id for entry in found.nodes] == found.ids
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
    state = both.ours.client.views.states[Granularity.PASSAGE]
    assert KINDS[state.index.kind] is both.options
    assert len(state.index) == COUNT


@pytest.mark.parametrize("k", [1, 10, 100])
def test_ranking(both, k):
    for vector in vectors():
        assert len(both.agree(ask(vector, k)).ids) == k


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


@pytest.mark.parametrize("condition", FilterCondition)
def test_conditions(both, condition):
    filters = [
        MetadataFilter(key="topic", value="art"),
        MetadataFilter(key="weight", value=6.0, operator=FilterOperator.GTE),
        MetadataFilter(key="tags", value="a", operator=FilterOperator.CONTAINS),
    ]
    found = both.agree(ask(vectors()[1], 1000, filters=MetadataFilters(filters=filters, condition=condition)))
    assert 0 < len(found.ids) < COUNT


def test_node_ids_alone_and_with_filters(both):
    some = [f"n{i}" for i in range(0, COUNT, 7)]
    for filters in (None, where("topic", "art")):
        both.agree(ask(vectors()[2], 50, node_ids=[*some, "unknown"], filters=filters))
    assert both.ours.query(ask(vectors()[2], 5, node_ids=["unknown"]), **both.options).ids == []


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
        remaining = stores.agree(ask(vector, COUNT)).ids
        stores.agree(ask(vector, 10, filters=where("rank", 500, ">=")))
    assert len(remaining) == len(stores.theirs.data.embedding_dict) < COUNT
    stores.ours.close()
    stores.ours = MultiGranularFaissVectorStore(tmp_path / "s", granularity="passage", granularities=["passage"])
    stores.agree(ask(vectors()[0], 20))
    for store in (stores.ours, stores.theirs):
        store.clear()
    assert stores.ours.query(ask(np.ones(DIM), 5)).ids == []
    stores.ours.close()
