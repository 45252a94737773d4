"""What LlamaIndex's SimpleVectorStore is tested for, run against both stores: the same answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from llama_index.core.vector_stores.simple import SimpleVectorStore

from llama_index_factoid import MultiGranularFaissVectorStore
from tests.llama_index.nodes import ask, node, where

COUNT, DIM, DOCUMENTS = 1000, 16, 40
OPTIONS = {"granularity": "passage", "granularities": ["passage"]}


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
        )
        for i in range(COUNT)
    ]


@dataclass
class Pair:
    """The same nodes in both stores."""

    ours: MultiGranularFaissVectorStore
    theirs: SimpleVectorStore

    def agree(self, query):
        expected = self.theirs.query(query)
        found = self.ours.query(query)
        assert found.ids == expected.ids == [entry.node_id for entry in found.nodes]
        assert found.similarities == pytest.approx(expected.similarities, rel=1e-4, abs=1e-5)
        return found.ids


def pair(path=None):
    stores = Pair(MultiGranularFaissVectorStore(path, similarity="cosine", **OPTIONS), SimpleVectorStore())
    for store in (stores.ours, stores.theirs):
        store.add(made())
    return stores


@pytest.fixture(scope="module")
def both():
    stores = pair()
    yield stores
    stores.ours.close()


def vectors(count=3, seed=7):
    return np.random.default_rng(seed).normal(size=(count, DIM))


@pytest.mark.parametrize("k", [1, 10, 100])
def test_ranking(both, k):
    for vector in vectors():
        assert len(both.agree(ask(vector, k))) == k


def test_node_ids_alone_and_with_filters(both):
    some = [f"n{i}" for i in range(0, COUNT, 7)]
    for filters in (None, where("topic", "art")):
        both.agree(ask(vectors()[2], 50, node_ids=[*some, "unknown"], filters=filters))
    assert both.ours.query(ask(vectors()[2], 5, node_ids=["unknown"])).ids == []


def test_deletes_replaced_nodes_and_files(tmp_path):
    stores = pair(tmp_path / "s")
    for store in (stores.ours, stores.theirs):
        store.delete("d3")
        store.delete("unknown")
        store.delete_nodes(["n0", "n9", "unknown"])
        store.delete_nodes(filters=where("topic", "art"))
        store.delete_nodes([f"n{i}" for i in range(100)], where("weight", 1.0, "<"))
        store.add([node("n1", -np.ones(DIM), document="new", rank=-1), node("more", np.ones(DIM), document="new")])
    for vector in (*vectors(), np.ones(DIM), -np.ones(DIM)):
        remaining = stores.agree(ask(vector, COUNT))
        stores.agree(ask(vector, 10, filters=where("rank", 500, ">=")))
    assert len(remaining) == len(stores.theirs.data.embedding_dict) < COUNT
    stores.ours.close()
    stores.ours = MultiGranularFaissVectorStore(tmp_path / "s", **OPTIONS)
    stores.agree(ask(vectors()[0], 20))
    stores.ours.close()
