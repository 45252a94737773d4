"""What the tests share: nodes with random embeddings, queries, and brute force to compare with."""

from __future__ import annotations

import numpy as np
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

from factoid.sentences import sentence_spans
from factoid.testing import ScriptedPropositionizer

TEXT = "# Pisa\n\nThe tower leans. It is old. The tower leans.\n\n## Site\n\nThe soil is soft. It is old."
TEXTS = {
    "pisa": "The tower of Pisa leans. It was finished in 1372.",
    "paris": "The tower of Paris is made of iron. Eiffel built it.",
    "cat": "A cat sleeps on the sofa. It purrs.",
}
KINDS = ("passage", "sentence", "proposition")
DIM = 8


def node(node_id, vector, *, granularity=None, parent=None, document="d", text=None, **metadata):
    relationships = {}
    if document:
        relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    if parent:
        relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent)
    if granularity:
        metadata["granularity"] = granularity
    return TextNode(
        id_=node_id,
        text=text or f"text of {node_id}",
        metadata=metadata,
        embedding=[float(value) for value in vector],
        relationships=relationships,
        excluded_embed_metadata_keys=["granularity"],
    )


def corpus(seed=0, documents=4, passages=5, children=3):
    """Passages with sentences and propositions; vectors neither unit nor positive."""
    random = np.random.default_rng(seed)
    made = []
    for d in range(documents):
        for p in range(passages):
            node_id, meta = f"d{d}p{p}", {"year": 1990 + p, "lang": ["en", "de"][d % 2]}
            made.append(
                node(
                    node_id,
                    random.normal(size=DIM) * 3,
                    granularity="passage",
                    document=f"d{d}",
                    **meta,
                )
            )
            for kind in ("sentence", "proposition"):
                for c in range(children):
                    vector = random.normal(size=DIM) * random.uniform(0.1, 5)
                    made.append(
                        node(
                            f"{node_id}{kind[0]}{c}",
                            vector,
                            granularity=kind,
                            parent=node_id,
                            document=f"d{d}",
                            **meta,
                        )
                    )
    return made


def ask(vector, k=1, **fields):
    return VectorStoreQuery(
        query_embedding=[float(value) for value in vector], similarity_top_k=k, **fields
    )


def where(key, value, operator="==", condition="and"):
    return MetadataFilters(
        filters=[MetadataFilter(key=key, value=value, operator=operator)], condition=condition
    )


def bare(given):
    return given.model_copy(update={"embedding": None})


def by_sentence():
    """A propositionizer that parents each sentence as it stands."""
    return ScriptedPropositionizer(
        lambda passage: [passage.text[start:end] for start, end in sentence_spans(passage.text)]
    )


def of(nodes, granularity):
    return [node for node in nodes if node.metadata["granularity"] == granularity]


def relation(node, name):
    found = node.relationships.get(NodeRelationship[name])
    return found and found.node_id
