"""LlamaIndex nodes, results and filters to and from factoid's records.

A node's metadata says what it is: `granularity`, `passage_id`, `section`, `title` and, on a proposition that stands
in for a failed decomposition, `fallback`. Filters can use these keys. Models get title and section with the text, unless
the text itself says them; the other keys are hidden from models. The caller's own metadata reaches LLMs as the framework
has it, and is embedded on request. A caller's `title` and `section` are never replaced, and values under the other keys move
to `source_<key>`.

A store keeps a node as a unit with the node's id, text, span and metadata; the rest of the node is JSON in the unit's
payload. A unit without such a payload was stored by the core, the command line or LangChain, and becomes a node as our
parsers make them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Literal

from llama_index.core.bridge.pydantic import Field
from llama_index.core.schema import (
    DEFAULT_METADATA_TMPL,
    DEFAULT_TEXT_NODE_TMPL,
    BaseNode,
    ImageDocument,
    ImageNode,
    IndexNode,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    RelatedNodeType,
    TextNode,
)
from llama_index.core.schema import Document as TextDocument
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)

from factoid.documents.boxes import LAYOUT, cut_boxes
from factoid.encode import split_heading
from factoid.errors import InvalidInputError
from factoid.filters import All, AnyOf, Comparison, Not, Operator, Tree
from factoid.metadata import hit_fields, with_fields
from factoid.store import GRANULARITIES
from factoid.units import Document, Granularity, Hit, Unit, check_text, content_id

Kind = Literal["passage", "sentence", "proposition"]

HEADING = ("title", "section")
SPAN = ("start_char_idx", "end_char_idx")
WINDOW = ("window", "original_text")  # the framework's `SentenceWindowNodeParser` has the same keys
_FIELDS = ("granularity", "passage_id", "fallback", *HEADING)

_Templates = tuple[str, str, str]  # of a metadatum, between metadata, of the text
_FRAMEWORKS: _Templates = (DEFAULT_METADATA_TMPL, "\n", DEFAULT_TEXT_NODE_TMPL)
_OURS: _Templates = ("{value}", " — ", "{metadata_str}: {content}")  # the same as `factoid.encode.EMBED_TEMPLATE`

_CONTENT, _TYPE = "_node_content", "_node_type"
# Keys that filters of LlamaIndex's own stores find beside a node's metadata.
_DOCUMENT_IDS = ("document_id", "doc_id", "ref_doc_id")
_ADDED = (_TYPE, *_DOCUMENT_IDS)
_CLASSES: dict[str, type[BaseNode]] = {
    kind.class_name(): kind for kind in (TextNode, IndexNode, ImageNode, Node, TextDocument, ImageDocument)
}


def text_of(node: BaseNode) -> str:
    """Return a node's text without its metadata."""
    return node.get_content(metadata_mode=MetadataMode.NONE)


def span_of(node: BaseNode) -> tuple[int, int] | None:
    """Return a node's span in its source, or None if it has none."""
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    return None if start is None or end is None else (start, end)


def granularity_of(node: BaseNode) -> Granularity | None:
    """Return the granularity of a node of our parsers, or None for a node of another parser."""
    value = node.metadata.get("granularity")
    return next((kind for kind in GRANULARITIES if kind == value), None)


def to_core(node: BaseNode) -> Document:
    """Return a node as the core takes it: title and section from metadata where they are strings."""
    title, section = (value if isinstance(value := node.metadata.get(key), str) else "" for key in HEADING)
    return Document(text_of(node), title, section, node.node_id)


