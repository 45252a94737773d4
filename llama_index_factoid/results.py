"""Hits of the core as LlamaIndex's results: nodes, with the units that made them results and what stands around."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.schema import BaseNode, IndexNode, NodeWithScore, TextNode
from llama_index.core.schema import Document as TextDocument
from llama_index.core.vector_stores.types import VectorStoreQueryResult

from factoid.metadata import with_fields
from factoid.units import Granularity, Hit, Unit
from llama_index_factoid.convert import stored_nodes


@dataclass
class MultiGranularQueryResult(VectorStoreQueryResult):
    """A query's result, and for each node why it is one and what stands around it.

    Attributes:
        matches: The units that made a parent a result, best first; none for units themselves.
        neighbours: With `expand`, what stands around the matches, or around a unit itself, in order of the text.
    """

    matches: list[list[dict[str, Any]]] = field(default_factory=list)
    neighbours: list[list[dict[str, Any]]] = field(default_factory=list)


def to_result(hits: Sequence[Hit], k: int, *, parents: bool) -> MultiGranularQueryResult:
    """Return the k best distinct nodes of hits; a node that is its own child may be a hit at several granularities."""
    distinct: dict[str, tuple[BaseNode, Hit]] = {}
    for node, hit in zip(stored_nodes([hit.unit for hit in hits]), hits, strict=True):
        distinct.setdefault(node.node_id, (node, hit))
    best = list(distinct.items())[:k]
    result = MultiGranularQueryResult(
        nodes=[node for _, (node, _) in best],
        similarities=[hit.score for _, (_, hit) in best],
        ids=[node_id for node_id, _ in best],
    )
    for node_id, (_, hit) in best:
        matches = hit.matches if parents else ()
        result.matches.append([{**_entry(match.unit), "score": match.score} for match in matches])
        units = [unit for part in (hit, *matches) for unit in part.neighbours]
        units.sort(key=lambda unit: (unit.start, unit.end))
        neighbours = {entry["id"]: entry for entry in map(_entry, units)}
        alone = parents and neighbours.keys() <= {node_id}
        result.neighbours.append([] if alone else list(neighbours.values()))
    return result


def _entry(unit: Unit) -> dict[str, Any]:
    """Describe a unit; one that is its node's own child as the node."""
    own_child = unit.payload and unit.granularity not in (Granularity.PASSAGE, unit.metadata.get("granularity"))
    return {
        "text": unit.text,
        "start_char_idx": unit.start if unit.end else None,
        "end_char_idx": unit.end or None,
        "granularity": str(Granularity.PASSAGE if own_child else unit.granularity),
        "id": unit.parent_id if own_child else unit.id,
    }


def scored_nodes(result: MultiGranularQueryResult) -> list[NodeWithScore]:
    """Return nodes with their scores and, in their metadata, their matches and neighbours."""
    scored = []
    parts = zip(result.nodes or (), result.similarities or (), result.matches, result.neighbours, strict=True)
    for node, score, matches, neighbours in parts:
        lists = (("matches", matches), ("neighbours", neighbours))
        fields = {key: entries for key, entries in lists if entries}
        scored.append(NodeWithScore(node=retrieved(node, fields) if fields else node, score=score))
    return scored


class _Retrieved(BaseNode):
    """A node with metadata that depend on the query that retrieved it: its hash leaves them out."""

    query_keys: tuple[str, ...] = Field(default=(), exclude=True, repr=False)

    @property
    def hash(self) -> str:
        """Identify the stored node, so that retrievers that fuse the results of several queries see one node."""
        lasting = {key: value for key, value in self.metadata.items() if key not in self.query_keys}
        stored = self.model_copy(update={"metadata": lasting})
        return str(super(_Retrieved, stored).hash)  # type: ignore[safe-super]  # that of the node class beside this one


class _RetrievedTextNode(_Retrieved, TextNode): ...


class _RetrievedIndexNode(_Retrieved, IndexNode): ...


class _RetrievedDocument(_Retrieved, TextDocument): ...


# The hash of images holds no metadata.
_RETRIEVED: dict[type[BaseNode], type[_Retrieved]] = {
    TextNode: _RetrievedTextNode,
    IndexNode: _RetrievedIndexNode,
    TextDocument: _RetrievedDocument,
}


def retrieved(node: BaseNode, fields: Mapping[str, Any]) -> BaseNode:
    """Return a copy of a node with metadata that depend on the query: no model gets them, nor does the hash change."""
    copy = _RETRIEVED.get(type(node), type(node)).model_construct(node.model_fields_set, **dict(node))
    if isinstance(copy, _Retrieved):
        copy.query_keys = tuple(fields)
    copy.metadata = with_fields(node.metadata, fields)
    copy.excluded_embed_metadata_keys = list(dict.fromkeys([*node.excluded_embed_metadata_keys, *fields]))
    copy.excluded_llm_metadata_keys = list(dict.fromkeys([*node.excluded_llm_metadata_keys, *fields]))
    return copy
