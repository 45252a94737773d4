"""Nodes as a store keeps them: a unit carries its node, as JSON, in its metadata.

A node that no parser of ours made has no granularity. It is kept as a passage, and again as a stand-in at each other
granularity, so that a search finds it whatever it compares with the query.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from llama_index.core.schema import BaseNode, Document, ImageDocument, ImageNode, IndexNode, Node, TextNode
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from factoid.database import to_json
from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreFormatError
from factoid.units import Granularity, Hit, Metadata, Unit, check_text, content_id
from llama_index_factoid.convert import granularity_of, text_of

_CONTENT, _TYPE = "_node_content", "_node_type"  # keys of `node_to_metadata_dict`
_IDS = "_ids"  # beside them: ids of the node, its parent and its document, for filters
_STAND_IN = "_stand_in"
_CLASSES: dict[str, type[BaseNode]] = {
    kind.class_name(): kind for kind in (TextNode, IndexNode, ImageNode, Node, Document, ImageDocument)
}


def to_units(node: BaseNode, granularities: Sequence[Granularity]) -> list[Unit]:
    """Return a node as a unit, followed by its stand-ins.

    Args:
        node: Any node. Without a source it is its own document.
        granularities: What the store searches.

    Raises:
        InvalidInputError: The text holds lone surrogates, or the metadata what JSON would change.
    """
    text = text_of(node)
    check_text(text, f"the text of node {node.node_id!r}")
    to_json(node.metadata)  # LlamaIndex would save NaN as None and a tuple as a list
    kind = granularity_of(node)
    document_id = node.ref_doc_id or node.node_id
    parent = node.parent_node if kind in (Granularity.SENTENCE, Granularity.PROPOSITION) else None
    unit = Unit(
        id=node.node_id,
        text=text,
        granularity=kind or Granularity.PASSAGE,
        document_id=document_id,
        parent_id=parent.node_id if parent else document_id,
        start=getattr(node, "start_char_idx", None) or 0,
        end=getattr(node, "end_char_idx", None) or len(text),
        metadata={
            **node_to_metadata_dict(node),
            _IDS: {
                "node": node.node_id,
                "parent": parent.node_id if parent else node.node_id,
                "document": document_id,
            },
        },
    )
    others = [each for each in granularities if kind is None and each is not Granularity.PASSAGE]
    return [unit, *(_stand_in(unit, each) for each in others)]


def to_vector(node: BaseNode) -> Vectors:
    """Return a node's embedding. Shape: (dim,).

    Raises:
        InvalidInputError: The node has none.
    """
    if node.embedding is None:
        message = (
            f"node {node.node_id!r} has no embedding: add nodes through VectorStoreIndex, or put the embedding model "
            "last into the IngestionPipeline"
        )
        raise InvalidInputError(message)
    return np.asarray(node.embedding, dtype=np.float32)


def to_node(unit: Unit) -> BaseNode:
    """Return the node that a unit carries, without its embedding.

    Raises:
        StoreFormatError: The unit was not stored by `MultiGranularFaissVectorStore`.
    """
    kind = _CLASSES.get(_read(unit.metadata, _TYPE), TextNode)
    return kind.from_dict(json.loads(_read(unit.metadata, _CONTENT)))


def ids_of(metadata: Metadata) -> dict[str, str]:
    """Return the ids of a unit's `node`, of its `parent` (its own where it has none) and of its `document`."""
    ids: dict[str, str] = _read(metadata, _IDS)
    return ids


def is_stand_in(metadata: Metadata) -> bool:
    """Tell whether a unit is there only for its node to be found at another granularity."""
    return _STAND_IN in metadata


def to_match(hit: Hit) -> dict[str, Any]:
    """Return a matched unit as plain data."""
    node = to_node(hit.unit)
    return {
        "text": hit.unit.text,
        "score": hit.score,
        "start_char_idx": getattr(node, "start_char_idx", None),
        "end_char_idx": getattr(node, "end_char_idx", None),
        "granularity": str(granularity_of(node) or Granularity.PASSAGE),
        "id": node.node_id,
    }


def _stand_in(unit: Unit, granularity: Granularity) -> Unit:
    own = content_id("stand-in", granularity, unit.id)
    metadata = {**unit.metadata, _STAND_IN: True}
    return replace(unit, id=own, granularity=granularity, parent_id=unit.id, metadata=metadata)


def _read(metadata: Metadata, key: str) -> Any:
    if key not in metadata:
        message = (
            "this store holds units without LlamaIndex nodes: something else than MultiGranularFaissVectorStore filled "
            "it. Index the documents again through LlamaIndex, into another folder"
        )
        raise StoreFormatError(message)
    return metadata[key]