def to_nodes(
    source_node: BaseNode,
    units: Sequence[Unit],
    *,
    id_func: Callable[[int, BaseNode], str] | None = None,
    include_metadata: bool = True,
    include_prev_next_rel: bool = True,
    embed_metadata: Sequence[str] | None = HEADING,
    windows: Mapping[str, str] | None = None,
) -> list[TextNode]:
    """Return units, parents before their children, as nodes.

    SOURCE is the node's own source, else the node. PARENT is the node of the unit's passage, if it is among the units,
    else the node; passages of a whole document have no PARENT. A passage with the id of the node is the node itself, and
    keeps its relationships. Options are those of `MultiGranularNodeParser`, and `windows`, the text around units by id.
    """
    inherited = _inherited(source_node) if include_metadata else {}
    info = source_node.as_related_node_info()
    source = source_node.source_node or info
    offset = offset_of(source_node)
    nodes: list[TextNode] = []
    infos: dict[str, RelatedNodeInfo] = {}  # by unit id
    last: dict[Granularity, TextNode] = {}
    # Excluded here earlier, not by the caller.
    repeated = _repeated(to_core(source_node), source_node.metadata) if _is_unit(source_node) else []
    excluded = [
        [key for key in keys if key not in repeated]
        for keys in (source_node.excluded_embed_metadata_keys, source_node.excluded_llm_metadata_keys)
    ]
    for position, unit in enumerate(units):
        is_source = unit.id == source_node.node_id
        passage = infos.get(unit.parent_id)
        metadata, hidden = _with_place(inherited, unit, passage.node_id if passage else unit.parent_id)
        if offset is None and LAYOUT in metadata and LAYOUT in source_node.excluded_embed_metadata_keys:
            metadata[LAYOUT] = cut_boxes(metadata[LAYOUT], unit.start, unit.end)
        if windows is not None:
            metadata = with_fields(metadata, dict(zip(WINDOW, (windows[unit.id], unit.text), strict=True)))
            hidden += WINDOW
        relationships: dict[NodeRelationship, RelatedNodeType] = {NodeRelationship.SOURCE: source}
        if is_source:
            relationships = dict(source_node.relationships)
        elif unit.granularity is not Granularity.PASSAGE or source is not info:
            relationships[NodeRelationship.PARENT] = passage or info
        hidden += _repeated(unit, metadata)
        unasked = [] if embed_metadata is None else [key for key in metadata if key not in embed_metadata]
        not_embedded = list(dict.fromkeys([*excluded[0], *hidden, *unasked]))
        not_shown = list(dict.fromkeys([*excluded[1], *hidden]))
        templates = _templates(source_node, metadata.keys() - ({*not_embedded} & {*not_shown}))
        node = TextNode(
            id_=id_func(position, source_node) if id_func and not is_source else unit.id,
            text=unit.text,
            metadata=metadata,
            excluded_embed_metadata_keys=not_embedded,
            excluded_llm_metadata_keys=not_shown,
            metadata_template=templates[0],
            metadata_separator=templates[1],
            text_template=templates[2],
            relationships=relationships,
            start_char_idx=None if offset is None else offset + unit.start,
            end_char_idx=None if offset is None else offset + unit.end,
        )
        infos[unit.id] = node.as_related_node_info()
        if include_prev_next_rel:
            if sibling := last.get(unit.granularity):
                node.relationships[NodeRelationship.PREVIOUS] = sibling.as_related_node_info()
                sibling.relationships[NodeRelationship.NEXT] = infos[unit.id]
            last[unit.granularity] = node
        nodes.append(node)
    return nodes


def to_units(node: BaseNode, granularities: Sequence[Granularity]) -> list[Unit]:
    """Return a node as a unit; one without a granularity is a passage, followed by itself as its own children.

    A node without a source is its own document. Lone surrogates are refused.
    """
    text = text_of(node)
    check_text(text, f"the text of node {node.node_id!r}")
    kind = granularity_of(node)
    document_id = node.ref_doc_id or node.node_id
    parent = node.parent_node if kind in (Granularity.SENTENCE, Granularity.PROPOSITION) else None
    start, end = span_of(node) or (0, 0)
    core = to_core(node)
    unit = Unit(
        id=node.node_id,
        text=text,
        granularity=kind or Granularity.PASSAGE,
        document_id=document_id,
        parent_id=parent.node_id if parent else document_id,
        start=start,
        end=end,
        title=core.title,
        section=core.section,
        metadata=node.metadata | {_TYPE: node.class_name(), **dict.fromkeys(_DOCUMENT_IDS, node.ref_doc_id or "None")},
        payload=_payload(node, text),
    )
    if kind is not None:
        return [unit]
    ids = child_ids(unit.id, granularities)
    return [unit, *(replace(unit, id=ids[kind], granularity=kind, parent_id=unit.id) for kind in ids)]


