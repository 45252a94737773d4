"""LlamaIndex nodes, results and filters to and from factoid's records.

A node's metadata says what it is: `granularity`, `passage_id`, `section`, `title` and, on a
proposition that stands in for a failed decomposition, `fallback`. Filters can use these keys.
Models get title and section with the text, unless the text itself says them; the other keys are
hidden from models. The caller's own metadata reaches LLMs as the framework has it, and is not
embedded, but for the keys that `embed_metadata` names, which a node keeps in turn. A caller's
`title` and `section` are never replaced, and values under the other keys move to `source_<key>`.

A store keeps a node as a unit with the node's id, text, span and metadata; the rest of the node is
JSON in the unit's payload. A unit without such a payload was stored by the core, the command line
or LangChain, and becomes a node as our parsers make them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, Literal

from llama_index.core.constants import DATA_KEY, TYPE_KEY
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
from llama_index.core.storage.docstore.utils import json_to_doc
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from pydantic import ValidationError
from typing_extensions import override

from factoid.framework import (
    DEPTH,
    GRANULARITIES,
    KIND,
    LAYOUT_KEY,
    MARKUP_KEYS,
    WINDOW,
    All,
    AnyOf,
    Comparison,
    Document,
    Granularity,
    Hit,
    InvalidInputError,
    MatchFields,
    Not,
    Operator,
    Tree,
    Unit,
    check_size,
    check_text,
    cut_boxes,
    hit_fields,
    match_fields,
    plain_metadata,
    seen_text,
    split_heading,
    text_field,
    too_deep,
    with_fields,
)

GranularityName = Literal["passage", "sentence", "proposition"]

HEADING = ("title", "section")
SPAN = ("start_char_idx", "end_char_idx")
# the key under which a node says which metadata were embedded with its text
EMBEDDED = "embed_metadata"
_PLACE = (*KIND, *WINDOW)

_Templates = tuple[str, str, str]  # of a metadatum, between metadata, of the text
_FRAMEWORKS: _Templates = (DEFAULT_METADATA_TMPL, "\n", DEFAULT_TEXT_NODE_TMPL)
# the same as `factoid.heading_template.EMBED_TEMPLATE`
_OURS: _Templates = ("{value}", " — ", "{metadata_str}: {content}")

# Keys that filters of LlamaIndex's own stores find beside a node's metadata.
_TYPE = "_node_type"
REF_DOC_ID = "ref_doc_id"
DOCUMENT_IDS = ("document_id", "doc_id", REF_DOC_ID)
_ADDED = (_TYPE, *DOCUMENT_IDS)


_APART = {"embedding", "metadata", "relationships"}
_TEXT_FIELDS = tuple(name for name in TextNode.model_fields if name not in _APART)
_TEXT_CLASS = TextNode.class_name()
_PLAIN = {str, int, list, type(None)}  # whose lists are of strings
_INFO_FIELDS = tuple(RelatedNodeInfo.model_fields)
_INFO_CLASS = RelatedNodeInfo.class_name()
# The classes of nodes by the name that LlamaIndex writes with their fields.
_NODE_CLASSES: dict[Any, type[BaseNode]] = {}
for _node_class in (TextNode, IndexNode, ImageNode, TextDocument, ImageDocument, Node):
    _NODE_CLASSES[_node_class.class_name()] = _node_class


def text_of(node: BaseNode) -> str:
    """Return a node's text without its metadata."""
    if type(node) is TextNode:
        return node.text  # as below, in a tenth of the time
    return node.get_content(metadata_mode=MetadataMode.NONE)


def span_of(node: BaseNode) -> tuple[int, int] | None:
    """Return a node's place in its source, half-open, in characters; None if that is not known."""
    start = getattr(node, "start_char_idx", None)
    end = getattr(node, "end_char_idx", None)
    if start is None or end is None:
        return None
    return (start, end)


def granularity_of(node: BaseNode) -> Granularity | None:
    """Return the granularity of a node of our parsers, or None for a node of another parser."""
    value = node.metadata.get("granularity")
    if value in GRANULARITIES:
        return Granularity(value)
    return None


def is_ours(node: BaseNode) -> bool:
    """Return whether one of our parsers made a node."""
    return granularity_of(node) is not None and "granularity" in node.excluded_llm_metadata_keys


