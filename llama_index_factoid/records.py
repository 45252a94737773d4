"""Nodes as a store keeps them: a unit carries its node, as JSON, in its payload, and the node's metadata as its own.

A node that no parser of ours made has no granularity. It is kept as a passage, and again as a stand-in at each other
granularity, so that a search finds it whatever it compares with the query. A stand-in carries no copy of the node: its
parent is the unit that does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from llama_index.core.schema import BaseNode, Document, ImageDocument, ImageNode, IndexNode, Node, TextNode

from factoid.encode import Vectors
from factoid.errors import InvalidInputError, StoreFormatError
from factoid.store import to_json
from factoid.units import Granularity, Unit, check_text, content_id
from llama_index_factoid.convert import granularity_of, text_of

_CONTENT, _TYPE = "_node_content", "_node_type"
_STAND_IN = json.dumps({"_stand_in": True})
# What LlamaIndex's own stores let filters find beside a node's metadata.
_DOCUMENT_IDS = ("document_id", "doc_id", "ref_doc_id")
_ADDED = (_TYPE, *_DOCUMENT_IDS)
_CLASSES: dict[str, type[BaseNode]] = {
    kind.class_name(): kind for kind in (TextNode, IndexNode, ImageNode, Node, Document, ImageDocument)
}


def checked_nodes(nodes: Sequence[BaseNode]) -> Sequence[BaseNode]:
    """Return nodes that are some.

    Raises:
        InvalidInputError: A single node instead of several, or something that is none.
    """
    given = "a single one" if isinstance(nodes, BaseNode) else None
    wrong = given or next(
        (f"{type(node).__name__} among them" for node in nodes if not isinstance(node, BaseNode)), None
    )
    if wrong:
        message = f"expected a list of nodes, got {wrong}"
        raise InvalidInputError(message)
    return nodes


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
            **node.metadata,
            _TYPE: node.class_name(),
            **dict.fromkeys(_DOCUMENT_IDS, node.ref_doc_id or "None"),
        },
        payload=_payload(node, text),
    )
    if kind is not None:
        return [unit]
    return [unit, *(_stand_in(unit, each) for each in granularities if each is not Granularity.PASSAGE)]


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
    kept = json.loads(unit.payload or "{}")
    content = _content(kept)
    kind = _CLASSES.get(kept.get(_TYPE, ""), TextNode)
    own = content.get("metadata", {})
    content["metadata"] = {
        key: own.get(key, value) for key, value in unit.metadata.items() if key not in _ADDED or key in own
    }
    if issubclass(kind, TextNode):
        content.setdefault("text", unit.text)
    return kind.from_dict(content)


def span_of(unit: Unit) -> tuple[int | None, int | None]:
    """Return where a unit's node says that it stands in its document: None where it does not say.

    Raises:
        StoreFormatError: The unit was not stored by `MultiGranularFaissVectorStore`.
    """
    content = _content(json.loads(unit.payload or "{}"))
    return content.get("start_char_idx"), content.get("end_char_idx")


def is_stand_in(unit: Unit) -> bool:
    """Tell whether a unit is there only for its parent to be found at another granularity."""
    return unit.granularity is not Granularity.PASSAGE and unit.id == _stand_in_id(unit.parent_id, unit.granularity)


def stand_ins_of(node_id: str, granularities: Sequence[Granularity]) -> list[str]:
    """Return the ids that the stand-ins of a node have, if it has any."""
    return [_stand_in_id(node_id, each) for each in granularities if each is not Granularity.PASSAGE]


def _payload(node: BaseNode, text: str) -> str:
    """Return a node as JSON, without what its unit holds anyway: its text, and metadata under keys of the caller's."""
    content = node.model_dump(mode="json")  # as LlamaIndex's own stores do: some fields hold bytes
    content["embedding"] = None
    content["metadata"] = {key: value for key, value in content["metadata"].items() if key in _ADDED}
    if content.get("text") == text:
        del content["text"]
    return json.dumps({_CONTENT: json.dumps(content), _TYPE: node.class_name()})


def _stand_in(unit: Unit, granularity: Granularity) -> Unit:
    own = _stand_in_id(unit.id, granularity)
    return replace(unit, id=own, granularity=granularity, parent_id=unit.id, payload=_STAND_IN)


def _stand_in_id(node_id: str, granularity: Granularity) -> str:
    return content_id("stand-in", granularity, node_id)


def _content(kept: dict[str, Any]) -> dict[str, Any]:
    if _CONTENT not in kept:
        message = (
            "this store holds units without LlamaIndex nodes: something else than MultiGranularFaissVectorStore filled "
            "it. Index the documents again through LlamaIndex, into another folder"
        )
        raise StoreFormatError(message)
    content: dict[str, Any] = json.loads(kept[_CONTENT])
    return content
