"""LlamaIndex's metadata filters and ids as conditions on a unit's metadata.

Each condition is decided by LlamaIndex's own reference, so that stores agree: `!=` and `nin` match a missing key, the
other operators do not; `not` means that none of its conditions holds. Here filters may be nested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from llama_index.core.vector_stores.types import (
    FilterCondition,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from factoid.errors import InvalidInputError
from llama_index_factoid.records import ids_of

Metadata = dict[str, Any]
Condition = Callable[[Metadata], bool]

_JOINED: dict[FilterCondition, Callable[[Sequence[bool]], bool]] = {
    FilterCondition.AND: all,
    FilterCondition.OR: any,
    FilterCondition.NOT: lambda held: not any(held),
}


def compile_filters(filters: MetadataFilters | None) -> Condition:
    """Return filters as a function of metadata. None and an empty list let everything pass.

    Raises:
        InvalidInputError: By the function returned, on a value that the operator cannot be compared with.
    """
    if filters is None or not filters.filters:
        return lambda _: True
    parts = [compile_filters(each) if isinstance(each, MetadataFilters) else _single(each) for each in filters.filters]
    join = _JOINED[filters.condition or FilterCondition.AND]
    return lambda metadata: join([part(metadata) for part in parts])


def compile_query(query: VectorStoreQuery) -> Condition | None:
    """Return what a query asks of a unit, or None if it asks nothing.

    An id in `node_ids` admits the node and the units under it. Empty lists admit all: a `VectorStoreIndex` gives its
    retriever an empty list of node ids where the store keeps the nodes.
    """
    wanted: list[Condition] = []
    if query.node_ids:
        node_ids = frozenset(query.node_ids)
        wanted.append(lambda metadata: not node_ids.isdisjoint(_node_and_parent(metadata)))
    if query.doc_ids:
        doc_ids = frozenset(query.doc_ids)
        wanted.append(lambda metadata: ids_of(metadata)["document"] in doc_ids)
    if query.filters is not None and query.filters.filters:
        wanted.append(compile_filters(query.filters))
    return (lambda metadata: all(condition(metadata) for condition in wanted)) if wanted else None


def _node_and_parent(metadata: Metadata) -> tuple[str, str]:
    ids = ids_of(metadata)
    return ids["node"], ids["parent"]


def _single(condition: MetadataFilter) -> Condition:
    # The reference looks metadata up by a node's id; here the "id" is the metadata itself.
    holds = build_metadata_filter_fn(lambda metadata: cast(Any, metadata), MetadataFilters(filters=[condition]))

    def decide(metadata: Metadata) -> bool:
        try:
            return bool(holds(cast(Any, metadata)))
        except TypeError as error:
            found = metadata.get(condition.key)
            message = (
                f"cannot compare metadata[{condition.key!r}] = {found!r} with {condition.value!r} by "
                f"{condition.operator.value!r}: {error}"
            )
            raise InvalidInputError(message) from error

    return decide