def embedded_metadata(nodes: Iterable[BaseNode]) -> list[str] | None:
    """Return the `embed_metadata` of the parser that made some nodes.

    It is None if our parsers made none of them.

    Raises:
        InvalidInputError: Parsers with different lists made them.
    """
    lists: list[list[str]] = []
    for node in nodes:
        keys = node.metadata.get(EMBEDDED, []) if is_ours(node) else None
        if keys is not None and keys not in lists:
            lists.append(keys)
    if len(lists) > 1:
        raise InvalidInputError(
            f"these nodes were made with embed_metadata={lists[0]} and {lists[1]}: use one of them"
        )
    if lists:
        return lists[0]
    return None


def to_core(node: BaseNode) -> Document:
    """Return a node as the core takes it.

    It has what the node is and, where they are strings, title and section of the metadata.
    """
    title, section = (text_field(node.metadata, key) for key in HEADING)
    return Document(text_of(node), title, section, node.node_id, _markup_fields(node))


def _markup_fields(node: BaseNode) -> dict[str, str]:
    """Return what the metadata of a node say of the markup of its text."""
    markup = {}
    for key in MARKUP_KEYS:
        if isinstance(value := node.metadata.get(key), str):
            markup[key] = value
    return markup


def to_nodes(
    source_node: BaseNode,
    units: Sequence[Unit],
    *,
    include_metadata: bool = True,
    include_prev_next_rel: bool = True,
    embed_metadata: Sequence[str] = (),
    windows: Mapping[str, str] | None = None,
) -> list[TextNode]:
    """Return units, parents before their children, as nodes.

    SOURCE is the node's own source, else the node. PARENT is the node of the unit's passage, if it
    is among the units, else the node; passages of a whole document have no PARENT. A passage with
    the id of the node is the node itself, and keeps its relationships. Options are those of
    `MultiGranularNodeParser`, and `windows`, the text around units by id.
    """
    info = source_node.as_related_node_info()
    source = source_node.source_node or info
    inherited: dict[str, Any] = {}
    if include_metadata:
        inherited = {**source.metadata, **source_node.metadata}
    if is_ours(source_node):
        for key in (*_PLACE, EMBEDDED):
            inherited.pop(key, None)
    offset = offset_of(source_node)
    nodes: list[TextNode] = []
    infos: dict[str, RelatedNodeInfo] = {}  # by unit id
    last: dict[Granularity, TextNode] = {}
    for unit in units:
        passage = infos.get(unit.parent_id)
        metadata, hidden = _with_place(inherited, unit)
        if embed_metadata:
            first = {key: metadata[key] for key in embed_metadata if key in metadata}
            metadata = first | with_fields(metadata, {EMBEDDED: list(embed_metadata)})
            hidden.append(EMBEDDED)
        is_layout = LAYOUT_KEY in source_node.excluded_embed_metadata_keys
        if offset is None and is_layout and LAYOUT_KEY in metadata:
            metadata[LAYOUT_KEY] = cut_boxes(metadata[LAYOUT_KEY], unit.start, unit.end)
        if windows is not None:
            window = zip(WINDOW, (windows[unit.id], unit.text), strict=True)
            metadata = with_fields(metadata, dict(window))
            hidden += WINDOW
        relationships: dict[NodeRelationship, RelatedNodeType] = {NodeRelationship.SOURCE: source}
        if unit.id == source_node.node_id:
            relationships = dict(source_node.relationships)
        elif unit.granularity is not Granularity.PASSAGE or source is not info:
            relationships[NodeRelationship.PARENT] = passage or info
        hidden += _repeated(unit, metadata)
        not_embedded = _not_embedded(source_node, metadata, hidden, embed_metadata)
        not_shown = list(dict.fromkeys([*source_node.excluded_llm_metadata_keys, *hidden]))
        shown = metadata.keys() - ({*not_embedded} & {*not_shown}) - {*embed_metadata}
        templates = _templates(source_node, shown)
        span: tuple[int | None, int | None] = (None, None)
        if offset is not None:
            span = (offset + unit.start, offset + unit.end)
        node = TextNode(
            id_=unit.id,
            text=unit.text,
            metadata=metadata,
            excluded_embed_metadata_keys=not_embedded,
            excluded_llm_metadata_keys=not_shown,
            metadata_template=templates[0],
            metadata_separator=templates[1],
            text_template=templates[2],
            relationships=relationships,
            start_char_idx=span[0],
            end_char_idx=span[1],
        )
        infos[unit.id] = node.as_related_node_info()
        if include_prev_next_rel:
            if sibling := last.get(unit.granularity):
                node.relationships[NodeRelationship.PREVIOUS] = sibling.as_related_node_info()
                sibling.relationships[NodeRelationship.NEXT] = infos[unit.id]
            last[unit.granularity] = node
        nodes.append(node)
    return nodes


