"""LlamaIndex's metadata filters as conditions that the core pushes down into its database."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.vector_stores.types import MetadataFilters

from factoid.errors import InvalidInputError
from factoid.filters import Tree, matches
from factoid.store import UnitStore
from llama_index_factoid.filter_tree import to_tree
from llama_index_factoid.records import is_stand_in


def compile_filters(store: UnitStore, filters: MetadataFilters | None) -> Tree | None:
    """Return filters as a tree, or None if they let everything pass.

    Raises:
        InvalidInputError: Some value in the store is of a type that an operator does not compare, such as a string by
            `>` with a number; LlamaIndex's reference raises TypeError there.
    """
    tree = to_tree(filters)
    if tree is None:
        return None
    if (found := store.mismatch(tree)) is not None:
        comparison, value = found
        message = (
            f"cannot compare metadata[{comparison.key!r}] = {value!r} with {comparison.value!r} by "
            f"{comparison.operator.value!r}: give a value of the same type, or keep one type under this key"
        )
        raise InvalidInputError(message)
    return tree


def matching_ids(store: UnitStore, node_ids: Sequence[str] | None, filters: MetadataFilters | None) -> list[str]:
    """Return the ids of stored nodes, those of their stand-ins among them where only filters are given.

    Args:
        store: Where the nodes are.
        node_ids: The nodes to choose from, in this order; None for all, oldest first.
        filters: What their metadata have to pass.

    Raises:
        InvalidInputError: A single id instead of several; as `compile_filters`.
    """
    if isinstance(node_ids, str):
        message = f"node_ids must be a list of ids, got the string {node_ids[:60]!r}"
        raise InvalidInputError(message)
    tree = compile_filters(store, filters)
    if node_ids is None:
        return store.ids(tree)
    units = [unit for unit in store.get(node_ids) if not is_stand_in(unit)]
    return [unit.id for unit in units if tree is None or matches(tree, unit.metadata)]
