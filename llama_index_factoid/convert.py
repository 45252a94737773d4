"""LlamaIndex nodes to and from factoid's records.

What a node is stands in its metadata: `granularity`, `passage_id`, `section`, `title` and, on a proposition that stands
in for a failed decomposition, `fallback`. These can be filtered on and are excluded from the texts that models get. The
caller's own metadata keep the framework's behaviour: `title` and `section` are never replaced, and a value under one of
the other keys moves to `source_<key>`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from llama_index.core.schema import (
    DEFAULT_TEXT_NODE_TMPL,
    BaseNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    RelatedNodeType,
    TextNode,
)

from factoid.store import GRANULARITIES
from factoid.units import Document, Granularity, Unit

Kind = Literal["passage", "sentence", "proposition"]

_FIELDS = ("granularity", "passage_id", "section", "title", "fallback")


def text_of(node: BaseNode) -> str:
    """Return a node's text without its metadata."""
    return node.get_content(metadata_mode=MetadataMode.NONE)


def granularity_of(node: BaseNode) -> Granularity | None:
    """Return what a node of our parsers is, or None for a node that another parser made."""
    value = node.metadata.get("granularity")
    return next((kind for kind in GRANULARITIES if kind == value), None)


def to_core(node: BaseNode) -> Document:
    """Return a node as the core takes it: title and section from metadata where they are strings.

    Raises:
        InvalidInputError: The text holds lone surrogates.
    """
    title, section = (_string(node.metadata.get(key)) for key in ("title", "section"))
    return Document(text_of(node), title, section, node.node_id)


def to_nodes(
    given: BaseNode,
    units: Sequence[Unit],
    *,
    id_func: Callable[[int, BaseNode], str] | None = None,
    include_metadata: bool = True,
    include_prev_next_rel: bool = True,
) -> list[TextNode]:
    """Return units of a node as nodes.

    SOURCE is the given node's source, else the given node. PARENT is the node of the unit's passage, if it is among the
    units, else the given node; a passage of a whole document has none. PREVIOUS and NEXT link units of one granularity.

    Args:
        given: The node that the units were cut from, as `to_core` gave it.
        units: Parents before their children.
        id_func: Makes the ids from position and given node; None for the units' own ids.
        include_metadata: Inherit the metadata of the given node and its source.
        include_prev_next_rel: Link siblings.
    """
    inherited = _inherited(given) if include_metadata else {}
    own = given.as_related_node_info()
    source = given.source_node or own
    offset = _offset(given)
    nodes: list[TextNode] = []
    made: dict[str, RelatedNodeInfo] = {}  # by unit id
    last: dict[Granularity, TextNode] = {}
    for position, unit in enumerate(units):
        passage = made.get(unit.parent_id)
        metadata, added = _with_place(inherited, unit, passage.node_id if passage else unit.parent_id)
        relationships: dict[NodeRelationship, RelatedNodeType] = {NodeRelationship.SOURCE: source}
        if unit.granularity is not Granularity.PASSAGE or source is not own:
            relationships[NodeRelationship.PARENT] = passage or own
        node = TextNode(
            id_=id_func(position, given) if id_func else unit.id,
            text=unit.text,
            metadata=metadata,
            excluded_embed_metadata_keys=_union(given.excluded_embed_metadata_keys, added),
            excluded_llm_metadata_keys=_union(given.excluded_llm_metadata_keys, added),
            metadata_template=given.metadata_template,
            metadata_separator=given.metadata_separator,
            text_template=getattr(given, "text_template", DEFAULT_TEXT_NODE_TMPL),
            relationships=relationships,
            start_char_idx=None if offset is None else offset + unit.start,
            end_char_idx=None if offset is None else offset + unit.end,
        )
        made[unit.id] = node.as_related_node_info()
        if include_prev_next_rel:
            if before := last.get(unit.granularity):
                node.relationships[NodeRelationship.PREVIOUS] = before.as_related_node_info()
                before.relationships[NodeRelationship.NEXT] = made[unit.id]
            last[unit.granularity] = node
        nodes.append(node)
    return nodes


def with_fields(metadata: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of metadata with these fields; other values under their keys move to `source_<key>`."""
    moved: dict[str, Any] = {}
    for key in fields:
        if key in metadata and metadata[key] != fields[key]:
            name = f"source_{key}"
            while name in metadata:
                name = f"source_{name}"
            moved[name] = metadata[key]
    return {**metadata, **moved, **fields}


def add_fields(node: BaseNode, fields: Mapping[str, Any]) -> None:
    """Set metadata of a node that are not shown to models."""
    node.metadata = with_fields(node.metadata, fields)
    node.excluded_embed_metadata_keys = _union(node.excluded_embed_metadata_keys, list(fields))
    node.excluded_llm_metadata_keys = _union(node.excluded_llm_metadata_keys, list(fields))


def _inherited(given: BaseNode) -> dict[str, Any]:
    """Return the metadata that the parts of a node take over: all but what says which part the node itself is."""
    metadata = {**(given.source_node.metadata if given.source_node else {}), **given.metadata}
    if granularity_of(given) is None or "granularity" not in given.excluded_embed_metadata_keys:
        return metadata
    excluded = given.excluded_embed_metadata_keys
    return {key: value for key, value in metadata.items() if key not in _FIELDS or key not in excluded}


def _with_place(inherited: Mapping[str, Any], unit: Unit, passage_id: str) -> tuple[dict[str, Any], list[str]]:
    """Return metadata with the fields of a unit, and the keys of those fields."""
    place: dict[str, Any] = {"granularity": str(unit.granularity)}
    if unit.granularity is not Granularity.PASSAGE:
        place["passage_id"] = passage_id
    if "fallback" in unit.metadata:
        place["fallback"] = unit.metadata["fallback"]
    derived = {"title": unit.title, "section": unit.section}
    fields = place | {key: value for key, value in derived.items() if value and key not in inherited}
    return with_fields(inherited, fields), list(fields)


def _offset(given: BaseNode) -> int | None:
    """Return where the given node's text starts in its source, or None if that is not known."""
    if given.source_node is None:
        return 0
    start, end = getattr(given, "start_char_idx", None), getattr(given, "end_char_idx", None)
    return start if start is not None and end is not None and end - start == len(text_of(given)) else None


def _union(keys: Sequence[str], more: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*keys, *more]))


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