def _not_embedded(
    source_node: BaseNode,
    metadata: Mapping[str, Any],
    hidden: Iterable[str],
    embed_metadata: Sequence[str],
) -> list[str]:
    """Return the keys of the metadata that embedding models do not get.

    They get the heading, and what `embed_metadata` names.
    """
    keys = [*source_node.excluded_embed_metadata_keys, *hidden]
    keys += [key for key in metadata if key not in HEADING]
    not_embedded = []
    for key in dict.fromkeys(keys):
        if key not in embed_metadata:
            not_embedded.append(key)
    return not_embedded


def to_unit(node: BaseNode) -> Unit:
    """Return a node as a unit: a passage, unless its metadata name another granularity.

    A node without a source is its own document, or belongs to its parent's. Metadata become what
    JSON can hold; lone surrogates are refused. The matches of a retrieved node are those of a
    query, and are left out.
    """
    node, _ = without_query(node)
    text = text_of(node)
    title, section = (text_field(node.metadata, key) for key in HEADING)
    metadata = plain_metadata(node.metadata)
    check_text(text, f"the text of node {node.node_id!r}")
    granularity = granularity_of(node) or Granularity.PASSAGE
    parent = None if granularity is Granularity.PASSAGE else node.parent_node
    source_id = node.ref_doc_id
    document_id = source_id or node.node_id
    if parent and not source_id:
        document_id = parent.node_id
    start, end = span_of(node) or (0, 0)
    # some fields hold bytes
    content = _written_fields(node)
    content["relationships"] = _written_relationships(node)
    content["metadata"] = {key: metadata[key] for key in _ADDED if key in metadata}
    if content.get("text") == text:
        content["text"] = None
    try:
        payload = json.dumps({TYPE_KEY: node.get_type(), DATA_KEY: content})
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"the fields of node {node.node_id!r} must hold what JSON can hold: {error}"
        ) from error
    parent_id = document_id
    if parent:
        parent_id = parent.node_id
    if granularity is Granularity.PROPOSITION:
        visible = ""
    else:
        visible = seen_text(text, _markup_fields(node))
    return Unit(
        id=node.node_id,
        text=text,
        granularity=granularity,
        document_id=document_id,
        parent_id=parent_id,
        start=start,
        end=end,
        title=title,
        section=section,
        metadata=metadata
        | {_TYPE: node.class_name(), **dict.fromkeys(DOCUMENT_IDS, source_id or "None")},
        payload=payload,
        visible=visible,
    )


def _written_fields(node: BaseNode) -> dict[str, Any]:
    """Return the fields of a node as JSON holds them, without those that are kept apart."""
    if type(node) is TextNode:
        # As `model_dump` writes them, which takes five times as long.
        fields: dict[str, Any] = {name: getattr(node, name) for name in _TEXT_FIELDS}
        if _PLAIN.issuperset(map(type, fields.values())):
            return {**fields, "class_name": _TEXT_CLASS}
    return node.model_dump(mode="json", exclude=_APART)


def _written_relationships(node: BaseNode) -> dict[str, Any]:
    """Return the relationships of a node as JSON holds them."""
    written: dict[str, Any] = {}
    is_plain = True
    for relation, related in node.relationships.items():
        infos = related if isinstance(related, list) else [related]
        for info in infos:
            if info.metadata:
                check_size(info.metadata, f"the metadata of a node related to {node.node_id!r}")
            is_plain = is_plain and type(info) is RelatedNodeInfo and not info.metadata
        records = list(map(_written_info, infos))
        written[relation] = records if isinstance(related, list) else records[0]
    if is_plain:
        return written
    return plain_metadata(written, checked=True)


def _written_info(info: RelatedNodeInfo) -> dict[str, Any]:
    """Return what a node holds of another one, as `model_dump` does, which takes longer."""
    if type(info) is not RelatedNodeInfo or info.metadata:
        return info.model_dump()
    record = {name: getattr(info, name) for name in _INFO_FIELDS}
    record["class_name"] = _INFO_CLASS
    return record


