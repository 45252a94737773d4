"""LlamaIndex's Elasticsearch and Weaviate, as their code has them: scores of one list, filters of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

import numpy as np
from llama_index.core.vector_stores.types import BasePydanticVectorStore, VectorStoreQueryResult
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from pydantic import PrivateAttr

from factoid import Weights
from factoid.errors import InvalidInputError
from factoid.existing.conditions import QUERY
from llama_index_factoid import EncoderEmbedding, MultiGranularRetriever
from llama_index_factoid.existing import LlamaIndexCollection
from tests.existing.abilities import ids
from tests.existing.corpus import ENCODER, PROPOSITIONIZER, QUESTION, documents
from tests.existing.opensearch import passes

INDEXING = {"propositionizer": PROPOSITIONIZER, "unsupported": "keep"}


class StandIn(BasePydanticVectorStore):
    """What both share: nodes in memory, and similarities that are 0 and 1 at the ends of a list."""

    stores_text: bool = True
    _records: dict = PrivateAttr(default_factory=dict)
    _asked: list = PrivateAttr(default_factory=list)

    @property
    def client(self) -> Any:
        return None

    def add(self, nodes, **_):
        for node in nodes:
            metadata = node_to_metadata_dict(node, remove_text=True)
            self._records[node.node_id] = (node.get_content("none"), metadata, node.embedding)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id, **_):
        raise NotImplementedError

    def delete_nodes(self, node_ids=None, filters=None, **_):
        for name in node_ids:
            self._records.pop(name, None)

    def get_nodes(self, node_ids=None, filters=None):
        return [self._node(name) for name in node_ids if name in self._records]

    def _node(self, name):
        text, metadata, _ = self._records[name]
        return metadata_dict_to_node(metadata, text=text)

    def _best(self, query, condition):
        assert query.filters is None
        self._asked.append((query.similarity_top_k, condition))
        found = []
        for name, (_, metadata, vector) in self._records.items():
            if condition is None or passes(condition, {"metadata": metadata}):
                found.append((float(np.dot(vector, query.query_embedding)), name))
        found = sorted(found, reverse=True)[: query.similarity_top_k]
        scores = [score for score, _ in found]
        least = min(scores, default=0)
        spread = (max(scores, default=1) - least) or 1
        return VectorStoreQueryResult(
            nodes=[self._node(name) for _, name in found],
            ids=[name for _, name in found],
            similarities=[(score - least) / spread for score in scores],
        )


class ElasticsearchStore(StandIn):
    def query(self, query, custom_query=None, es_filter=None, metadata_keyword_suffix=".keyword"):
        assert query.similarity_top_k * 10 <= 10_000  # num_candidates
        return self._best(query, {"bool": {"filter": es_filter}} if es_filter else None)


class WeaviateVectorStore(StandIn):
    def query(self, query, **kwargs):
        [(name, condition)] = kwargs.items()
        assert name == "filters"  # "filter" would reach its client, which has no such argument
        return self._best(query, condition)


ElasticsearchStore.__module__ = "llama_index.vector_stores.elasticsearch.base"
WeaviateVectorStore.__module__ = "llama_index.vector_stores.weaviate.base"


@pytest.fixture(params=[ElasticsearchStore, WeaviateVectorStore], ids=lambda made: made.__name__)
def store(request, monkeypatch):
    made = request.param()
    model = EncoderEmbedding(ENCODER)
    existing = MultiGranularRetriever(
        vectorstore=made, embed_model=model, indexing=INDEXING
    ).existing
    assert existing.collection.known.name in request.param.__name__
    if isinstance(made, WeaviateVectorStore):  # its client makes its filters
        existing.collection._form = replace(existing.collection._form, write=QUERY.write)
        monkeypatch.setattr(
            existing.collection,
            "get",
            lambda ids: LlamaIndexCollection.get(existing.collection, ids),
        )
    existing.add_documents(documents())
    made._asked.clear()
    return existing


def test_passages_are_distinct_and_good(store):
    answer = store.search(QUESTION, 10)
    assert answer.complete
    assert len({*ids(answer)}) == 10
    assert ids(store.search("Ledger page 7 about place7, its weather", 3))[0] == "d7"


def test_a_filter_is_a_wall_and_is_asked_for(store):
    answer = store.search(QUESTION, 9, filter={"tenant": "b"})
    assert {hit.unit.metadata["tenant"] for hit in answer.hits} == {"b"}
    assert len(answer.hits) == 9
    asked = store.collection.store._asked
    assert all(condition is not None and "tenant" in str(condition) for _, condition in asked)


def test_scores_of_one_list_are_not_mixed(store):
    for option in ({"weights": Weights()}, {"lexical": 0.5}, {"min_score": 0.1}):
        with pytest.raises(InvalidInputError, match="ordered by the fusion of ranks"):
            store.search(QUESTION, 5, **option)


def test_a_document_replaces_itself(store):
    assert store.add_documents(documents()).unchanged == 25
    assert store.delete(["d7"]) == 1
    assert "d7" not in ids(store.search("Ledger page 7 about place7", 25))
