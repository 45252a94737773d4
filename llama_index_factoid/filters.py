"""LlamaIndex's metadata filters as the core's filter tree, with the meaning of LlamaIndex's own reference.

A stored None is as good as missing: `!=` and `nin` match it and a missing key, the other operators do not. `not` means
that none of its conditions holds. Filters may be nested, each level with its own condition.
"""

from __future__ import annotations

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from factoid.errors import InvalidInputError
from factoid.filters import All, AnyOf, Comparison, Not, Operator, Tree
from factoid.store import UnitStore

_OPERATORS = {operator: Operator[operator.name] for operator in FilterOperator}


def to_tree(filters: MetadataFilters | None) -> Tree | None:
    """Return filters as a tree, or None where all pass; a stored value that an operator cannot compare does not match.

    Raises:
        InvalidInputError: Something else than filters.
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


def checked_tree(store: UnitStore, filters: MetadataFilters | None) -> Tree | None:
    """Return filters as a tree, checked against the values in the store.

    Raises:
        InvalidInputError: Some stored value is of a type that an operator does not compare, such as a string by `>` with a
            number; LlamaIndex's reference raises TypeError there.
    """
    tree = to_tree(filters)
    if tree is None or (mismatch := store.mismatch(tree)) is None:
        return tree
    comparison, value = mismatch
    raise InvalidInputError(
        f"cannot compare metadata[{comparison.key!r}] = {value!r} with {comparison.value!r} by "
        f"{comparison.operator.value!r}: give a value of the same type, or keep one type under this key"
    )


def _part(part: MetadataFilter | MetadataFilters) -> Tree:
    if isinstance(part, MetadataFilters):
        return to_tree(part) or All(())
    if part.value is None and part.operator in (FilterOperator.EQ, FilterOperator.NE):
        return AnyOf(()) if part.operator is FilterOperator.EQ else All(())
    return Comparison(part.key, _OPERATORS[part.operator], part.value)