def stored_node(unit: Unit) -> BaseNode:
    """Return the node of a stored unit, without its embedding."""
    if not unit.payload.startswith(f'{{"{TYPE_KEY}"'):
        return _core_node(unit)
    record = json.loads(unit.payload)
    content = record[DATA_KEY]
    metadata = dict(unit.metadata)
    for key in _ADDED:
        if key in content["metadata"]:
            metadata[key] = content["metadata"][key]
        else:
            metadata.pop(key, None)
    content["metadata"] = metadata
    if content.get("text", "") is None:
        content["text"] = unit.text
    return json_to_doc(record)


def lone_node(unit: Unit) -> BaseNode:
    """Return the node of a stored unit without what it holds of others.

    Relationships name them by id and type alone.
    """
    node = stored_node(unit)
    for relation, related in list(node.relationships.items()):
        if isinstance(related, list):
            node.relationships[relation] = list(map(_named, related))
        else:
            node.relationships[relation] = _named(related)
    return node


def _named(info: RelatedNodeInfo) -> RelatedNodeInfo:
    if not info.metadata and info.hash is None:
        return info
    return RelatedNodeInfo(node_id=info.node_id, node_type=info.node_type)


def _core_node(unit: Unit) -> BaseNode:
    """Return a unit that was not stored by LlamaIndex as a node."""
    document = TextDocument(id_=unit.document_id, text="", metadata=dict(unit.metadata))
    if unit.granularity is Granularity.DOCUMENT:
        heading = {"title": unit.title, "section": unit.section}
        document.metadata = {
            key: value for key, value in heading.items() if value
        } | document.metadata
        document.set_content(unit.text)
        return document
    [node] = to_nodes(document, [unit])
    node.relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=unit.document_id)}
    if unit.granularity is not Granularity.PASSAGE:
        node.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=unit.parent_id)
    return node


def _with_place(inherited: Mapping[str, Any], unit: Unit) -> tuple[dict[str, Any], list[str]]:
    """Return metadata with title, section and the place of a unit, and the keys of its place."""
    place: dict[str, Any] = {"granularity": str(unit.granularity)}
    if unit.granularity is not Granularity.PASSAGE:
        place["passage_id"] = unit.parent_id
    if "fallback" in unit.metadata:
        place["fallback"] = unit.metadata["fallback"]
    derived = {"title": unit.title, "section": unit.section}
    heading = {}
    for key, value in derived.items():
        if value or key in inherited:
            heading[key] = inherited.get(key, value)
    return heading | with_fields(inherited, place | heading), list(place)


def _repeated(unit: Unit | Document, metadata: Mapping[str, Any]) -> list[str]:
    """Return which of the keys title and section the unit's text, or its section, already says."""
    heading = zip(HEADING, split_heading(unit), strict=True)
    repeated = []
    for key, part in heading:
        if not part and isinstance(metadata.get(key), str):
            repeated.append(key)
    return repeated


def _templates(source_node: BaseNode, shown: Set[str]) -> _Templates:
    """Return the node's templates.

    The core's are in place of the framework's where models get only the heading.
    """
    text_template = getattr(source_node, "text_template", DEFAULT_TEXT_NODE_TMPL)
    templates = (source_node.metadata_template, source_node.metadata_separator, text_template)
    if templates not in (_FRAMEWORKS, _OURS):
        return templates
    if shown <= {*HEADING}:
        return _OURS
    return _FRAMEWORKS


def offset_of(source_node: BaseNode) -> int | None:
    """Return where the node's text starts in its source, or None if that is not known."""
    if source_node.source_node is None:
        return 0
    span = span_of(source_node)
    if span and span[1] - span[0] == len(text_of(source_node)):
        return span[0]
    return None


def restored_node(item: object) -> NodeWithScore | None:
    """Return a result as such, also from the dict that LlamaIndex writes of it; else None.

    The context of a workflow keeps the output of a tool as dicts of the nodes' fields.
    """
    if isinstance(item, NodeWithScore):
        return item
    if not isinstance(item, dict) or not isinstance(item.get("node"), dict):
        return None
    fields = item["node"]
    node_class = _NODE_CLASSES.get(str(fields.get("class_name")))
    if node_class is None:
        return None
    try:
        return NodeWithScore(node=node_class.model_validate(fields), score=item.get("score"))
    except ValidationError:
        return None


