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
from llama_index_factoid.convert import granularity_of, stored_nodes, text_of


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
    """Return hits as the k best distinct nodes.

    Args:
        hits: Best first. A node that is its own child may be there at several granularities.
        k: How many nodes.
        parents: Whether hits are parents, with matches.
    """
    result = MultiGranularQueryResult()
    nodes: list[BaseNode] = []
    ids: list[str] = []
    scores: list[float] = []
    for hit, node in zip(hits, stored_nodes(hits), strict=True):
        if len(nodes) == k or node.node_id in ids:
            continue
        nodes.append(node)
        ids.append(node.node_id)
        scores.append(hit.score)
        matches = []
        around = [*hit.neighbours]
        for match in hit.matches if parents else ():
            # A node that is its own child is described as the node.
            unit = hit.unit if hit.unit.payload and match.unit.payload == hit.unit.payload else match.unit
            matches.append(
                {
                    "text": unit.text,
                    "score": match.score,
                    "start_char_idx": unit.start if unit.end else None,
                    "end_char_idx": unit.end or None,
                    "granularity": str(unit.granularity),
                    "id": unit.id,
                }
            )
            around += match.neighbours
        result.matches.append(matches)
        result.neighbours.append(_neighbours(around, node, parents=parents) if around else [])
    result.nodes, result.ids, result.similarities = nodes, ids, scores
    return result


def _neighbours(units: Sequence[Unit], node: BaseNode, *, parents: bool) -> list[dict[str, Any]]:
    """Describe what stands around the matches of a node; nothing where a parent stands alone."""
    described = {
        neighbour.node_id: {
            "text": text_of(neighbour),
            "start_char_idx": getattr(neighbour, "start_char_idx", None),
            "end_char_idx": getattr(neighbour, "end_char_idx", None),
            "granularity": str(granularity_of(neighbour) or Granularity.PASSAGE),
            "id": neighbour.node_id,
        }
        for neighbour in stored_nodes(sorted(units, key=lambda unit: (unit.start, unit.end)))
    }
    return [] if parents and described.keys() <= {node.node_id} else list(described.values())


def scored_nodes(result: MultiGranularQueryResult) -> list[NodeWithScore]:
    """Return nodes with their scores and, in their metadata, their matches and neighbours."""
    scored = []
    parts = zip(result.nodes or (), result.similarities or (), result.matches, result.neighbours, strict=True)
    for node, score, matches, neighbours in parts:
        fields = {"matches": matches} if matches else {}
        if neighbours:
            fields["neighbours"] = neighbours
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


class RetrievedTextNode(_Retrieved, TextNode):
    """A `TextNode` as one query retrieved it."""


class RetrievedIndexNode(_Retrieved, IndexNode):
    """An `IndexNode` as one query retrieved it."""


class RetrievedDocument(_Retrieved, TextDocument):
    """A `Document` as one query retrieved it."""


# The hash of images holds no metadata.
_RETRIEVED: dict[type[BaseNode], type[_Retrieved]] = {
    TextNode: RetrievedTextNode,
    IndexNode: RetrievedIndexNode,
    TextDocument: RetrievedDocument,
}


def retrieved(node: BaseNode, fields: Mapping[str, Any]) -> BaseNode:
    """Return a copy of a node with metadata that depend on the query: no model gets them, nor does the hash change."""
    copy = _RETRIEVED.get(type(node), type(node)).model_construct(node.model_fields_set, **dict(node))
    if isinstance(copy, _Retrieved):
        copy.query_keys = tuple(fields)
    free = fields.keys().isdisjoint(node.metadata)
    copy.metadata = {**node.metadata, **fields} if free else with_fields(node.metadata, fields)
    copy.excluded_embed_metadata_keys = list(dict.fromkeys([*node.excluded_embed_metadata_keys, *fields]))
    copy.excluded_llm_metadata_keys = list(dict.fromkeys([*node.excluded_llm_metadata_keys, *fields]))
    return copy
