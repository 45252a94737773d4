"""Filters as dicts of conditions, in the dialect that LangChain's stores share with MongoDB.

    {"year": 1990}                                  equal
    {"year": {"$gte": 1990, "$lt": 2000}}           all of several operators
    {"year": {"$not": {"$gte": 1990}}}              a missing year passes, too
    {"year": [1990, 1991]}                          one of them, or exactly this list
    {"tags": {"$contains": "rare"}}                 a list that holds it, or a string
    {"author.name": "Ann"}                          a key of a dict in the metadata; {"author": {…}} compares the whole dict
    {"tags": {"$any": ["rare", "blind"]}}           a list that holds one of them; $all: all of them
    {"$or": [{"lang": "en"}, {"lang": {"$exists": False}}]}

Operators: `$eq $ne $gt $gte $lt $lte $in $nin $contains $any $all $exists $not` on a key, and `$and $or $not` over whole
filters; `$neq` is `$ne`. An empty `$and` lets everything pass, an empty `$or`, `$in` or `$any` nothing. A missing key equals only
None, so `$ne` and `$nin` match it unless they name None; `$gt` and the other orders match only values of the same kind (numbers
with numbers, strings with strings). Dates and the like are compared as the strings that metadata stores for them. Equality is
Python's: `True == 1 == 1.0`, lists and dicts by their content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from factoid.errors import InvalidInputError, shown
from factoid.filters.tree import All, AnyOf, Comparison, Not, Operator, Tree

_ON_KEYS = {f"${name}": Operator(name) for name in "eq ne gt gte lt lte in nin exists contains any all".split()}
_ON_KEYS["$neq"] = Operator.NE  # as LangChain's FAISS spells it
_ON_LISTS = (Operator.IN, Operator.NIN, Operator.ANY, Operator.ALL)


def parse_filter(conditions: Mapping[str, Any] | Tree) -> Tree:
    """Return the tree of a filter, given as a dict or already as a tree. An empty dict lets everything pass.

    Raises:
        InvalidInputError: An operator is unknown, or metadata cannot hold an operand.
    """
    if isinstance(conditions, Comparison | All | AnyOf | Not):
        return conditions
    if not isinstance(conditions, Mapping):
        raise InvalidInputError(f"a filter must be a dict of conditions or a callable, got {type(conditions).__name__}")
    return _all([_clause(key, value) for key, value in conditions.items()])


def _clause(key: Any, value: Any) -> Tree:
    if key in ("$and", "$or"):
        if not isinstance(value, list | tuple):
            raise InvalidInputError(f"{key} takes a list of filters, got {shown(value)}")
        parts = [parse_filter(part) for part in value]
        return _all(parts) if key == "$and" else AnyOf(tuple(parts))
    if key == "$not":
        return Not(parse_filter(value))
    if not isinstance(key, str) or key.startswith("$"):
        raise InvalidInputError(
            f"unknown operator {shown(key)} at the top of a filter: expected a metadata key, $and, $or or $not"
        )
    return _on_key(key, value)


def _on_key(key: str, value: Any) -> Tree:
    if isinstance(value, Mapping) and any(str(name).startswith("$") for name in value):
        return _all([_operator(key, name, operand) for name, operand in value.items()])
    equal = Comparison(key, Operator.EQ, value)
    if isinstance(value, list | tuple):
        return AnyOf((_with_missing(Comparison(key, Operator.IN, value)), equal))
    return _with_missing(equal)


def _operator(key: str, name: Any, operand: Any) -> Tree:
    if name == "$not":
        return Not(_on_key(key, operand))
    if name not in _ON_KEYS:
        raise InvalidInputError(f"unknown operator {shown(name)}: expected {' '.join(_ON_KEYS)} or $not")
    comparison = Comparison(key, _ON_KEYS[name], operand)
    if comparison.operator in _ON_LISTS and not isinstance(comparison.value, list):
        raise InvalidInputError(f"{name} takes a list, got {shown(operand)}")
    return _with_missing(comparison)


def _with_missing(comparison: Comparison) -> Tree:
    """Return a comparison in which a missing key is equal to None."""
    key, operator, value = comparison.key, comparison.operator, comparison.value
    if (operator is Operator.EQ and value is None) or (operator is Operator.IN and None in value):
        return AnyOf((comparison, Comparison(key, Operator.EXISTS, False)))
    if (operator is Operator.NE and value is None) or (operator is Operator.NIN and None in value):
        return All((comparison, Comparison(key, Operator.EXISTS, True)))
    return comparison


def _all(parts: list[Tree]) -> Tree:
    return parts[0] if len(parts) == 1 else All(tuple(parts))