def child_ids(node_id: str, granularities: Sequence[Granularity]) -> dict[Granularity, str]:
    """Return a node's ids as its own child, made from the node's id so that a changed text replaces them."""
    return {kind: content_id("own child", kind, node_id) for kind in granularities if kind is not Granularity.PASSAGE}


def stored_node(unit: Unit) -> BaseNode:
    """Return the node of a stored unit, without its embedding."""
    if not unit.payload.startswith(_PAYLOAD):
        return _core_node(unit)
    record = json.loads(unit.payload)
    content = json.loads(record[_CONTENT])
    kind = _CLASSES.get(record[_TYPE], TextNode)
    saved, content["metadata"] = content["metadata"], dict(unit.metadata)
    for key in _ADDED:
        if key in saved:
            content["metadata"][key] = saved[key]
        else:
            content["metadata"].pop(key, None)
    if issubclass(kind, TextNode):
        content.setdefault("text", unit.text)
    return kind.from_dict(content)


_PAYLOAD = json.dumps({_CONTENT: ""})[:-3]


def _payload(node: BaseNode, text: str) -> str:
    """Return a node as JSON, without what its unit already holds: its text, and metadata under the caller's keys."""
    content = node.model_dump(mode="json")  # as LlamaIndex's own stores do: some fields hold bytes
    content["embedding"] = None
    content["metadata"] = {key: value for key, value in content["metadata"].items() if key in _ADDED}
    if content.get("text") == text:
        del content["text"]
    return json.dumps({_CONTENT: json.dumps(content), _TYPE: node.class_name()})


def _core_node(unit: Unit) -> BaseNode:
    """Return a unit that was not stored by LlamaIndex as a node."""
    document = TextDocument(id_=unit.document_id, text="", metadata=dict(unit.metadata))
    if unit.granularity is Granularity.DOCUMENT:
        heading = {"title": unit.title, "section": unit.section}
        document.metadata = {key: value for key, value in heading.items() if value} | document.metadata
        document.set_content(unit.text)
        return document
    [node] = to_nodes(document, [unit])
    node.relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=unit.document_id)}
    if unit.granularity is not Granularity.PASSAGE:
        node.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=unit.parent_id)
    return node


def _inherited(source_node: BaseNode) -> dict[str, Any]:
    """Return the metadata that the parts of a node inherit: all but the keys that say which part the node itself is."""
    metadata = {**(source_node.source_node.metadata if source_node.source_node else {}), **source_node.metadata}
    if not _is_unit(source_node):
        return metadata
    excluded = source_node.excluded_embed_metadata_keys
    return {key: value for key, value in metadata.items() if key not in (*_FIELDS, *WINDOW) or key not in excluded}


def _with_place(inherited: Mapping[str, Any], unit: Unit, passage_id: str) -> tuple[dict[str, Any], list[str]]:
    """Return metadata with title, section and the place of a unit, and the keys of its place."""
    place: dict[str, Any] = {"granularity": str(unit.granularity)}
    if unit.granularity is not Granularity.PASSAGE:
        place["passage_id"] = passage_id
    if "fallback" in unit.metadata:
        place["fallback"] = unit.metadata["fallback"]
    derived = {"title": unit.title, "section": unit.section}
    heading = {key: inherited.get(key, value) for key, value in derived.items() if value or key in inherited}
    return heading | with_fields(inherited, place | heading), list(place)


def _repeated(unit: Unit | Document, metadata: Mapping[str, Any]) -> list[str]:
    """Return which of the keys title and section the unit's text, or its section, already says."""
    heading = zip(HEADING, split_heading(unit), strict=True)
    return [key for key, part in heading if not part and isinstance(metadata.get(key), str)]


def _templates(source_node: BaseNode, shown: Set[str]) -> _Templates:
    """Return the node's templates; the core's in place of the framework's where models get only the heading."""
    text_template = getattr(source_node, "text_template", DEFAULT_TEXT_NODE_TMPL)
    templates = (source_node.metadata_template, source_node.metadata_separator, text_template)
    if templates not in (_FRAMEWORKS, _OURS):
        return templates
    return _OURS if shown <= {*HEADING} else _FRAMEWORKS


