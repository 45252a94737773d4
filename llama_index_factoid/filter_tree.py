"""LlamaIndex's metadata filters as the core's filter tree, with the meaning of LlamaIndex's own reference.

A stored None is as good as missing: `!=` and `nin` match it and a missing key, the other operators do not. `not` means
that none of its conditions holds. Here filters may be nested, each level with its own condition.
"""

from __future__ import annotations

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from factoid.errors import InvalidInputError
from factoid.filters import All, AnyOf, Comparison, Not, Operator, Tree

_OPERATORS = {
    FilterOperator.EQ: Operator.EQ,
    FilterOperator.NE: Operator.NE,
    FilterOperator.GT: Operator.GT,
    FilterOperator.GTE: Operator.GTE,
    FilterOperator.LT: Operator.LT,
    FilterOperator.LTE: Operator.LTE,
    FilterOperator.IN: Operator.IN,
    FilterOperator.NIN: Operator.NIN,
    FilterOperator.ANY: Operator.ANY,
    FilterOperator.ALL: Operator.ALL,
    FilterOperator.CONTAINS: Operator.CONTAINS,
    FilterOperator.TEXT_MATCH: Operator.TEXT_MATCH,
    FilterOperator.TEXT_MATCH_INSENSITIVE: Operator.TEXT_MATCH_INSENSITIVE,
    FilterOperator.IS_EMPTY: Operator.IS_EMPTY,
}


def to_tree(filters: MetadataFilters | None) -> Tree | None:
    """Return the filters as a tree, or None if they let everything pass: None, or an empty list.

    Where the reference raises TypeError, because a stored value is of a type that the operator does not compare, the tree
    does not match; `factoid.filters.select_mismatches` finds those values.

    Raises:
        InvalidInputError: Something else than filters.
    """
    if filters is not None and not isinstance(filters, MetadataFilters):
        message = f"filters must be MetadataFilters, got {type(filters).__name__}"
        raise InvalidInputError(message)
    if filters is None or not filters.filters:
        return None
    parts = tuple(_part(each) for each in filters.filters)
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