def with_hits(nodes: Iterable[BaseNode], hits: Iterable[Hit], *, matches: bool) -> list[BaseNode]:
    """Return the nodes of hits with their neighbours.

    If wanted, their matches are in the metadata, too.
    """
    completed = []
    for node, hit in zip(nodes, hits, strict=True):
        fields = hit_fields(hit, *SPAN, matches=matches)
        if fields:
            node = retrieved(node, fields)
        completed.append(node)
    return completed


class RetrievedMetadata(dict[str, Any]):
    """Metadata of a retrieved node: a dict whose `str` leaves out what depends on the query.

    LlamaIndex makes a node's hash of it, so retrievers that fuse the results of several queries see
    one node. Copies keep this; what LlamaIndex pickles or writes as JSON, and reads again, has a
    plain dict.
    """

    def __init__(
        self, fields: Mapping[str, Any] = MappingProxyType({}), query_keys: Iterable[str] = ()
    ) -> None:
        super().__init__(fields)
        self.query_keys = tuple(query_keys)

    @override
    def __str__(self) -> str:
        lasting = {}
        for key, value in self.items():
            if key not in self.query_keys:
                lasting[key] = value
        return str(lasting)


def without_query(node: BaseNode) -> tuple[BaseNode, dict[str, Any]]:
    """Return a node without the metadata that depend on a query, and these."""
    metadata = node.metadata
    if not isinstance(metadata, RetrievedMetadata):
        return node, {}
    lasting = {key: value for key, value in metadata.items() if key not in metadata.query_keys}
    of_query = {}
    for key, value in metadata.items():
        if key in metadata.query_keys:
            of_query[key] = value
    return node.model_copy(update={"metadata": lasting}), of_query


def matches_of(result: BaseNode | NodeWithScore) -> list[MatchFields]:
    """Return the facts that made a retrieved node a hit, best first, with their scores and places.

    It is [] if there are none.
    """
    return match_fields(result.metadata, *SPAN)


def retrieved(node: BaseNode, fields: Mapping[str, Any]) -> BaseNode:
    """Return a copy of a node with metadata that depends on the query.

    It is hidden from models and does not change the hash.
    """
    changes = {
        # Put in without a check, which would copy it as a plain dict.
        "metadata": RetrievedMetadata(with_fields(node.metadata, fields), query_keys=fields),
        "excluded_embed_metadata_keys": list(
            dict.fromkeys([*node.excluded_embed_metadata_keys, *fields])
        ),
        "excluded_llm_metadata_keys": list(
            dict.fromkeys([*node.excluded_llm_metadata_keys, *fields])
        ),
    }
    return node.model_copy(update=changes)


_OPERATORS = {operator: Operator[operator.name] for operator in FilterOperator}


def to_tree(filters: MetadataFilters | None) -> Tree | None:
    """Return filters as a tree, or None where all pass.

    It has the meaning of LlamaIndex's own reference. A stored None counts as missing: `!=`, `nin`
    and `is_empty` match it and a missing key, the other operators do not. `not` means that none of
    its conditions holds. A stored value that an operator cannot compare does not match.

    Raises:
        InvalidInputError: These are no filters, an operator does not take an operand, or filters
            are nested too deep.
    """
    return _joined(filters, depth=0)


def _joined(filters: MetadataFilters | None, *, depth: int) -> Tree | None:
    """Return filters inside others at this depth as a tree."""
    if depth > DEPTH:
        raise InvalidInputError(too_deep())
    if filters is not None and not isinstance(filters, MetadataFilters):
        raise InvalidInputError(f"filters must be MetadataFilters, got {type(filters).__name__}")
    if filters is None or not filters.filters:
        return None
    parts = tuple(_part(part, depth) for part in filters.filters)
    if filters.condition is FilterCondition.NOT:
        return Not(AnyOf(parts))
    if len(parts) == 1:
        return parts[0]
    if filters.condition is FilterCondition.OR:
        return AnyOf(parts)
    return All(parts)


def _part(part: MetadataFilter | MetadataFilters, depth: int) -> Tree:
    if isinstance(part, MetadataFilters):
        return _joined(part, depth=depth + 1) or All(())
    if part.value is None and part.operator in (FilterOperator.EQ, FilterOperator.NE):
        if part.operator is FilterOperator.EQ:
            return AnyOf(())
        return All(())
    return Comparison(part.key, _OPERATORS[part.operator], part.value)