def _is_unit(node: BaseNode) -> bool:
    """Tell whether a node is one of ours, not a caller's node with a `granularity` of its own."""
    return granularity_of(node) is not None and "granularity" in node.excluded_embed_metadata_keys


def offset_of(source_node: BaseNode) -> int | None:
    """Return where the node's text starts in its source, or None if that is not known."""
    if source_node.source_node is None:
        return 0
    span = span_of(source_node)
    return span[0] if span and span[1] - span[0] == len(text_of(source_node)) else None


def as_nodes(hit: Hit) -> Hit:
    """Return a hit with nodes in place of their own children."""
    units = [unit for part in (hit, *hit.matches) for unit in (part.unit, *part.neighbours)]
    nodes = {
        unit.id: replace(unit, id=unit.parent_id, granularity=Granularity.PASSAGE, parent_id=unit.document_id)
        for unit in units
        if unit.payload and unit.granularity not in (Granularity.PASSAGE, unit.metadata.get("granularity"))
    }
    return _with_nodes(hit, nodes) if nodes else hit


def _with_nodes(hit: Hit, nodes: Mapping[str, Unit]) -> Hit:
    return replace(
        hit,
        unit=nodes.get(hit.unit.id, hit.unit),
        matches=tuple(_with_nodes(match, nodes) for match in hit.matches),
        neighbours=tuple(nodes.get(unit.id, unit) for unit in hit.neighbours),
    )


def scored_nodes(hits: Iterable[Hit]) -> list[NodeWithScore]:
    """Return hits as nodes with their scores and, in their metadata, their matches and neighbours."""
    scored = []
    for hit in hits:
        node, fields = stored_node(hit.unit), hit_fields(hit, *SPAN)
        scored.append(NodeWithScore(node=retrieved(node, fields) if fields else node, score=hit.score))
    return scored


class _Retrieved(BaseNode):
    """A node whose hash leaves out the metadata that depends on the query that retrieved it."""

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
    """Return a copy of a node with metadata that depends on the query, is hidden from models and does not change the hash."""
    copy = _RETRIEVED.get(type(node), type(node)).model_construct(node.model_fields_set, **dict(node))
    if isinstance(copy, _Retrieved):
        copy.query_keys = tuple(fields)
    copy.metadata = with_fields(node.metadata, fields)
    copy.excluded_embed_metadata_keys = list(dict.fromkeys([*node.excluded_embed_metadata_keys, *fields]))
    copy.excluded_llm_metadata_keys = list(dict.fromkeys([*node.excluded_llm_metadata_keys, *fields]))
    return copy


_OPERATORS = {operator: Operator[operator.name] for operator in FilterOperator}


def to_tree(filters: MetadataFilters | None) -> Tree | None:
    """Return filters as a tree with the meaning of LlamaIndex's own reference, or None where all pass.

    A stored None counts as missing: `!=`, `nin` and `is_empty` match it and a missing key, the other operators do not. `not`
    means that none of its conditions holds. A stored value that an operator cannot compare does not match.
    """
    if filters is not None and not isinstance(filters, MetadataFilters):
        raise InvalidInputError(f"filters must be MetadataFilters, got {type(filters).__name__}")
    if filters is None or not filters.filters:
        return None
    parts = tuple(_part(part) for part in filters.filters)
    if filters.condition is FilterCondition.NOT:
        return Not(AnyOf(parts))
    if len(parts) == 1:
        return parts[0]
    return AnyOf(parts) if filters.condition is FilterCondition.OR else All(parts)


def _part(part: MetadataFilter | MetadataFilters) -> Tree:
    if isinstance(part, MetadataFilters):
        return to_tree(part) or All(())
    if part.value is None and part.operator in (FilterOperator.EQ, FilterOperator.NE):
        return AnyOf(()) if part.operator is FilterOperator.EQ else All(())
    return Comparison(part.key, _OPERATORS[part.operator], part.value)
